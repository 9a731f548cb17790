"""Made by `make generate` from Apache Kafka's SyncGroupResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.sync_group_response import SyncGroupResponse
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, left_over, long_length, long_string, skip_tags

_hi = struct.Struct(">hi").unpack_from
_ihB = struct.Struct(">ihB").unpack_from
_ihi = struct.Struct(">ihi").unpack_from


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> SyncGroupResponse:
    """Version 0."""
    end = len(buf)
    try:
        error_code, n = _hi(buf, pos); pos += 6
        if not 0 <= n <= end - pos: raise bad_length("assignment", n, end - pos)
        assignment = buf[pos : pos + n].tobytes(); pos += n
        if pos != end: raise left_over(end - pos)
        return SyncGroupResponse(0, error_code, None, None, assignment)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> SyncGroupResponse:
    """Versions 1 to 3."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, n = _ihi(buf, pos); pos += 10
        if not 0 <= n <= end - pos: raise bad_length("assignment", n, end - pos)
        assignment = buf[pos : pos + n].tobytes(); pos += n
        if pos != end: raise left_over(end - pos)
        return SyncGroupResponse(throttle_time_ms, error_code, None, None, assignment)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_4(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> SyncGroupResponse:
    """Version 4."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, n = _ihB(buf, pos); pos += 7
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("assignment", n, end - pos)
        assignment = buf[pos : pos + n].tobytes(); pos += n
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return SyncGroupResponse(throttle_time_ms, error_code, None, None, assignment)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_5(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> SyncGroupResponse:
    """Version 5."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, n = _ihB(buf, pos); pos += 7
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: protocol_type = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("protocol_type", n, end - pos)
            protocol_type = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: protocol_name = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("protocol_name", n, end - pos)
            protocol_name = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("assignment", n, end - pos)
        assignment = buf[pos : pos + n].tobytes(); pos += n
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return SyncGroupResponse(throttle_time_ms, error_code, protocol_type, protocol_name, assignment)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[SyncGroupResponse]] = {
    0: decode_0,
    1: decode_1,
    2: decode_1,
    3: decode_1,
    4: decode_4,
    5: decode_5,
}
