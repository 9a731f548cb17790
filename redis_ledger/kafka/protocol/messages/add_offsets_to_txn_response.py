"""Made by `make generate` from Apache Kafka's AddOffsetsToTxnResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import Buffer, Encoder

_p_ih = struct.Struct(">ih").pack
_p_ihx = struct.Struct(">ihx").pack


class AddOffsetsToTxnResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # Duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    error_code: int = 0  # The response error code, or 0 if there was no error.


def encode_0(message: AddOffsetsToTxnResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 2."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    return out


def encode_3(message: AddOffsetsToTxnResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 3 to 4."""
    out += _p_ihx(message.throttle_time_ms, message.error_code)
    return out


ENCODERS: dict[int, Encoder[AddOffsetsToTxnResponse]] = {
    0: encode_0,
    1: encode_0,
    2: encode_0,
    3: encode_3,
    4: encode_3,
}
