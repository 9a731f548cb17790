"""Large messages: a descriptor record, and the chunks of its value behind it.

    offset   40                       41       42       43        44       45 to 90     91
    record   descriptor               other    chunk 0  chunk 1   other    ...          commit
             rl-large: ID 48 50331648          rl-chunk: ID 0 48  rl-chunk: ID 1 48

All of them are records of one transaction in one partition; records of others may lie between.  The descriptor comes
first, so trimming a log removes it before its chunks.  The last chunk has the SHA-256 of the whole value.
Source: PIP-37 (chunked messages); docs/decisions/0043.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from typing import NamedTuple

DESCRIPTOR, CHUNK, SHA256 = "rl-large", "rl-chunk", "rl-chunk-sha256"
COPIED_FROM = (
    "rl-large-at"  # of a copy of a descriptor, such as a dead letter: topic, partition and offset of the first
)
RESERVED = (DESCRIPTOR, COPIED_FROM, CHUNK, SHA256)
LARGE_BYTES_MAX = 1 << 30
CHUNK_BYTES = 1 << 20
CHUNK_BYTES_MIN = 1 << 16
OVERHEAD_BYTES = 512  # a generous bound on what a batch adds to the chunk in it

Headers = Iterable[tuple[str, bytes | None]]


class Descriptor(NamedTuple):
    """id: the same in all chunks.  size: bytes of the value."""

    id: str
    chunks: int
    size: int

    def header(self) -> tuple[str, bytes]:
        return DESCRIPTOR, f"{self.id} {self.chunks} {self.size}".encode()

    def chunk_headers(self, index: int, sha256: bytes) -> list[tuple[str, bytes]]:
        """sha256: of the value up to and with this chunk."""
        found = [(CHUNK, f"{self.id} {index} {self.chunks}".encode())]
        return [*found, (SHA256, sha256.hex().encode())] if index == self.chunks - 1 else found


class Chunk(NamedTuple):
    """The headers of a chunk.  place: from 0.  sha256: of the whole value, in the last one."""

    id: str
    place: int
    chunks: int
    sha256: str


def describe(size: int, batch_bytes_max: int) -> tuple[Descriptor, int] | None:
    """A new descriptor, and the bytes of each chunk but the last; None if a batch holds too little for chunks."""
    chunk_bytes = min(CHUNK_BYTES, batch_bytes_max - OVERHEAD_BYTES)
    if chunk_bytes < CHUNK_BYTES_MIN:
        return None
    return Descriptor(secrets.token_hex(12), -(-size // chunk_bytes), size), chunk_bytes


def descriptor_of(headers: Headers) -> Descriptor | None:
    """None if the record is not a descriptor.  Any producer can write the header, so numbers that no message has are
    not believed: they would reach Content-Length and metrics."""
    parts = _parts(headers, DESCRIPTOR)
    if parts is None or not (parts[1].isdecimal() and parts[2].isdecimal()):
        return None
    found = Descriptor(parts[0], int(parts[1]), int(parts[2]))
    return found if 0 < found.chunks <= found.size <= LARGE_BYTES_MAX else None


def chunk_of(headers: Headers) -> Chunk | None:
    """None if the record is not a chunk."""
    headers = list(headers)
    parts = _parts(headers, CHUNK)
    if parts is None or not (parts[1].isdecimal() and parts[2].isdecimal()):
        return None
    return Chunk(parts[0], int(parts[1]), int(parts[2]), (dict(headers).get(SHA256) or b"").decode("latin-1"))


def is_chunk(headers: Headers) -> bool:
    return any(name == CHUNK for name, _ in headers)


def copied(headers: Sequence[tuple[str, bytes | None]], topic: str, partition: int, offset: int) -> Headers:
    """The headers of a copy of the record: that of a descriptor locates the first one, behind which the chunks are."""
    names = {name for name, _ in headers}
    if DESCRIPTOR not in names or COPIED_FROM in names:
        return headers
    return [*headers, (COPIED_FROM, f"{topic} {partition} {offset}".encode())]


def copied_from(headers: Headers) -> tuple[str, int, int] | None:
    """Topic, partition and offset of the first descriptor, if this is a copy."""
    parts = _parts(headers, COPIED_FROM)
    if parts is None or not (parts[1].isdecimal() and parts[2].isdecimal()):
        return None
    return parts[0], int(parts[1]), int(parts[2])


def _parts(headers: Headers, name: str) -> list[str] | None:
    value = dict(headers).get(name)
    parts = value.decode("latin-1").split(" ") if value is not None and len(value) <= 400 else []
    return parts if len(parts) == 3 and all(part.isascii() for part in parts) else None
