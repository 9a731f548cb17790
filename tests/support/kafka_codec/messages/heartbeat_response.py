"""Made by `make generate` from Apache Kafka's HeartbeatResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.heartbeat_response import HeartbeatResponse
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, left_over, skip_tags

_h = struct.Struct(">h").unpack_from
_ih = struct.Struct(">ih").unpack_from
_ihB = struct.Struct(">ihB").unpack_from


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> HeartbeatResponse:
    """Version 0."""
    end = len(buf)
    try:
        (error_code,) = _h(buf, pos); pos += 2
        if pos != end: raise left_over(end - pos)
        return HeartbeatResponse(0, error_code)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> HeartbeatResponse:
    """Versions 1 to 3."""
    end = len(buf)
    try:
        throttle_time_ms, error_code = _ih(buf, pos); pos += 6
        if pos != end: raise left_over(end - pos)
        return HeartbeatResponse(throttle_time_ms, error_code)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_4(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> HeartbeatResponse:
    """Version 4."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, n = _ihB(buf, pos); pos += 7
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return HeartbeatResponse(throttle_time_ms, error_code)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[HeartbeatResponse]] = {
    0: decode_0,
    1: decode_1,
    2: decode_1,
    3: decode_1,
    4: decode_4,
}
