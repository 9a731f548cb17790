"""Made by `make generate` from Apache Kafka's InitProducerIdResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import Buffer, Encoder

_p_ihqh = struct.Struct(">ihqh").pack
_p_ihqhx = struct.Struct(">ihqhx").pack


class InitProducerIdResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    error_code: int = 0  # The error code, or 0 if there was no error.
    producer_id: int = -1  # The current producer id.
    producer_epoch: int = 0  # The current epoch associated with the producer id.


def encode_0(message: InitProducerIdResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 1."""
    out += _p_ihqh(message.throttle_time_ms, message.error_code, message.producer_id, message.producer_epoch)
    return out


def encode_2(message: InitProducerIdResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 2 to 5."""
    out += _p_ihqhx(message.throttle_time_ms, message.error_code, message.producer_id, message.producer_epoch)
    return out


ENCODERS: dict[int, Encoder[InitProducerIdResponse]] = {
    0: encode_0,
    1: encode_0,
    2: encode_2,
    3: encode_2,
    4: encode_2,
    5: encode_2,
}
