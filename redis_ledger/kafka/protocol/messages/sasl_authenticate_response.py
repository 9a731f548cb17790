"""Made by `make wire` from Apache Kafka's SaslAuthenticateResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, left_over, long_length, long_string, skip_tags, uvarint

_hB = struct.Struct(">hB").unpack_from
_hh = struct.Struct(">hh").unpack_from
_i = struct.Struct(">i").unpack_from
_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_q = struct.Struct(">q").pack
_p_qx = struct.Struct(">qx").pack
_q = struct.Struct(">q").unpack_from
_qB = struct.Struct(">qB").unpack_from


class SaslAuthenticateResponse(Struct, gc=False):
    error_code: int = 0  # The error code, or 0 if there was no error.
    error_message: str | None = ""  # The error message, or null if there was no error.
    auth_bytes: bytes = b""  # The SASL authentication bytes from the server, as defined by the SASL mechanism.
    session_lifetime_ms: int = 0  # Number of milliseconds after which only re-authentication over the existing connection to create a new session can occur.


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


def encode_0(message: SaslAuthenticateResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    out += _p_h(message.error_code)
    error_message = message.error_message
    if error_message is None: out += b"\xff\xff"
    else:
        data = error_message.encode()
        out += _p_h(len(data))
        out += data
    auth_bytes = message.auth_bytes
    out += _p_i(len(auth_bytes))
    out += auth_bytes
    return out


def encode_1(message: SaslAuthenticateResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 1."""
    out += _p_h(message.error_code)
    error_message = message.error_message
    if error_message is None: out += b"\xff\xff"
    else:
        data = error_message.encode()
        out += _p_h(len(data))
        out += data
    auth_bytes = message.auth_bytes
    out += _p_i(len(auth_bytes))
    out += auth_bytes
    out += _p_q(message.session_lifetime_ms)
    return out


def encode_2(message: SaslAuthenticateResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 2."""
    out += _p_h(message.error_code)
    error_message = message.error_message
    if error_message is None: out += b"\0"
    else:
        data = error_message.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    auth_bytes = message.auth_bytes
    n = len(auth_bytes) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += auth_bytes
    out += _p_qx(message.session_lifetime_ms)
    return out


DECODERS: dict[int, Decoder[SaslAuthenticateResponse]] = {
    0: decode_0,
    1: decode_1,
    2: decode_2,
}
ENCODERS: dict[int, Encoder[SaslAuthenticateResponse]] = {
    0: encode_0,
    1: encode_1,
    2: encode_2,
}
