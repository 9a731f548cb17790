"""Made by `make wire` from Apache Kafka's HeartbeatResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Buffer, Decoder, Encoder, left_over, skip_tags

_h = struct.Struct(">h").unpack_from
_ih = struct.Struct(">ih").unpack_from
_ihB = struct.Struct(">ihB").unpack_from
_p_h = struct.Struct(">h").pack
_p_ih = struct.Struct(">ih").pack
_p_ihx = struct.Struct(">ihx").pack


class HeartbeatResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    error_code: int = 0  # The error code, or 0 if there was no error.


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


def encode_0(message: HeartbeatResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    out += _p_h(message.error_code)
    return out


def encode_1(message: HeartbeatResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 1 to 3."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    return out


def encode_4(message: HeartbeatResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 4."""
    out += _p_ihx(message.throttle_time_ms, message.error_code)
    return out


DECODERS: dict[int, Decoder[HeartbeatResponse]] = {
    0: decode_0,
    1: decode_1,
    2: decode_1,
    3: decode_1,
    4: decode_4,
}
ENCODERS: dict[int, Encoder[HeartbeatResponse]] = {
    0: encode_0,
    1: encode_1,
    2: encode_1,
    3: encode_1,
    4: encode_4,
}
