"""Made by `make generate` from Apache Kafka's DeleteGroupsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, left_over, long_length, long_string, skip_tags, too_many

_h = struct.Struct(">h").unpack_from
_hB = struct.Struct(">hB").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ii = struct.Struct(">ii").unpack_from


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DeleteGroupsResponse:
    """Versions 0 to 1."""
    end = len(buf)
    try:
        throttle_time_ms, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 4 <= end - pos: raise bad_length("results", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        results: list[DeletableGroupResult] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
            group_id = buf[pos : pos + n].tobytes().decode(); pos += n
            (error_code,) = _h(buf, pos); pos += 2
            results.append(DeletableGroupResult(group_id, error_code, None))
        if pos != end: raise left_over(end - pos)
        return DeleteGroupsResponse(throttle_time_ms, results)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DeleteGroupsResponse:
    """Version 2."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 4 <= end - pos: raise bad_length("results", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        results: list[DeletableGroupResult] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
            group_id = buf[pos : pos + n].tobytes().decode(); pos += n
            error_code, n = _hB(buf, pos); pos += 3
            if n: pos, room = skip_tags(buf, pos, n, room)
            results.append(DeletableGroupResult(group_id, error_code, None))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return DeleteGroupsResponse(throttle_time_ms, results)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_3(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DeleteGroupsResponse:
    """Version 3."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 5 <= end - pos: raise bad_length("results", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        results: list[DeletableGroupResult] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("group_id", n, end - pos)
            group_id = buf[pos : pos + n].tobytes().decode(); pos += n
            error_code, n = _hB(buf, pos); pos += 3
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: error_message = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
                error_message = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            results.append(DeletableGroupResult(group_id, error_code, error_message))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return DeleteGroupsResponse(throttle_time_ms, results)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[DeleteGroupsResponse]] = {
    0: decode_0,
    1: decode_0,
    2: decode_2,
    3: decode_3,
}
