"""Made by `make generate` from Apache Kafka's JoinGroupRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.join_group_request import JoinGroupRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_ii = struct.Struct(">ii").pack


def encode_0(message: JoinGroupRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    group_id = message.group_id
    data = group_id.encode()
    out += _p_h(len(data))
    out += data
    out += _p_i(message.session_timeout_ms)
    member_id = message.member_id
    data = member_id.encode()
    out += _p_h(len(data))
    out += data
    protocol_type = message.protocol_type
    data = protocol_type.encode()
    out += _p_h(len(data))
    out += data
    protocols = message.protocols
    out += _p_i(len(protocols))
    for one in protocols:
        name = one.name
        data = name.encode()
        out += _p_h(len(data))
        out += data
        metadata = one.metadata
        out += _p_i(len(metadata))
        out += metadata
    return out


def encode_1(message: JoinGroupRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 1 to 4."""
    group_id = message.group_id
    data = group_id.encode()
    out += _p_h(len(data))
    out += data
    out += _p_ii(message.session_timeout_ms, message.rebalance_timeout_ms)
    member_id = message.member_id
    data = member_id.encode()
    out += _p_h(len(data))
    out += data
    protocol_type = message.protocol_type
    data = protocol_type.encode()
    out += _p_h(len(data))
    out += data
    protocols = message.protocols
    out += _p_i(len(protocols))
    for one in protocols:
        name = one.name
        data = name.encode()
        out += _p_h(len(data))
        out += data
        metadata = one.metadata
        out += _p_i(len(metadata))
        out += metadata
    return out


def encode_5(message: JoinGroupRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 5."""
    group_id = message.group_id
    data = group_id.encode()
    out += _p_h(len(data))
    out += data
    out += _p_ii(message.session_timeout_ms, message.rebalance_timeout_ms)
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
    protocol_type = message.protocol_type
    data = protocol_type.encode()
    out += _p_h(len(data))
    out += data
    protocols = message.protocols
    out += _p_i(len(protocols))
    for one in protocols:
        name = one.name
        data = name.encode()
        out += _p_h(len(data))
        out += data
        metadata = one.metadata
        out += _p_i(len(metadata))
        out += metadata
    return out


def encode_6(message: JoinGroupRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 6 to 7."""
    group_id = message.group_id
    data = group_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_ii(message.session_timeout_ms, message.rebalance_timeout_ms)
    member_id = message.member_id
    data = member_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    group_instance_id = message.group_instance_id
    if group_instance_id is None: out += b"\0"
    else:
        data = group_instance_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    protocol_type = message.protocol_type
    data = protocol_type.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    protocols = message.protocols
    n = len(protocols) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in protocols:
        name = one.name
        data = name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        metadata = one.metadata
        n = len(metadata) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += metadata
        out += b"\0"
    out += b"\0"
    return out


def encode_8(message: JoinGroupRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 8 to 9."""
    group_id = message.group_id
    data = group_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_ii(message.session_timeout_ms, message.rebalance_timeout_ms)
    member_id = message.member_id
    data = member_id.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    group_instance_id = message.group_instance_id
    if group_instance_id is None: out += b"\0"
    else:
        data = group_instance_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    protocol_type = message.protocol_type
    data = protocol_type.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    protocols = message.protocols
    n = len(protocols) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in protocols:
        name = one.name
        data = name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        metadata = one.metadata
        n = len(metadata) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += metadata
        out += b"\0"
    reason = message.reason
    if reason is None: out += b"\0"
    else:
        data = reason.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[JoinGroupRequest]] = {
    0: encode_0,
    1: encode_1,
    2: encode_1,
    3: encode_1,
    4: encode_1,
    5: encode_5,
    6: encode_6,
    7: encode_6,
    8: encode_8,
    9: encode_8,
}
