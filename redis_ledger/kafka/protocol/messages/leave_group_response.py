"""Made by `make generate` from Apache Kafka's LeaveGroupResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_hx = struct.Struct(">hx").pack
_p_i = struct.Struct(">i").pack
_p_ih = struct.Struct(">ih").pack


class MemberResponse(Struct, gc=False):
    """List of leaving member responses."""

    member_id: str = ""  # The member ID to remove from the group.
    group_instance_id: str | None = ""  # The group instance ID to remove from the group.
    error_code: int = 0  # The error code, or 0 if there was no error.


class LeaveGroupResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    error_code: int = 0  # The error code, or 0 if there was no error.
    members: list[MemberResponse] = []  # List of leaving member responses.


def encode_0(message: LeaveGroupResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    out += _p_h(message.error_code)
    return out


def encode_1(message: LeaveGroupResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 1 to 2."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    return out


def encode_3(message: LeaveGroupResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 3."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    members = message.members
    out += _p_i(len(members))
    for one in members:
        member_id = one.member_id
        data = member_id.encode()
        out += _p_h(len(data))
        out += data
        group_instance_id = one.group_instance_id
        if group_instance_id is None: out += b"\xff\xff"
        else:
            data = group_instance_id.encode()
            out += _p_h(len(data))
            out += data
        out += _p_h(one.error_code)
    return out


def encode_4(message: LeaveGroupResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 4 to 5."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    members = message.members
    n = len(members) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in members:
        member_id = one.member_id
        data = member_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        group_instance_id = one.group_instance_id
        if group_instance_id is None: out += b"\0"
        else:
            data = group_instance_id.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_hx(one.error_code)
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[LeaveGroupResponse]] = {
    0: encode_0,
    1: encode_1,
    2: encode_1,
    3: encode_3,
    4: encode_4,
    5: encode_4,
}
