"""Made by `make generate` from Apache Kafka's DeleteTopicsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, NO_UUID, BadFrame, Decoder, bad_length, left_over, long_length, long_string, skip_tags, too_many

_h = struct.Struct(">h").unpack_from
_hB = struct.Struct(">hB").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ii = struct.Struct(">ii").unpack_from
_uhB = struct.Struct(">16shB").unpack_from


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


DECODERS: dict[int, Decoder[DeleteTopicsResponse]] = {
    1: decode_1,
    2: decode_1,
    3: decode_1,
    4: decode_4,
    5: decode_5,
    6: decode_6,
}
