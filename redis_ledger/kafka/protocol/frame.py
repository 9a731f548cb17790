"""Frames and headers of messages.

    request     int32 length │ api key int16, version int16, correlation id int32, client id │ tagged │ body
    response    int32 length │ correlation id int32                                          │ tagged │ body
                └ of the rest                                                          └ flexible versions only

The client id has an int16 length in every version, so that any broker can read any header.  The header of the
ApiVersions response never has tagged fields, because the client does not know the supported versions yet.  Source:
Kafka's protocol guide; RequestHeader.json and ResponseHeader.json; KIP-511.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import Any

from msgspec import Struct

from redis_ledger.kafka.protocol import registry
from redis_ledger.kafka.protocol.api import UnknownApi, UnknownVersion
from redis_ledger.kafka.protocol.messages import API_VERSIONS
from redis_ledger.kafka.protocol.primitives import (
    DAMAGE,
    ELEMENTS_MAX,
    BadFrame,
    Buffer,
    Encoder,
    bad_length,
    skip_tags,
)

LENGTH_BYTES = 4
HEADER_BYTES_MIN = 10  # with a client id that is null or empty
API_VERSIONS_KEY = 18

_length = struct.Struct(">i")
_header = struct.Struct(">hhih").unpack_from  # the last is the length of the client id
_head = struct.Struct(">ii")


class RequestHeader(Struct, gc=False):
    """body_at: offset of the message in the frame."""

    api_key: int
    version: int
    correlation_id: int
    client_id: str | None
    body_at: int


def frame_bytes(prefix: Buffer, bytes_max: int, at: int = 0, bytes_min: int = HEADER_BYTES_MIN) -> int:
    """The length at the beginning of a request: the number of bytes after these four."""
    length: int = _length.unpack_from(prefix, at)[0]
    if not bytes_min <= length <= bytes_max:
        raise BadFrame(f"a request of {length} bytes; {bytes_min} to {bytes_max} are allowed")
    return length


def read_header(frame: memoryview) -> RequestHeader:
    """frame: a request without its length.  Raises UnknownApi and UnknownVersion besides BadFrame."""
    try:
        api_key, version, correlation_id, n = _header(frame, 0)
        pos = HEADER_BYTES_MIN
        client_id = None
        if n != -1:
            if not 0 <= n <= len(frame) - pos:
                raise bad_length("client_id", n, len(frame) - pos)
            client_id = frame[pos : pos + n].tobytes().decode()
            pos += n
        api = API_VERSIONS.get(api_key)
        if api is None:
            raise UnknownApi(f"there is no API {api_key}", api_key, version, correlation_id, client_id)
        if not api.version_min <= version <= api.version_max:
            known = f"{api.version_min} to {api.version_max}"
            detail = f"{api.name} has no version {version}; supported: {known}"
            raise UnknownVersion(detail, api_key, version, correlation_id, client_id)
        if version >= api.flexible_from:
            count, pos = frame[pos], pos + 1
            if count:
                pos, _ = skip_tags(frame, pos, count)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error
    return RequestHeader(api_key, version, correlation_id, client_id, pos)


def read_request(frame: memoryview, header: RequestHeader, elements_max: int = ELEMENTS_MAX) -> Any:
    """Decodes the message after the header: an instance of messages.<api>_request.  Records are slices of the frame.

    Raises BadFrame, and its subclass TooManyElements for a message with more than elements_max.
    """
    return registry.decode_request(header.api_key, header.version)(frame, header.body_at, elements_max)


def response(api_key: int, version: int, correlation_id: int, message: Any) -> list[Buffer]:
    """Encodes the frame as chunks; a single one if it contains no records."""
    encode, head = _answer(api_key, version)
    out = bytearray(head)
    chunks = _chunks(out, message, encode)
    size = len(out) if len(chunks) == 1 else sum(map(len, chunks))
    _head.pack_into(out, 0, size - LENGTH_BYTES, correlation_id)
    return chunks


def joined(responses: list[Buffer]) -> list[Buffer]:
    """Small responses as one piece: one copy costs less than `writelines` of several."""
    return responses if len(responses) < 2 else [b"".join(responses)]


@cache
def _answer(api_key: int, version: int) -> tuple[Encoder[Any], bytes]:
    """The encoder, and the beginning of a frame with zeros for length and correlation id."""
    flexible = version >= API_VERSIONS[api_key].flexible_from and api_key != API_VERSIONS_KEY
    return registry.encode_response(api_key, version), bytes(_head.size + flexible)


def _chunks(out: bytearray, message: Any, encode: Encoder[Any]) -> list[Buffer]:
    """Encodes the message after `out`, which contains the header and becomes the first chunk."""
    chunks: list[Buffer] = []
    tail = encode(message, out, chunks)
    if tail:
        chunks.append(tail)
    return chunks
