"""Made by `make wire` from Apache Kafka's DeleteTopicsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, NO_UUID, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, left_over, long_length, long_string, skip_tags, too_many, uvarint

_h = struct.Struct(">h").unpack_from
_hB = struct.Struct(">hB").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ii = struct.Struct(">ii").unpack_from
_p_h = struct.Struct(">h").pack
_p_hx = struct.Struct(">hx").pack
_p_i = struct.Struct(">i").pack
_p_uh = struct.Struct(">16sh").pack
_uhB = struct.Struct(">16shB").unpack_from


class DeletableTopicResult(Struct, gc=False):
    """The results for each topic we tried to delete."""

    name: str | None = ""  # The topic name.
    topic_id: bytes = NO_UUID  # The unique topic ID.
    error_code: int = 0  # The deletion error, or 0 if the deletion succeeded.
    error_message: str | None = None  # The error message, or null if there was no error.


class DeleteTopicsResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    responses: list[DeletableTopicResult] = []  # The results for each topic we tried to delete.


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DeleteTopicsResponse:
    """Versions 1 to 3."""
    end = len(buf)
    try:
        throttle_time_ms, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 4 <= end - pos: raise bad_length("responses", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        responses: list[DeletableTopicResult] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (error_code,) = _h(buf, pos); pos += 2
            responses.append(DeletableTopicResult(name, NO_UUID, error_code, None))
        if pos != end: raise left_over(end - pos)
        return DeleteTopicsResponse(throttle_time_ms, responses)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_4(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DeleteTopicsResponse:
    """Version 4."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 4 <= end - pos: raise bad_length("responses", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        responses: list[DeletableTopicResult] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            error_code, n = _hB(buf, pos); pos += 3
            if n: pos, room = skip_tags(buf, pos, n, room)
            responses.append(DeletableTopicResult(name, NO_UUID, error_code, None))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return DeleteTopicsResponse(throttle_time_ms, responses)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_5(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DeleteTopicsResponse:
    """Version 5."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 5 <= end - pos: raise bad_length("responses", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        responses: list[DeletableTopicResult] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            error_code, n = _hB(buf, pos); pos += 3
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: error_message = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
                error_message = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            responses.append(DeletableTopicResult(name, NO_UUID, error_code, error_message))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return DeleteTopicsResponse(throttle_time_ms, responses)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_6(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DeleteTopicsResponse:
    """Version 6."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 21 <= end - pos: raise bad_length("responses", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        responses: list[DeletableTopicResult] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: name = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                name = buf[pos : pos + n].tobytes().decode(); pos += n
            topic_id, error_code, n = _uhB(buf, pos); pos += 19
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: error_message = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
                error_message = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            responses.append(DeletableTopicResult(name, topic_id, error_code, error_message))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return DeleteTopicsResponse(throttle_time_ms, responses)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


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


DECODERS: dict[int, Decoder[DeleteTopicsResponse]] = {
    1: decode_1,
    2: decode_1,
    3: decode_1,
    4: decode_4,
    5: decode_5,
    6: decode_6,
}
ENCODERS: dict[int, Encoder[DeleteTopicsResponse]] = {
    1: encode_1,
    2: encode_1,
    3: encode_1,
    4: encode_4,
    5: encode_5,
    6: encode_6,
}
