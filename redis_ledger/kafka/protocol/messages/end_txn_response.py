"""Made by `make generate` from Apache Kafka's EndTxnResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import Buffer, Encoder

_p_ih = struct.Struct(">ih").pack
_p_ihqhx = struct.Struct(">ihqhx").pack
_p_ihx = struct.Struct(">ihx").pack


class EndTxnResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    error_code: int = 0  # The error code, or 0 if there was no error.
    producer_id: int = -1  # The producer ID.
    producer_epoch: int = -1  # The current epoch associated with the producer.


def encode_0(message: EndTxnResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 2."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    return out


def encode_3(message: EndTxnResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 3 to 4."""
    out += _p_ihx(message.throttle_time_ms, message.error_code)
    return out


def encode_5(message: EndTxnResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 5."""
    out += _p_ihqhx(message.throttle_time_ms, message.error_code, message.producer_id, message.producer_epoch)
    return out


ENCODERS: dict[int, Encoder[EndTxnResponse]] = {
    0: encode_0,
    1: encode_0,
    2: encode_0,
    3: encode_3,
    4: encode_3,
    5: encode_5,
}
