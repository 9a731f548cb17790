"""Made by `make generate` from Apache Kafka's SyncGroupRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.sync_group_request import SyncGroupRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack


def encode_0(message: SyncGroupRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 2."""
    group_id = message.group_id
    data = group_id.encode()
    out += _p_h(len(data))
    out += data
    out += _p_i(message.generation_id)
    member_id = message.member_id
    data = member_id.encode()
    out += _p_h(len(data))
    out += data
    assignments = message.assignments
    out += _p_i(len(assignments))
    for one in assignments:
        member_id_2 = one.member_id
        data = member_id_2.encode()
        out += _p_h(len(data))
        out += data
        assignment = one.assignment
        out += _p_i(len(assignment))
        out += assignment
    return out


def encode_3(message: SyncGroupRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 3."""
    group_id = message.group_id
    data = group_id.encode()
    out += _p_h(len(data))
    out += data
    out += _p_i(message.generation_id)
    member_id = message.member_id
    data = member_id.encode()
    out += _p_h(len(data))
    out += data
    group_instance_id = message.group_instance_id
    if group_instance_id is None: out += b"\xff\xff"
    else:
        data = group_instance_id.encode()
        out += _p_h(len(data))
        out += data
    assignments = message.assignments
    out += _p_i(len(assignments))
    for one in assignments:
        member_id_2 = one.member_id
        data = member_id_2.encode()
        out += _p_h(len(data))
        out += data
        assignment = one.assignment
        out += _p_i(len(assignment))
        out += assignment
    return out


def encode_4(message: SyncGroupRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 4."""
    group_id = message.group_id
    data = group_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_i(message.generation_id)
    member_id = message.member_id
    data = member_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    group_instance_id = message.group_instance_id
    if group_instance_id is None: out += b"\0"
    else:
        data = group_instance_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    assignments = message.assignments
    n = len(assignments) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in assignments:
        member_id_2 = one.member_id
        data = member_id_2.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        assignment = one.assignment
        n = len(assignment) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += assignment
        out += b"\0"
    out += b"\0"
    return out


def encode_5(message: SyncGroupRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 5."""
    group_id = message.group_id
    data = group_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_i(message.generation_id)
    member_id = message.member_id
    data = member_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    group_instance_id = message.group_instance_id
    if group_instance_id is None: out += b"\0"
    else:
        data = group_instance_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
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
    assignments = message.assignments
    n = len(assignments) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in assignments:
        member_id_2 = one.member_id
        data = member_id_2.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        assignment = one.assignment
        n = len(assignment) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += assignment
        out += b"\0"
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[SyncGroupRequest]] = {
    0: encode_0,
    1: encode_0,
    2: encode_0,
    3: encode_3,
    4: encode_4,
    5: encode_5,
}
