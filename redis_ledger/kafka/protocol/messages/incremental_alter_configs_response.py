"""Made by `make wire` from Apache Kafka's IncrementalAlterConfigsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, left_over, long_length, long_string, skip_tags, too_many, uvarint

_bB = struct.Struct(">bB").unpack_from
_bh = struct.Struct(">bh").unpack_from
_hB = struct.Struct(">hB").unpack_from
_hh = struct.Struct(">hh").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ii = struct.Struct(">ii").unpack_from
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


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> IncrementalAlterConfigsResponse:
    """Version 0."""
    end = len(buf)
    try:
        throttle_time_ms, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 7 <= end - pos: raise bad_length("responses", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        responses: list[AlterConfigsResourceResponse] = []
        for _ in range(n):
            error_code, n = _hh(buf, pos); pos += 4
            if n == -1: error_message = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
                error_message = buf[pos : pos + n].tobytes().decode(); pos += n
            resource_type, n = _bh(buf, pos); pos += 3
            if not 0 <= n <= end - pos: raise bad_length("resource_name", n, end - pos)
            resource_name = buf[pos : pos + n].tobytes().decode(); pos += n
            responses.append(AlterConfigsResourceResponse(error_code, error_message, resource_type, resource_name))
        if pos != end: raise left_over(end - pos)
        return IncrementalAlterConfigsResponse(throttle_time_ms, responses)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> IncrementalAlterConfigsResponse:
    """Version 1."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 6 <= end - pos: raise bad_length("responses", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        responses: list[AlterConfigsResourceResponse] = []
        for _ in range(n):
            error_code, n = _hB(buf, pos); pos += 3
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: error_message = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
                error_message = buf[pos : pos + n].tobytes().decode(); pos += n
            resource_type, n = _bB(buf, pos); pos += 2
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("resource_name", n, end - pos)
            resource_name = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            responses.append(AlterConfigsResourceResponse(error_code, error_message, resource_type, resource_name))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return IncrementalAlterConfigsResponse(throttle_time_ms, responses)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


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


DECODERS: dict[int, Decoder[IncrementalAlterConfigsResponse]] = {
    0: decode_0,
    1: decode_1,
}
ENCODERS: dict[int, Encoder[IncrementalAlterConfigsResponse]] = {
    0: encode_0,
    1: encode_1,
}
