"""Made by `make generate` from Apache Kafka's HeartbeatRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.heartbeat_request import HeartbeatRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack


def encode_0(message: HeartbeatRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
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
    return out


def encode_3(message: HeartbeatRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
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
    return out


def encode_4(message: HeartbeatRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
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
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[HeartbeatRequest]] = {
    0: encode_0,
    1: encode_0,
    2: encode_0,
    3: encode_3,
    4: encode_4,
}
