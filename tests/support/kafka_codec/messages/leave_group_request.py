"""Made by `make generate` from Apache Kafka's LeaveGroupRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.leave_group_request import LeaveGroupRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack


def encode_0(message: LeaveGroupRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 2."""
    group_id = message.group_id
    data = group_id.encode()
    out += _p_h(len(data))
    out += data
    member_id = message.member_id
    data = member_id.encode()
    out += _p_h(len(data))
    out += data
    return out


def encode_3(message: LeaveGroupRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 3."""
    group_id = message.group_id
    data = group_id.encode()
    out += _p_h(len(data))
    out += data
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
    return out


def encode_4(message: LeaveGroupRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 4."""
    group_id = message.group_id
    data = group_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
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
        out += b"\0"
    out += b"\0"
    return out


def encode_5(message: LeaveGroupRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 5."""
    group_id = message.group_id
    data = group_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
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
        reason = one.reason
        if reason is None: out += b"\0"
        else:
            data = reason.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += b"\0"
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[LeaveGroupRequest]] = {
    0: encode_0,
    1: encode_0,
    2: encode_0,
    3: encode_3,
    4: encode_4,
    5: encode_5,
}
