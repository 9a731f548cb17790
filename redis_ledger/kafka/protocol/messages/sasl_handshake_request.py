"""Made by `make generate` from Apache Kafka's SaslHandshakeRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length

_h = struct.Struct(">h").unpack_from


class SaslHandshakeRequest(Struct, gc=False):
    mechanism: str = ""  # The SASL mechanism chosen by the client.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> SaslHandshakeRequest:
    """Versions 0 to 1."""
    end = len(buf)
    try:
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("mechanism", n, end - pos)
        mechanism = buf[pos : pos + n].tobytes().decode(); pos += n
        return SaslHandshakeRequest(mechanism)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[SaslHandshakeRequest]] = {
    0: decode_0,
    1: decode_0,
}
