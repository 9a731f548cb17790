"""Made by `make generate` from Apache Kafka's ApiVersionsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, long_string, skip_tags



class ApiVersionsRequest(Struct, gc=False):
    client_software_name: str = ""  # The name of the client.
    client_software_version: str = ""  # The version of the client.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ApiVersionsRequest:
    """Versions 0 to 2."""
    end = len(buf)
    try:
        return ApiVersionsRequest("", "")
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_3(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> ApiVersionsRequest:
    """Versions 3 to 4."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("client_software_name", n, end - pos)
        client_software_name = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("client_software_version", n, end - pos)
        client_software_version = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return ApiVersionsRequest(client_software_name, client_software_version)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[ApiVersionsRequest]] = {
    0: decode_0,
    1: decode_0,
    2: decode_0,
    3: decode_3,
    4: decode_3,
}
