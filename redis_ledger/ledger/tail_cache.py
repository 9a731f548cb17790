"""The tail cache: the newest batches of a partition in this broker's memory, so that reads there need no payload read.

    log   ... [ 40  43  47 ][ 51 ] end        batches that this broker appended or read last, without a gap
                └ first    end ┘              valid for one (topic id, leader epoch): entries never change

It is used only after a read of the partition's state, and only below the end offset of that state.  All caches of a
broker share one budget; the one that grew least recently evicts its oldest batches first.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

from redis_ledger.ledger.entries import LogEntry

ENTRY_BYTES = 400  # memory of an entry besides its payload, about
PRUNE_AT = 256  # dead entries at the front of the list


class CachedBatch(NamedTuple):
    last_offset: int
    entry: LogEntry
    payload: bytes | memoryview


_last_offset = itemgetter(0)


class Tails:
    """The shared budget of all tail caches of a broker."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._used = self._lent = 0
        self._by_age: OrderedDict[Tail, None] = OrderedDict()

    def open(self) -> Tail:
        return Tail(self, self._bytes_max // 4)

    def lend(self, count: int) -> bool:
        """Reserves memory for a read in advance, up to a quarter of the budget; release it with `give_back`."""
        if self._lent + count > self._bytes_max // 4:
            return False
        self._lent += count
        return True

    def give_back(self, count: int) -> None:
        self._lent -= count

    def grew(self, tail: Tail, count: int) -> None:
        self._used += count
        self._by_age[tail] = None
        self._by_age.move_to_end(tail)
        while self._used > self._bytes_max:
            oldest = next(iter(self._by_age))
            if not oldest.shrink():
                del self._by_age[oldest]

    def shrank(self, tail: Tail, count: int) -> None:
        self._used -= count
        if not tail.bytes:
            self._by_age.pop(tail, None)


class Tail:
    """The cache of one partition, from offset `first` (inclusive) to `end` (exclusive); empty if they are equal."""

    __slots__ = ("_begin", "_bytes_max", "_held", "bytes", "end", "first", "tails", "transactional")

    def __init__(self, tails: Tails, bytes_max: int) -> None:
        self.tails, self._bytes_max = tails, bytes_max
        self._held: list[CachedBatch] = []
        self._begin = 0
        self.bytes = 0
        self.first = self.end = 0
        self.transactional = 0  # entries of transactions: only with these does a reader need the aborted set

    def add(self, entry: LogEntry, payload: bytes | memoryview) -> None:
        """Adds the entry after the last one; any other entry replaces the content."""
        if entry.base_offset != self.end or self.first == self.end:
            self.clear()
            self.first = entry.base_offset
        last_offset = entry.last_offset
        self._held.append(CachedBatch(last_offset, entry, payload))
        self.end = last_offset + 1
        self.transactional += entry.is_transactional
        size = len(payload) + ENTRY_BYTES
        self.bytes += size
        self.tails.grew(self, size)
        while self.bytes > self._bytes_max and self.shrink():
            pass

    def learn(self, entries: Sequence[LogEntry], payloads: Sequence[bytes], end: int) -> None:
        """Adds a read: it continues the cache, or replaces it if it reaches the end of the log."""
        if not entries or entries[-1].last_offset < self.end:
            return
        if entries[0].base_offset > self.end or self.first == self.end:
            if entries[-1].last_offset + 1 < end:
                return
            self.clear()
            self.first = self.end = entries[0].base_offset
        for entry, payload in zip(entries, payloads, strict=True):
            if entry.base_offset >= self.end:
                self.add(entry, payload)

    def holds(self, offset: int) -> bool:
        return self.first <= offset < self.end

    def since(
        self, offset: int, end: int, bytes_max: int, records_max: int
    ) -> tuple[list[LogEntry], list[bytes | memoryview], LogEntry | None]:
        """Entries from the one with `offset`, below end, as many as fit (logs.that_fit); their payloads; and the entry
        after them, if the cache has it."""
        entries: list[LogEntry] = []
        payloads: list[bytes | memoryview] = []
        total = 0
        at = bisect_left(self._held, offset, self._begin, key=_last_offset)
        for i in range(at, len(self._held)):
            last_offset, entry, payload = self._held[i]
            if last_offset >= end or (total and len(payload) and total + len(payload) > bytes_max):
                return entries, payloads, entry
            if total and entry.base_offset >= offset + records_max:
                return entries, payloads, entry
            total += len(payload)
            entries.append(entry)
            payloads.append(payload)
        return entries, payloads, None

    def shrink(self) -> bool:
        """Evicts its oldest entry.  Returns False if it is empty."""
        if self._begin == len(self._held):
            return False
        last_offset, entry, payload = self._held[self._begin]
        self._held[self._begin] = CachedBatch(last_offset, entry, b"")
        self._begin += 1
        if self._begin >= PRUNE_AT:
            del self._held[: self._begin]
            self._begin = 0
        self.first = last_offset + 1
        self.transactional -= entry.is_transactional
        size = len(payload) + ENTRY_BYTES
        self.bytes -= size
        self.tails.shrank(self, size)
        return True

    def clear(self) -> None:
        size, self.bytes = self.bytes, 0
        self._held.clear()
        self._begin = self.transactional = 0
        self.first = self.end = 0
        if size:
            self.tails.shrank(self, size)
