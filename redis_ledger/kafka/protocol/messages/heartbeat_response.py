"""Made by `make generate` from Apache Kafka's HeartbeatResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import Buffer, Encoder

_p_h = struct.Struct(">h").pack
_p_ih = struct.Struct(">ih").pack
_p_ihx = struct.Struct(">ihx").pack


class HeartbeatResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    error_code: int = 0  # The error code, or 0 if there was no error.


def encode_0(message: HeartbeatResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    out += _p_h(message.error_code)
    return out


def encode_1(message: HeartbeatResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 1 to 3."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    return out


def encode_4(message: HeartbeatResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 4."""
    out += _p_ihx(message.throttle_time_ms, message.error_code)
    return out


ENCODERS: dict[int, Encoder[HeartbeatResponse]] = {
    0: encode_0,
    1: encode_1,
    2: encode_1,
    3: encode_1,
    4: encode_4,
}
