"""Made by `make generate` from Apache Kafka's SaslHandshakeRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from redis_ledger.kafka.protocol.primitives import Buffer, Encoder

_p_h = struct.Struct(">h").pack


def encode_0(message: SaslHandshakeRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 1."""
    mechanism = message.mechanism
    data = mechanism.encode()
    out += _p_h(len(data))
    out += data
    return out


ENCODERS: dict[int, Encoder[SaslHandshakeRequest]] = {
    0: encode_0,
    1: encode_0,
}
