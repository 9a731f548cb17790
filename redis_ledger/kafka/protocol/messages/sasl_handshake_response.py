"""Made by `make generate` from Apache Kafka's SaslHandshakeResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import Buffer, Encoder

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack


class SaslHandshakeResponse(Struct, gc=False):
    error_code: int = 0  # The error code, or 0 if there was no error.
    mechanisms: list[str] = []  # The mechanisms enabled in the server.


def encode_0(message: SaslHandshakeResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 1."""
    out += _p_h(message.error_code)
    mechanisms = message.mechanisms
    out += _p_i(len(mechanisms))
    for one in mechanisms:
        data = one.encode()
        out += _p_h(len(data))
        out += data
    return out


ENCODERS: dict[int, Encoder[SaslHandshakeResponse]] = {
    0: encode_0,
    1: encode_0,
}
