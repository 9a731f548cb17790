"""Made by `make generate` from Apache Kafka's SaslHandshakeResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.sasl_handshake_response import SaslHandshakeResponse
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, left_over, too_many

_h = struct.Struct(">h").unpack_from
_hi = struct.Struct(">hi").unpack_from


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> SaslHandshakeResponse:
    """Versions 0 to 1."""
    end = len(buf)
    try:
        error_code, n = _hi(buf, pos); pos += 6
        if not 0 <= n * 2 <= end - pos: raise bad_length("mechanisms", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        mechanisms: list[str] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("mechanisms", n, end - pos)
            one = buf[pos : pos + n].tobytes().decode(); pos += n
            mechanisms.append(one)
        if pos != end: raise left_over(end - pos)
        return SaslHandshakeResponse(error_code, mechanisms)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[SaslHandshakeResponse]] = {
    0: decode_0,
    1: decode_0,
}
