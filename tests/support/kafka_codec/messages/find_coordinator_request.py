"""Made by `make generate` from Apache Kafka's FindCoordinatorRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_b = struct.Struct(">b").pack
_p_bx = struct.Struct(">bx").pack
_p_h = struct.Struct(">h").pack


def encode_0(message: FindCoordinatorRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    key = message.key
    data = key.encode()
    out += _p_h(len(data))
    out += data
    return out


def encode_1(message: FindCoordinatorRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 1 to 2."""
    key = message.key
    data = key.encode()
    out += _p_h(len(data))
    out += data
    out += _p_b(message.key_type)
    return out


def encode_3(message: FindCoordinatorRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 3."""
    key = message.key
    data = key.encode()
    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += _p_bx(message.key_type)
    return out


def encode_4(message: FindCoordinatorRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 4 to 6."""
    out += _p_b(message.key_type)
    coordinator_keys = message.coordinator_keys
    n = len(coordinator_keys) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in coordinator_keys:
        data = one.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[FindCoordinatorRequest]] = {
    0: encode_0,
    1: encode_1,
    2: encode_1,
    3: encode_3,
    4: encode_4,
    5: encode_4,
    6: encode_4,
}
