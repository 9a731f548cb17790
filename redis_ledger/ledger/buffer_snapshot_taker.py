"""Takes the snapshot of a partition's transaction buffer: the stored one, carried on by the log entries behind it.

    stored snapshot ─▶ log entries from its position on ─▶ new segment, index ─▶ ledger/snapshot (compare-and-set)
         │ refused: from the log start                         └ sixteen of a size: one

The log does not change below its end, so nothing is locked.  A call reads a bounded number of entries; it stores a
snapshot at the position that it has reached.  A log with a gap gets none behind the gap: fsck must see it.
Cost: two HMGET, one XRANGE for 500 entries, one HMGET for 500 producers of ended transactions, one script call.
Source: PIP-196; docs/decisions/0032.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, NamedTuple

from redis_ledger.ledger.buffer_snapshot import (
    SEALED_ROWS,
    WINDOWS_MAX,
    LastEntry,
    ProducerWindow,
    Segment,
    SnapshotIndex,
    UnusableSnapshot,
    encode_aborted,
    encode_index,
    encode_windows,
    join_windows,
    mergeable,
)
from redis_ledger.ledger.buffer_snapshot_store import SnapshotStore, Stored, StoredHead, field, refuse_by_log
from redis_ledger.ledger.entries import Aborted, LogEntry, parse_log
from redis_ledger.ledger.log_trace import LogTrace, Marker, aborts_of
from redis_ledger.ledger.place import Place
from redis_ledger.store.reading import Reading
from redis_ledger.store.script_status import Status
from redis_ledger.store.scripts import Script
from redis_ledger.store.store import Store

STORE = Script.load("ledger/snapshot")
LOG_PAGE = 500  # entries
ROWS_PAGE = 500  # producers
ENTRIES_MAX = 10_000  # of one call
WINDOWS_MS = 90_000_000  # windows of producers that are silent for longer are left out when segments are merged


class Taken(NamedTuple):
    """entries: of the log that were read.  bytes: written, 0 if nothing was.  position: of the stored snapshot, -1
    without one.  is_behind: the log goes on.  refusal: why the stored snapshot was not continued."""

    entries: int = 0
    bytes: int = 0
    position: int = -1
    is_behind: bool = False
    refusal: str = ""


class _Tail(NamedTuple):
    """The log behind the stored snapshot.  last: its last entry that was read."""

    trace: LogTrace
    aborted: Sequence[Aborted]
    last: LogEntry
    entries: int
    is_behind: bool


class _Changes:
    """Segments to write and to delete."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self._numbers = numbers
        self.written: dict[int, bytes] = {}
        self.deleted: list[int] = []

    def add_aborted(self, rows: Sequence[Aborted]) -> list[Segment]:
        found = []
        for at in range(0, len(rows), SEALED_ROWS):
            some = rows[at : at + SEALED_ROWS]
            number, data = self._add(encode_aborted(some))
            found.append(Segment(number, len(some), len(data), some[0].last_offset, some[-1].last_offset))
        return found

    def add_windows(self, rows: Sequence[ProducerWindow]) -> list[Segment]:
        if not rows:
            return []
        number, data = self._add(encode_windows(rows))
        return [Segment(number, len(rows), len(data))]

    def _add(self, data: bytes) -> tuple[int, bytes]:
        number = next(self._numbers)
        self.written[number] = data
        return number, data


class SnapshotTaker:
    def __init__(self, store: Store, place: Place) -> None:
        self._store, self._place, self._k = store, place, place.keys
        self._reading = Reading(store)
        self._stored = SnapshotStore(self._reading, place)

    async def take(self, now_ms: int, *, entries_max: int = ENTRIES_MAX, unless_since_ms: int | None = None) -> Taken:
        """Stores a snapshot at the end of the log, or behind the next entries_max entries.

        unless_since_ms: do nothing if there is one that was taken later.
        Raises LedgerError.
        """
        stored = await self._stored.read()
        if stored.now.topic_id != self._place.topic_id or stored.now.start < 0:
            return Taken()
        if stored.refusal is not None and not stored.refusal.is_replaced:
            return Taken(refusal=stored.refusal.reason)
        index = stored.index
        if unless_since_ms is not None and index is not None and index.taken_ms > unless_since_ms:
            return Taken(position=index.position)
        try:
            taken = await self._take(stored, now_ms, entries_max)
        except UnusableSnapshot as refusal:
            stored = replace(stored, index=None, refusal=refusal)
            taken = await self._take(stored, now_ms, entries_max)
        return taken if stored.refusal is None else taken._replace(refusal=stored.refusal.reason)

    async def _take(self, stored: Stored, now_ms: int, entries_max: int) -> Taken:
        """Raises UnusableSnapshot, LedgerError."""
        index, now = stored.index, stored.now
        tail = await self._tail(index, now.start, entries_max)
        if tail is None:
            return Taken(position=-1 if index is None else index.position)
        changes = _Changes(count(1 if index is None else index.next_number))
        aborted = await self._aborted(index.aborted if index else (), tail.aborted, now.start, changes)
        kept = await self._kept(tail.trace)
        windows, has_left_out = await self._windows(index.windows if index else (), kept, now_ms, changes)
        counts = tail.trace.counts
        following = SnapshotIndex(
            now.topic_id, now.leader_epoch, now.start if index is None else index.counted_from, now_ms,
            LastEntry.of(tail.last), counts._replace(has_left_out=counts.has_left_out or has_left_out),
            tail.trace.open, tail.trace.ledgers, aborted, windows,
        )  # fmt: skip
        size = await self._write(stored.head, following, changes, is_whole=index is None)
        return Taken(tail.entries, size, following.position if size else -1, tail.is_behind)

    # -- log ---------------------------------------------------------------------------------------------------------

    async def _tail(self, index: SnapshotIndex | None, start: int, entries_max: int) -> _Tail | None:
        """The log behind the snapshot, up to a gap; None if there is none."""
        k, trace, markers, read = self._k, index.trace() if index else LogTrace(), list[Marker](), 0
        after: Any = index.position - 1 if index else "-"
        last: LogEntry | None = None
        while True:
            is_first = index is not None and not read
            size = LOG_PAGE + is_first
            rows = await self._reading.command(k.state, "XRANGE", k.log, after, "+", "COUNT", size) or []
            entries, is_whole = _parsed(rows)
            if index is not None and is_first:  # the first one is that before the position, if it is not trimmed
                refuse_by_log(index, start, entries[:1])
                entries = [entry for entry in entries if entry.base_offset >= index.position]
            entries, is_sound = _without_gap(trace, entries)
            markers += trace.add(entries)
            read += len(entries)
            last = entries[-1] if entries else last
            is_end = len(rows) < size
            if is_end or not (is_whole and is_sound) or read >= entries_max:
                break
            after = b"(" + rows[-1][0]
        if last is None:
            return None
        return _Tail(trace, aborts_of(markers), last, read, not is_end and is_whole and is_sound)

    async def _kept(self, trace: LogTrace) -> list[ProducerWindow]:
        """Windows of the trace, but those of transactions whose end has removed them: their producer ids are not used
        again."""
        k = self._k
        ended = [pid for pid in trace.transactional if pid not in trace.open]
        forgotten = set[int]()
        for at in range(0, len(ended), ROWS_PAGE):
            some = ended[at : at + ROWS_PAGE]
            rows = await self._reading.command(k.state, "HMGET", k.producers, *some) or ()
            forgotten |= {pid for pid, row in zip(some, rows, strict=False) if row is None}
        return [
            ProducerWindow(pid, pid in trace.transactional, batches)
            for pid, batches in trace.windows.items()
            if pid not in forgotten
        ]

    # -- segments ----------------------------------------------------------------------------------------------------

    async def _aborted(
        self, segments: Sequence[Segment], new: Sequence[Aborted], start: int, changes: _Changes
    ) -> list[Segment]:
        """Whole segments below the log start go; one that is mostly below it is written anew without that part."""
        kept = [each for each in segments if each.last_offset >= start]
        changes.deleted += [each.number for each in segments if each.last_offset < start]
        rows = [row for row in new if row.last_offset >= start]
        head: list[Segment] = []
        if kept and kept[0].first_offset < start and 2 * start > kept[0].first_offset + kept[0].last_offset:
            first = kept.pop(0)
            head = changes.add_aborted([r for r in await self._stored.aborted(first) if r.last_offset >= start])
            changes.deleted.append(first.number)
        merged = mergeable([*(each.rows for each in kept), len(rows)], SEALED_ROWS) if rows else 0
        if merged:
            kept, small = kept[: 1 - merged], kept[1 - merged :]
            before = [row for each in small for row in await self._stored.aborted(each)]
            rows = [row for row in before if row.last_offset >= start] + rows
            changes.deleted += [each.number for each in small]
        return [*head, *kept, *await asyncio.to_thread(changes.add_aborted, rows)]

    async def _windows(
        self, segments: Sequence[Segment], new: Sequence[ProducerWindow], now_ms: int, changes: _Changes
    ) -> tuple[list[Segment], bool]:
        """The segments, and whether producers are left out."""
        kept, rows, has_left_out = list(segments), [*new], False
        merged = mergeable([*(each.rows for each in kept), len(rows)]) if rows else 0
        if merged:
            kept, small = kept[: 1 - merged], kept[1 - merged :]
            before = [await self._stored.windows(each) for each in small]
            since_ms = now_ms - WINDOWS_MS
            rows, has_left_out = await asyncio.to_thread(join_windows, [*before, rows], since_ms, WINDOWS_MAX)
            changes.deleted += [each.number for each in small]
        return [*kept, *await asyncio.to_thread(changes.add_windows, rows)], has_left_out

    async def _write(self, head: StoredHead, index: SnapshotIndex, changes: _Changes, *, is_whole: bool) -> int:
        """The bytes that were written; 0 if another broker was first, or the topic was deleted."""
        data, deleted = encode_index(index), [] if is_whole else [field(number) for number in changes.deleted]
        args: list[Any] = [index.topic_id, head.text, head.following(index), data, int(is_whole), len(deleted)]
        args += deleted
        for number, segment in changes.written.items():
            args += (field(number), segment)
        reply = await self._store.call(STORE, (self._k.state, self._k.snapshot), args)
        return len(data) + sum(map(len, changes.written.values())) if reply[0] == Status.OK else 0


def _parsed(rows: Sequence[Any]) -> tuple[list[LogEntry], bool]:
    """The entries before the first one of another form, and whether that is all."""
    try:
        return parse_log(rows), True
    except (ValueError, TypeError, IndexError):
        found = list[LogEntry]()
        for row in rows:
            try:
                found += parse_log([row])
            except (ValueError, TypeError, IndexError):
                break
        return found, False


def _without_gap(trace: LogTrace, entries: Sequence[LogEntry]) -> tuple[list[LogEntry], bool]:
    """The entries before the first gap or overlap, and whether that is all."""
    end = trace.end if trace.end >= 0 else None
    for at, entry in enumerate(entries):
        if end is not None and entry.base_offset != end and not (entry.begins_epoch and entry.base_offset > end):
            return [*entries[:at]], False
        end = entry.last_offset + 1
    return [*entries], True
