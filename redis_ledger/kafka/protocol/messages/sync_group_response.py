"""Made by `make wire` from Apache Kafka's SyncGroupResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, left_over, long_length, long_string, skip_tags, uvarint

_hi = struct.Struct(">hi").unpack_from
_ihB = struct.Struct(">ihB").unpack_from
_ihi = struct.Struct(">ihi").unpack_from
_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_ih = struct.Struct(">ih").pack


class SyncGroupResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    error_code: int = 0  # The error code, or 0 if there was no error.
    protocol_type: str | None = None  # The group protocol type.
    protocol_name: str | None = None  # The group protocol name.
    assignment: bytes = b""  # The member assignment.


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


def encode_0(message: SyncGroupResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    out += _p_h(message.error_code)
    assignment = message.assignment
    out += _p_i(len(assignment))
    out += assignment
    return out


def encode_1(message: SyncGroupResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 1 to 3."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    assignment = message.assignment
    out += _p_i(len(assignment))
    out += assignment
    return out


def encode_4(message: SyncGroupResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 4."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    assignment = message.assignment
    n = len(assignment) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += assignment
    out += b"\0"
    return out


def encode_5(message: SyncGroupResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 5."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    protocol_type = message.protocol_type
    if protocol_type is None: out += b"\0"
    else:
        data = protocol_type.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    protocol_name = message.protocol_name
    if protocol_name is None: out += b"\0"
    else:
        data = protocol_name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    assignment = message.assignment
    n = len(assignment) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += assignment
    out += b"\0"
    return out


DECODERS: dict[int, Decoder[SyncGroupResponse]] = {
    0: decode_0,
    1: decode_1,
    2: decode_1,
    3: decode_1,
    4: decode_4,
    5: decode_5,
}
ENCODERS: dict[int, Encoder[SyncGroupResponse]] = {
    0: encode_0,
    1: encode_1,
    2: encode_1,
    3: encode_1,
    4: encode_4,
    5: encode_5,
}
