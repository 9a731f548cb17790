"""Made by `make generate` from Apache Kafka's SaslAuthenticateRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_i = struct.Struct(">i").pack


def encode_0(message: SaslAuthenticateRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 1."""
    auth_bytes = message.auth_bytes
    out += _p_i(len(auth_bytes))
    out += auth_bytes
    return out


def encode_2(message: SaslAuthenticateRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 2."""
    auth_bytes = message.auth_bytes
    n = len(auth_bytes) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += auth_bytes
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[SaslAuthenticateRequest]] = {
    0: encode_0,
    1: encode_0,
    2: encode_2,
}
