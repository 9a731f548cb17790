"""The live bits of delayed entries: 1 while an entry has pending records.

    chunk   0 ──────── 511 bytes ┐        entry 4103 is bit 7 of chunk 1: byte 0, most significant bit
            entries 0 to 4095    │
    chunk   1 ──────── 511 bytes ┘        in Redis: field "1", 512 bytes; an absent chunk is all zero

Firing and cancelling clear a bit in a script; the first to do so wins.  Index entries whose bit is 0 are stale and
skipped.  The scripts use lua/include/live_bitmap.lua.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

CHUNK: Final = 4096
_BYTES: Final = CHUNK // 8
_ONES: Final = tuple(tuple(bit for bit in range(8) if byte >> bit & 1) for byte in range(256))


class LiveBitmap:
    """A set of entries, as a mapping of chunk to its bits.  Entries of chunks that are not in the mapping count
    as 0."""

    __slots__ = ("_chunks",)

    def __init__(self, chunks: Mapping[int, bytes | bytearray]) -> None:
        self._chunks = chunks

    @classmethod
    def from_reply(cls, chunks: Iterable[int], values: Iterable[bytes | None]) -> LiveBitmap:
        """values: HMGET's reply for these chunks."""
        return cls({chunk: value for chunk, value in zip(chunks, values, strict=True) if value is not None})

    @classmethod
    def of(cls, entries: Iterable[int]) -> LiveBitmap:
        """These entries, in any order, repeated or not."""
        chunks: defaultdict[int, bytearray] = defaultdict(lambda: bytearray(_BYTES))
        for entry in entries:
            chunks[entry // CHUNK][entry % CHUNK >> 3] |= 1 << (entry & 7)
        return cls(dict(chunks))

    @classmethod
    def union(cls, many: Iterable[LiveBitmap]) -> LiveBitmap:
        chunks: defaultdict[int, int] = defaultdict(int)
        for bits in many:
            for chunk, data in bits._chunks.items():
                chunks[chunk] |= int.from_bytes(data, "little")
        return cls({chunk: number.to_bytes(_BYTES, "little") for chunk, number in chunks.items()})

    @property
    def chunks(self) -> list[int]:
        return sorted(self._chunks)

    def holds(self, entry: int) -> bool:
        data = self._chunks.get(entry // CHUNK)
        return data is not None and bool(data[entry % CHUNK >> 3] >> (entry & 7) & 1)

    def count(self, first: int, last: int) -> int:
        """How many of entries first to last, both included."""
        return sum(self._within(chunk, first, last).bit_count() for chunk in self._chunks)

    def entries(self, first: int, last: int) -> Iterator[int]:
        """Those of entries first to last, both included, ascending."""
        for chunk in self.chunks:
            found = self._within(chunk, first, last)
            if found:
                for at, byte in enumerate(found.to_bytes(_BYTES, "little")):
                    for bit in _ONES[byte]:
                        yield chunk * CHUNK + 8 * at + bit

    def shared(self, other: LiveBitmap) -> int:
        """The number of entries in both.  Cost: one AND per chunk."""
        return sum(
            (int.from_bytes(data, "little") & int.from_bytes(other._chunks[chunk], "little")).bit_count()
            for chunk, data in self._chunks.items()
            if chunk in other._chunks
        )

    def _within(self, chunk: int, first: int, last: int) -> int:
        """The bits of a chunk as a number, without those outside first to last."""
        low, high = max(first - chunk * CHUNK, 0), min(last - chunk * CHUNK, CHUNK - 1)
        if low > high:
            return 0
        return int.from_bytes(self._chunks[chunk], "little") >> low << low & (2 << high) - 1
