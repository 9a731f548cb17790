"""Made by `make generate` from Apache Kafka's CreatePartitionsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack


class CreatePartitionsTopicResult(Struct, gc=False):
    """The partition creation results for each topic."""

    name: str = ""  # The topic name.
    error_code: int = 0  # The result error, or zero if there was no error.
    error_message: str | None = None  # The result message, or null if there was no error.


class CreatePartitionsResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    results: list[CreatePartitionsTopicResult] = []  # The partition creation results for each topic.


def encode_0(message: CreatePartitionsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 1."""
    out += _p_i(message.throttle_time_ms)
    results = message.results
    out += _p_i(len(results))
    for one in results:
        name = one.name
        data = name.encode()
        out += _p_h(len(data))
        out += data
        out += _p_h(one.error_code)
        error_message = one.error_message
        if error_message is None: out += b"\xff\xff"
        else:
            data = error_message.encode()
            out += _p_h(len(data))
            out += data
    return out


def encode_2(message: CreatePartitionsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 2 to 3."""
    out += _p_i(message.throttle_time_ms)
    results = message.results
    n = len(results) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in results:
        name = one.name
        data = name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_h(one.error_code)
        error_message = one.error_message
        if error_message is None: out += b"\0"
        else:
            data = error_message.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += b"\0"
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[CreatePartitionsResponse]] = {
    0: encode_0,
    1: encode_0,
    2: encode_2,
    3: encode_2,
}
