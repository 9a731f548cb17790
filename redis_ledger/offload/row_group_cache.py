"""Cache of decoded row groups: record batches in memory, for consumers that read offloaded records in order.

    open files    a few, by name; one thread at a time reads each
    blocks        a row group as batches; evicted: first blocks that were read to their end, then the least recent

The bytes of all blocks stay within a budget, except that one block is always kept.  Loading runs in threads; the cache
itself belongs to the event loop.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from redis_ledger.ledger.entries import LogEntry
from redis_ledger.offload.manifest import Segment

if TYPE_CHECKING:
    from redis_ledger.offload.object_store import ObjectStore
    from redis_ledger.offload.segment import GroupSpan, SegmentFile

FILES_OPEN_MAX = 16
_last_offset = attrgetter("last_offset")


class RowGroupKey(NamedTuple):
    file: str
    group: int


class RowGroup:
    """A row group as batches, in offset order.  following: where the last read ended, at first the first offset."""

    __slots__ = ("bytes", "entries", "following", "payloads")

    def __init__(self, entries: Sequence[LogEntry], payloads: Sequence[bytes]) -> None:
        self.entries, self.payloads = entries, payloads
        self.bytes = sum(map(len, payloads))
        self.following = entries[0].base_offset

    def read_from(self, offset: int, bytes_max: int) -> tuple[list[LogEntry], list[bytes]]:
        """Returns batches from the first one that ends at or above the offset, as many as fit, at least one."""
        first = end = bisect_left(self.entries, offset, key=_last_offset)
        total = 0
        while end < len(self.entries) and (end == first or total + len(self.payloads[end]) <= bytes_max):
            total += len(self.payloads[end])
            end += 1
        return list(self.entries[first:end]), list(self.payloads[first:end])

    @property
    def end(self) -> int:
        return self.entries[-1].last_offset + 1


class RowGroupCache:
    """Row groups in memory, by file and number."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._held: OrderedDict[RowGroupKey, RowGroup] = OrderedDict()
        self._read_to_end: set[RowGroupKey] = set()
        self.bytes = self.read_to_end_bytes = 0

    def __contains__(self, key: RowGroupKey) -> bool:
        return key in self._held

    def get(self, key: RowGroupKey) -> RowGroup | None:
        block = self._held.get(key)
        if block is not None and key not in self._read_to_end:
            self._held.move_to_end(key)
        return block

    def put(self, key: RowGroupKey, block: RowGroup) -> None:
        if key in self._held:
            return
        self._held[key] = block
        self.bytes += block.bytes
        while self.bytes > self._bytes_max and len(self._held) > 1:
            self._drop(next(each for each in self._held if each != key))

    def mark_read(self, key: RowGroupKey) -> None:
        """Marks a block that was read to its end; it is evicted first."""
        block = self._held.get(key)
        if block is not None and key not in self._read_to_end:
            self._read_to_end.add(key)
            self.read_to_end_bytes += block.bytes
            self._held.move_to_end(key, last=False)

    @property
    def has_room(self) -> bool:
        """Whether a block can be loaded ahead without evicting blocks in use."""
        return 2 * (self.bytes - self.read_to_end_bytes) < self._bytes_max

    def _drop(self, key: RowGroupKey) -> None:
        block = self._held.pop(key)
        self.bytes -= block.bytes
        if key in self._read_to_end:
            self._read_to_end.discard(key)
            self.read_to_end_bytes -= block.bytes


class _OpenFile:
    def __init__(self, file: SegmentFile) -> None:
        self.file, self.lock = file, threading.Lock()


class SegmentFiles:
    """Open segment files, used from threads."""

    def __init__(self, home: ObjectStore) -> None:
        self._home = home
        self._opened: OrderedDict[str, _OpenFile] = OrderedDict()
        self._lock = threading.Lock()

    def groups(self, segment: Segment) -> list[GroupSpan]:
        return self._open(segment).file.groups

    def load(self, segment: Segment, group: int) -> RowGroup:
        """Raises OffloadedUnavailable, OffloadedDamaged; the next call opens the file again, in case it was
        restored."""
        from redis_ledger.offload.to_batches import COLUMNS, rebuild

        opened = self._open(segment)
        try:
            with opened.lock:
                rows = opened.file.read(group, COLUMNS)
        except BaseException:
            with self._lock:
                self._opened.pop(segment.file, None)
            raise
        rebuilt = rebuild(rows)
        return RowGroup(
            [
                LogEntry(
                    0, 0, each.base_offset, each.last_offset - each.base_offset + 1, len(each.payload), -1, -1, -1, 0,
                    each.newest_ms, each.newest_ms,
                )
                for each in rebuilt
            ],
            [each.payload for each in rebuilt],
        )  # fmt: skip

    def _open(self, segment: Segment) -> _OpenFile:
        from redis_ledger.offload.segment import SegmentFile

        with self._lock:
            opened = self._opened.get(segment.file)
            if opened is not None:
                self._opened.move_to_end(segment.file)
                return opened
        opened = _OpenFile(SegmentFile(self._home, segment))
        with self._lock:
            self._opened[segment.file] = (
                opened  # a second one, opened by another thread, closes with its last reference
            )
            while len(self._opened) > FILES_OPEN_MAX:
                self._opened.popitem(last=False)
        return opened

    def close(self) -> None:
        with self._lock:
            opened = list(self._opened.values())
            self._opened.clear()
        for each in opened:
            with each.lock:
                each.file.close()
