"""Made by `make generate` from Apache Kafka's SaslAuthenticateResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_q = struct.Struct(">q").pack
_p_qx = struct.Struct(">qx").pack


class SaslAuthenticateResponse(Struct, gc=False):
    error_code: int = 0  # The error code, or 0 if there was no error.
    error_message: str | None = ""  # The error message, or null if there was no error.
    auth_bytes: bytes = b""  # The SASL authentication bytes from the server, as defined by the SASL mechanism.
    session_lifetime_ms: int = 0  # Number of milliseconds after which only re-authentication over the existing connection to create a new session can occur.


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


ENCODERS: dict[int, Encoder[SaslAuthenticateResponse]] = {
    0: encode_0,
    1: encode_1,
    2: encode_2,
}
