"""Made by `make generate` from Apache Kafka's SaslAuthenticateResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, left_over, long_length, long_string, skip_tags

_hB = struct.Struct(">hB").unpack_from
_hh = struct.Struct(">hh").unpack_from
_i = struct.Struct(">i").unpack_from
_q = struct.Struct(">q").unpack_from
_qB = struct.Struct(">qB").unpack_from


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> SaslAuthenticateResponse:
    """Version 0."""
    end = len(buf)
    try:
        error_code, n = _hh(buf, pos); pos += 4
        if n == -1: error_message = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
            error_message = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n <= end - pos: raise bad_length("auth_bytes", n, end - pos)
        auth_bytes = buf[pos : pos + n].tobytes(); pos += n
        if pos != end: raise left_over(end - pos)
        return SaslAuthenticateResponse(error_code, error_message, auth_bytes, 0)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> SaslAuthenticateResponse:
    """Version 1."""
    end = len(buf)
    try:
        error_code, n = _hh(buf, pos); pos += 4
        if n == -1: error_message = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
            error_message = buf[pos : pos + n].tobytes().decode(); pos += n
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n <= end - pos: raise bad_length("auth_bytes", n, end - pos)
        auth_bytes = buf[pos : pos + n].tobytes(); pos += n
        (session_lifetime_ms,) = _q(buf, pos); pos += 8
        if pos != end: raise left_over(end - pos)
        return SaslAuthenticateResponse(error_code, error_message, auth_bytes, session_lifetime_ms)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> SaslAuthenticateResponse:
    """Version 2."""
    end = len(buf)
    try:
        error_code, n = _hB(buf, pos); pos += 3
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: error_message = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
            error_message = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("auth_bytes", n, end - pos)
        auth_bytes = buf[pos : pos + n].tobytes(); pos += n
        session_lifetime_ms, n = _qB(buf, pos); pos += 9
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return SaslAuthenticateResponse(error_code, error_message, auth_bytes, session_lifetime_ms)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[SaslAuthenticateResponse]] = {
    0: decode_0,
    1: decode_1,
    2: decode_2,
}
