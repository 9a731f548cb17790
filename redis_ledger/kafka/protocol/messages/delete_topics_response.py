"""Made by `make generate` from Apache Kafka's DeleteTopicsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import NO_UUID, ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_hx = struct.Struct(">hx").pack
_p_i = struct.Struct(">i").pack
_p_uh = struct.Struct(">16sh").pack


class DeletableTopicResult(Struct, gc=False):
    """The results for each topic we tried to delete."""

    name: str | None = ""  # The topic name.
    topic_id: bytes = NO_UUID  # The unique topic ID.
    error_code: int = 0  # The deletion error, or 0 if the deletion succeeded.
    error_message: str | None = None  # The error message, or null if there was no error.


class DeleteTopicsResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    responses: list[DeletableTopicResult] = []  # The results for each topic we tried to delete.


def encode_1(message: DeleteTopicsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 1 to 3."""
    out += _p_i(message.throttle_time_ms)
    responses = message.responses
    out += _p_i(len(responses))
    for one in responses:
        name = one.name
        assert name is not None, "name is null"
        data = name.encode()
        out += _p_h(len(data))
        out += data
        out += _p_h(one.error_code)
    return out


def encode_4(message: DeleteTopicsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 4."""
    out += _p_i(message.throttle_time_ms)
    responses = message.responses
    n = len(responses) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in responses:
        name = one.name
        assert name is not None, "name is null"
        data = name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_hx(one.error_code)
    out += b"\0"
    return out


def encode_5(message: DeleteTopicsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 5."""
    out += _p_i(message.throttle_time_ms)
    responses = message.responses
    n = len(responses) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in responses:
        name = one.name
        assert name is not None, "name is null"
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


def encode_6(message: DeleteTopicsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 6."""
    out += _p_i(message.throttle_time_ms)
    responses = message.responses
    n = len(responses) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in responses:
        name = one.name
        if name is None: out += b"\0"
        else:
            data = name.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_uh(one.topic_id, one.error_code)
        error_message = one.error_message
        if error_message is None: out += b"\0"
        else:
            data = error_message.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += b"\0"
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[DeleteTopicsResponse]] = {
    1: encode_1,
    2: encode_1,
    3: encode_1,
    4: encode_4,
    5: encode_5,
    6: encode_6,
}
