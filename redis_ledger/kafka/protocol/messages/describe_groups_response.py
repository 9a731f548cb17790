"""Made by `make generate` from Apache Kafka's DescribeGroupsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_ix = struct.Struct(">ix").pack


class DescribedGroupMember(Struct, gc=False):
    """The group members."""

    member_id: str = ""  # The member id.
    group_instance_id: str | None = None  # The unique identifier of the consumer instance provided by end user.
    client_id: str = ""  # The client ID used in the member's latest join group request.
    client_host: str = ""  # The client host.
    member_metadata: bytes = b""  # The metadata corresponding to the current group protocol in use.
    member_assignment: bytes = b""  # The current assignment provided by the group leader.


class DescribedGroup(Struct, gc=False):
    """Each described group."""

    error_code: int = 0  # The describe error, or 0 if there was no error.
    error_message: str | None = None  # The describe error message, or null if there was no error.
    group_id: str = ""  # The group ID string.
    group_state: str = ""  # The group state string, or the empty string.
    protocol_type: str = ""  # The group protocol type, or the empty string.
    protocol_data: str = ""  # The group protocol data, or the empty string.
    members: list[DescribedGroupMember] = []  # The group members.
    authorized_operations: int = -2147483648  # 32-bit bitfield to represent authorized operations for this group.


class DescribeGroupsResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    groups: list[DescribedGroup] = []  # Each described group.


def encode_0(message: DescribeGroupsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    groups = message.groups
    out += _p_i(len(groups))
    for one in groups:
        out += _p_h(one.error_code)
        group_id = one.group_id
        data = group_id.encode()
        out += _p_h(len(data))
        out += data
        group_state = one.group_state
        data = group_state.encode()
        out += _p_h(len(data))
        out += data
        protocol_type = one.protocol_type
        data = protocol_type.encode()
        out += _p_h(len(data))
        out += data
        protocol_data = one.protocol_data
        data = protocol_data.encode()
        out += _p_h(len(data))
        out += data
        members = one.members
        out += _p_i(len(members))
        for one_2 in members:
            member_id = one_2.member_id
            data = member_id.encode()
            out += _p_h(len(data))
            out += data
            client_id = one_2.client_id
            data = client_id.encode()
            out += _p_h(len(data))
            out += data
            client_host = one_2.client_host
            data = client_host.encode()
            out += _p_h(len(data))
            out += data
            member_metadata = one_2.member_metadata
            out += _p_i(len(member_metadata))
            out += member_metadata
            member_assignment = one_2.member_assignment
            out += _p_i(len(member_assignment))
            out += member_assignment
    return out


def encode_1(message: DescribeGroupsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 1 to 2."""
    out += _p_i(message.throttle_time_ms)
    groups = message.groups
    out += _p_i(len(groups))
    for one in groups:
        out += _p_h(one.error_code)
        group_id = one.group_id
        data = group_id.encode()
        out += _p_h(len(data))
        out += data
        group_state = one.group_state
        data = group_state.encode()
        out += _p_h(len(data))
        out += data
        protocol_type = one.protocol_type
        data = protocol_type.encode()
        out += _p_h(len(data))
        out += data
        protocol_data = one.protocol_data
        data = protocol_data.encode()
        out += _p_h(len(data))
        out += data
        members = one.members
        out += _p_i(len(members))
        for one_2 in members:
            member_id = one_2.member_id
            data = member_id.encode()
            out += _p_h(len(data))
            out += data
            client_id = one_2.client_id
            data = client_id.encode()
            out += _p_h(len(data))
            out += data
            client_host = one_2.client_host
            data = client_host.encode()
            out += _p_h(len(data))
            out += data
            member_metadata = one_2.member_metadata
            out += _p_i(len(member_metadata))
            out += member_metadata
            member_assignment = one_2.member_assignment
            out += _p_i(len(member_assignment))
            out += member_assignment
    return out


def encode_3(message: DescribeGroupsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 3."""
    out += _p_i(message.throttle_time_ms)
    groups = message.groups
    out += _p_i(len(groups))
    for one in groups:
        out += _p_h(one.error_code)
        group_id = one.group_id
        data = group_id.encode()
        out += _p_h(len(data))
        out += data
        group_state = one.group_state
        data = group_state.encode()
        out += _p_h(len(data))
        out += data
        protocol_type = one.protocol_type
        data = protocol_type.encode()
        out += _p_h(len(data))
        out += data
        protocol_data = one.protocol_data
        data = protocol_data.encode()
        out += _p_h(len(data))
        out += data
        members = one.members
        out += _p_i(len(members))
        for one_2 in members:
            member_id = one_2.member_id
            data = member_id.encode()
            out += _p_h(len(data))
            out += data
            client_id = one_2.client_id
            data = client_id.encode()
            out += _p_h(len(data))
            out += data
            client_host = one_2.client_host
            data = client_host.encode()
            out += _p_h(len(data))
            out += data
            member_metadata = one_2.member_metadata
            out += _p_i(len(member_metadata))
            out += member_metadata
            member_assignment = one_2.member_assignment
            out += _p_i(len(member_assignment))
            out += member_assignment
        out += _p_i(one.authorized_operations)
    return out


def encode_4(message: DescribeGroupsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 4."""
    out += _p_i(message.throttle_time_ms)
    groups = message.groups
    out += _p_i(len(groups))
    for one in groups:
        out += _p_h(one.error_code)
        group_id = one.group_id
        data = group_id.encode()
        out += _p_h(len(data))
        out += data
        group_state = one.group_state
        data = group_state.encode()
        out += _p_h(len(data))
        out += data
        protocol_type = one.protocol_type
        data = protocol_type.encode()
        out += _p_h(len(data))
        out += data
        protocol_data = one.protocol_data
        data = protocol_data.encode()
        out += _p_h(len(data))
        out += data
        members = one.members
        out += _p_i(len(members))
        for one_2 in members:
            member_id = one_2.member_id
            data = member_id.encode()
            out += _p_h(len(data))
            out += data
            group_instance_id = one_2.group_instance_id
            if group_instance_id is None: out += b"\xff\xff"
            else:
                data = group_instance_id.encode()
                out += _p_h(len(data))
                out += data
            client_id = one_2.client_id
            data = client_id.encode()
            out += _p_h(len(data))
            out += data
            client_host = one_2.client_host
            data = client_host.encode()
            out += _p_h(len(data))
            out += data
            member_metadata = one_2.member_metadata
            out += _p_i(len(member_metadata))
            out += member_metadata
            member_assignment = one_2.member_assignment
            out += _p_i(len(member_assignment))
            out += member_assignment
        out += _p_i(one.authorized_operations)
    return out


def encode_5(message: DescribeGroupsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 5."""
    out += _p_i(message.throttle_time_ms)
    groups = message.groups
    n = len(groups) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in groups:
        out += _p_h(one.error_code)
        group_id = one.group_id
        data = group_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        group_state = one.group_state
        data = group_state.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        protocol_type = one.protocol_type
        data = protocol_type.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        protocol_data = one.protocol_data
        data = protocol_data.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        members = one.members
        n = len(members) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in members:
            member_id = one_2.member_id
            data = member_id.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            group_instance_id = one_2.group_instance_id
            if group_instance_id is None: out += b"\0"
            else:
                data = group_instance_id.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            client_id = one_2.client_id
            data = client_id.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            client_host = one_2.client_host
            data = client_host.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            member_metadata = one_2.member_metadata
            n = len(member_metadata) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += member_metadata
            member_assignment = one_2.member_assignment
            n = len(member_assignment) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += member_assignment
            out += b"\0"
        out += _p_ix(one.authorized_operations)
    out += b"\0"
    return out


def encode_6(message: DescribeGroupsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 6."""
    out += _p_i(message.throttle_time_ms)
    groups = message.groups
    n = len(groups) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in groups:
        out += _p_h(one.error_code)
        error_message = one.error_message
        if error_message is None: out += b"\0"
        else:
            data = error_message.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        group_id = one.group_id
        data = group_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        group_state = one.group_state
        data = group_state.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        protocol_type = one.protocol_type
        data = protocol_type.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        protocol_data = one.protocol_data
        data = protocol_data.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        members = one.members
        n = len(members) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in members:
            member_id = one_2.member_id
            data = member_id.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            group_instance_id = one_2.group_instance_id
            if group_instance_id is None: out += b"\0"
            else:
                data = group_instance_id.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            client_id = one_2.client_id
            data = client_id.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            client_host = one_2.client_host
            data = client_host.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
            member_metadata = one_2.member_metadata
            n = len(member_metadata) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += member_metadata
            member_assignment = one_2.member_assignment
            n = len(member_assignment) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += member_assignment
            out += b"\0"
        out += _p_ix(one.authorized_operations)
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[DescribeGroupsResponse]] = {
    0: encode_0,
    1: encode_1,
    2: encode_1,
    3: encode_3,
    4: encode_4,
    5: encode_5,
    6: encode_6,
}
