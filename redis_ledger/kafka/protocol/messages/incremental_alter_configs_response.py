"""Made by `make generate` from Apache Kafka's IncrementalAlterConfigsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_b = struct.Struct(">b").pack
_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack


class AlterConfigsResourceResponse(Struct, gc=False):
    """The responses for each resource."""

    error_code: int = 0  # The resource error code.
    error_message: str | None = ""  # The resource error message, or null if there was no error.
    resource_type: int = 0  # The resource type.
    resource_name: str = ""  # The resource name.


class IncrementalAlterConfigsResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # Duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    responses: list[AlterConfigsResourceResponse] = []  # The responses for each resource.


def encode_0(message: IncrementalAlterConfigsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    out += _p_i(message.throttle_time_ms)
    responses = message.responses
    out += _p_i(len(responses))
    for one in responses:
        out += _p_h(one.error_code)
        error_message = one.error_message
        if error_message is None: out += b"\xff\xff"
        else:
            data = error_message.encode()
            out += _p_h(len(data))
            out += data
        out += _p_b(one.resource_type)
        resource_name = one.resource_name
        data = resource_name.encode()
        out += _p_h(len(data))
        out += data
    return out


def encode_1(message: IncrementalAlterConfigsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 1."""
    out += _p_i(message.throttle_time_ms)
    responses = message.responses
    n = len(responses) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in responses:
        out += _p_h(one.error_code)
        error_message = one.error_message
        if error_message is None: out += b"\0"
        else:
            data = error_message.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_b(one.resource_type)
        resource_name = one.resource_name
        data = resource_name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += b"\0"
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[IncrementalAlterConfigsResponse]] = {
    0: encode_0,
    1: encode_1,
}
