"""Made by `make generate` from Apache Kafka's JoinGroupResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_hi = struct.Struct(">hi").pack
_p_i = struct.Struct(">i").pack
_p_ihi = struct.Struct(">ihi").pack
_p_o = struct.Struct(">?").pack


class JoinGroupResponseMember(Struct, gc=False):
    """The group members."""

    member_id: str = ""  # The group member ID.
    group_instance_id: str | None = None  # The unique identifier of the consumer instance provided by end user.
    metadata: bytes = b""  # The group member metadata.


class JoinGroupResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    error_code: int = 0  # The error code, or 0 if there was no error.
    generation_id: int = -1  # The generation ID of the group.
    protocol_type: str | None = None  # The group protocol name.
    protocol_name: str | None = ""  # The group protocol selected by the coordinator.
    leader: str = ""  # The leader of the group.
    skip_assignment: bool = False  # True if the leader must skip running the assignment.
    member_id: str = ""  # The member ID assigned by the group coordinator.
    members: list[JoinGroupResponseMember] = []  # The group members.


def encode_0(message: JoinGroupResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 1."""
    out += _p_hi(message.error_code, message.generation_id)
    protocol_name = message.protocol_name
    assert protocol_name is not None, "protocol_name is null"
    data = protocol_name.encode()
    out += _p_h(len(data))
    out += data
    leader = message.leader
    data = leader.encode()
    out += _p_h(len(data))
    out += data
    member_id = message.member_id
    data = member_id.encode()
    out += _p_h(len(data))
    out += data
    members = message.members
    out += _p_i(len(members))
    for one in members:
        member_id_2 = one.member_id
        data = member_id_2.encode()
        out += _p_h(len(data))
        out += data
        metadata = one.metadata
        out += _p_i(len(metadata))
        out += metadata
    return out


def encode_2(message: JoinGroupResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 2 to 4."""
    out += _p_ihi(message.throttle_time_ms, message.error_code, message.generation_id)
    protocol_name = message.protocol_name
    assert protocol_name is not None, "protocol_name is null"
    data = protocol_name.encode()
    out += _p_h(len(data))
    out += data
    leader = message.leader
    data = leader.encode()
    out += _p_h(len(data))
    out += data
    member_id = message.member_id
    data = member_id.encode()
    out += _p_h(len(data))
    out += data
    members = message.members
    out += _p_i(len(members))
    for one in members:
        member_id_2 = one.member_id
        data = member_id_2.encode()
        out += _p_h(len(data))
        out += data
        metadata = one.metadata
        out += _p_i(len(metadata))
        out += metadata
    return out


def encode_5(message: JoinGroupResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 5."""
    out += _p_ihi(message.throttle_time_ms, message.error_code, message.generation_id)
    protocol_name = message.protocol_name
    assert protocol_name is not None, "protocol_name is null"
    data = protocol_name.encode()
    out += _p_h(len(data))
    out += data
    leader = message.leader
    data = leader.encode()
    out += _p_h(len(data))
    out += data
    member_id = message.member_id
    data = member_id.encode()
    out += _p_h(len(data))
    out += data
    members = message.members
    out += _p_i(len(members))
    for one in members:
        member_id_2 = one.member_id
        data = member_id_2.encode()
        out += _p_h(len(data))
        out += data
        group_instance_id = one.group_instance_id
        if group_instance_id is None: out += b"\xff\xff"
        else:
            data = group_instance_id.encode()
            out += _p_h(len(data))
            out += data
        metadata = one.metadata
        out += _p_i(len(metadata))
        out += metadata
    return out


def encode_6(message: JoinGroupResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 6."""
    out += _p_ihi(message.throttle_time_ms, message.error_code, message.generation_id)
    protocol_name = message.protocol_name
    assert protocol_name is not None, "protocol_name is null"
    data = protocol_name.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    leader = message.leader
    data = leader.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    member_id = message.member_id
    data = member_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    members = message.members
    n = len(members) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in members:
        member_id_2 = one.member_id
        data = member_id_2.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        group_instance_id = one.group_instance_id
        if group_instance_id is None: out += b"\0"
        else:
            data = group_instance_id.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        metadata = one.metadata
        n = len(metadata) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += metadata
        out += b"\0"
    out += b"\0"
    return out


def encode_7(message: JoinGroupResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 7 to 8."""
    out += _p_ihi(message.throttle_time_ms, message.error_code, message.generation_id)
    protocol_type = message.protocol_type
    if protocol_type is None: out += b"\0"
    else:
        data = protocol_type.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    protocol_name = message.protocol_name
    if protocol_name is None: out += b"\0"
    else:
        data = protocol_name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    leader = message.leader
    data = leader.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    member_id = message.member_id
    data = member_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    members = message.members
    n = len(members) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in members:
        member_id_2 = one.member_id
        data = member_id_2.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        group_instance_id = one.group_instance_id
        if group_instance_id is None: out += b"\0"
        else:
            data = group_instance_id.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        metadata = one.metadata
        n = len(metadata) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += metadata
        out += b"\0"
    out += b"\0"
    return out


def encode_9(message: JoinGroupResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 9."""
    out += _p_ihi(message.throttle_time_ms, message.error_code, message.generation_id)
    protocol_type = message.protocol_type
    if protocol_type is None: out += b"\0"
    else:
        data = protocol_type.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    protocol_name = message.protocol_name
    if protocol_name is None: out += b"\0"
    else:
        data = protocol_name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    leader = message.leader
    data = leader.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_o(message.skip_assignment)
    member_id = message.member_id
    data = member_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    members = message.members
    n = len(members) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in members:
        member_id_2 = one.member_id
        data = member_id_2.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        group_instance_id = one.group_instance_id
        if group_instance_id is None: out += b"\0"
        else:
            data = group_instance_id.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        metadata = one.metadata
        n = len(metadata) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += metadata
        out += b"\0"
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[JoinGroupResponse]] = {
    0: encode_0,
    1: encode_0,
    2: encode_2,
    3: encode_2,
    4: encode_2,
    5: encode_5,
    6: encode_6,
    7: encode_7,
    8: encode_7,
    9: encode_9,
}
