"""Made by `make generate` from Apache Kafka's FindCoordinatorResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, left_over, long_length, long_string, skip_tags, too_many

_hih = struct.Struct(">hih").unpack_from
_i = struct.Struct(">i").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ih = struct.Struct(">ih").unpack_from
_ihB = struct.Struct(">ihB").unpack_from
_ihh = struct.Struct(">ihh").unpack_from


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> FindCoordinatorResponse:
    """Version 0."""
    end = len(buf)
    try:
        error_code, node_id, n = _hih(buf, pos); pos += 8
        if not 0 <= n <= end - pos: raise bad_length("host", n, end - pos)
        host = buf[pos : pos + n].tobytes().decode(); pos += n
        (port,) = _i(buf, pos); pos += 4
        if pos != end: raise left_over(end - pos)
        return FindCoordinatorResponse(0, error_code, "", node_id, host, port, [])
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> FindCoordinatorResponse:
    """Versions 1 to 2."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, n = _ihh(buf, pos); pos += 8
        if n == -1: error_message = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
            error_message = buf[pos : pos + n].tobytes().decode(); pos += n
        node_id, n = _ih(buf, pos); pos += 6
        if not 0 <= n <= end - pos: raise bad_length("host", n, end - pos)
        host = buf[pos : pos + n].tobytes().decode(); pos += n
        (port,) = _i(buf, pos); pos += 4
        if pos != end: raise left_over(end - pos)
        return FindCoordinatorResponse(throttle_time_ms, error_code, error_message, node_id, host, port, [])
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_3(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> FindCoordinatorResponse:
    """Version 3."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, n = _ihB(buf, pos); pos += 7
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: error_message = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
            error_message = buf[pos : pos + n].tobytes().decode(); pos += n
        node_id, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("host", n, end - pos)
        host = buf[pos : pos + n].tobytes().decode(); pos += n
        port, n = _iB(buf, pos); pos += 5
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return FindCoordinatorResponse(throttle_time_ms, error_code, error_message, node_id, host, port, [])
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_4(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> FindCoordinatorResponse:
    """Versions 4 to 6."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 14 <= end - pos: raise bad_length("coordinators", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        coordinators: list[Coordinator] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("key", n, end - pos)
            key = buf[pos : pos + n].tobytes().decode(); pos += n
            node_id, n = _iB(buf, pos); pos += 5
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("host", n, end - pos)
            host = buf[pos : pos + n].tobytes().decode(); pos += n
            port, error_code, n = _ihB(buf, pos); pos += 7
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: error_message = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
                error_message = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            coordinators.append(Coordinator(key, node_id, host, port, error_code, error_message))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return FindCoordinatorResponse(throttle_time_ms, 0, "", 0, "", 0, coordinators)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[FindCoordinatorResponse]] = {
    0: decode_0,
    1: decode_1,
    2: decode_1,
    3: decode_3,
    4: decode_4,
    5: decode_4,
    6: decode_4,
}
