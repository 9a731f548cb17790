"""Made by `make generate` from Apache Kafka's SaslAuthenticateRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, long_length, skip_tags

_i = struct.Struct(">i").unpack_from


class SaslAuthenticateRequest(Struct, gc=False):
    auth_bytes: bytes = b""  # The SASL authentication bytes from the client, as defined by the SASL mechanism.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> SaslAuthenticateRequest:
    """Versions 0 to 1."""
    end = len(buf)
    try:
        (n,) = _i(buf, pos); pos += 4
        if not 0 <= n <= end - pos: raise bad_length("auth_bytes", n, end - pos)
        auth_bytes = buf[pos : pos + n].tobytes(); pos += n
        return SaslAuthenticateRequest(auth_bytes)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> SaslAuthenticateRequest:
    """Version 2."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("auth_bytes", n, end - pos)
        auth_bytes = buf[pos : pos + n].tobytes(); pos += n
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return SaslAuthenticateRequest(auth_bytes)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[SaslAuthenticateRequest]] = {
    0: decode_0,
    1: decode_0,
    2: decode_2,
}
