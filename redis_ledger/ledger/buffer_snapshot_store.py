"""The stored snapshot of a partition: found valid or refused, and read with its segments.

    head + index ─▶ of this topic id, leader epoch and format? ─▶ position within the log, behind the same entry?
                        │ no                                          │ no
                        └────────── UnusableSnapshot: the whole log is read ──┘

A broker may store the next snapshot meanwhile: then everything is read again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from redis_ledger.ledger.buffer_snapshot import (
    LastEntry,
    ProducerWindow,
    Segment,
    SnapshotIndex,
    UnusableSnapshot,
    decode_aborted,
    decode_index,
    decode_windows,
    join_windows,
)
from redis_ledger.ledger.entries import Aborted, LogEntry, parse_log
from redis_ledger.ledger.log_trace import LogTrace
from redis_ledger.ledger.place import Place
from redis_ledger.store.reading import Reading

ATTEMPTS = 3  # at a snapshot that is replaced while it is read


class StoredHead(NamedTuple):
    """The field head.  text: as stored, b"" for none; position and taken_ms: -1 if it has another form."""

    text: bytes
    number: int = 0
    position: int = -1
    taken_ms: int = -1

    @classmethod
    def parse(cls, text: bytes | None) -> StoredHead:
        try:
            _, number, position, taken_ms = (text or b"").split(b" ")
            return cls(text or b"", int(number), int(position), int(taken_ms))
        except ValueError:
            return cls(text or b"")

    def following(self, index: SnapshotIndex) -> str:
        """The head of the snapshot that replaces it."""
        return f"{index.topic_id} {self.number + 1} {index.position} {index.taken_ms}"


class PartitionNow(NamedTuple):
    """Fields of the partition's state; -1 for one that is missing."""

    topic_id: str
    leader_epoch: int
    start: int


@dataclass(frozen=True, slots=True)
class Stored:
    """What is stored: index or, if that is not used, the reason.  Both are None without a snapshot."""

    head: StoredHead
    now: PartitionNow
    index: SnapshotIndex | None
    refusal: UnusableSnapshot | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A whole snapshot.  head: as stored.  aborted: whose markers are not below the log start."""

    head: bytes
    index: SnapshotIndex
    aborted: Sequence[Aborted]
    windows: Sequence[ProducerWindow]

    def trace(self) -> LogTrace:
        trace = self.index.trace()
        for row in self.windows:
            trace.windows[row.producer_id] = list(row.batches)
        trace.transactional = {row.producer_id for row in self.windows if row.is_transactional}
        return trace


class SnapshotUse(NamedTuple):
    """What a look at a partition has made of its snapshot.

    position   where the look at the log began; -1: at its start
    entries    of the log that were read
    reason     why the snapshot was not used; "" if it was, or if there is none
    """

    where: str
    position: int = -1
    entries: int = 0
    reason: str = ""


class SnapshotStore:
    def __init__(self, reading: Reading, place: Place) -> None:
        self._reading, self._place, self._k = reading, place, place.keys

    async def read(self) -> Stored:
        """Head and index.  The log is not compared yet; see `refusal_by_log`."""
        # A key each: while a slot moves, a call with several keys waits if one of them is absent.
        k, command = self._k, self._reading.command
        found = await command(k.state, "HMGET", k.snapshot, "head", "index")
        now = _now(await command(k.state, "HMGET", k.state, "topic_id", "epoch", "start"))
        if found is None:
            refusal = UnusableSnapshot("its key is of another type", is_damage=False, is_replaced=False)
            return Stored(StoredHead(b""), now, None, refusal)
        text, data = found
        head = StoredHead.parse(text)
        if text is None and data is None:
            return Stored(head, now, None, None)
        try:
            index = decode_index(data or b"")
            refuse_foreign(index, now, self._place.topic_id)
        except UnusableSnapshot as refusal:
            return Stored(head, now, None, refusal)
        return Stored(head, now, index, None)

    async def load(self) -> Snapshot | None:
        """The snapshot with its segments; None without one.  Raises UnusableSnapshot."""
        for _ in range(ATTEMPTS):
            stored = await self.read()
            if stored.refusal is not None:
                raise stored.refusal
            if stored.index is None:
                return None
            try:
                await self._compare_with_log(stored.index, stored.now)
                aborted = [row for each in stored.index.aborted for row in await self.aborted(each)]
                windows, has_left_out = join_windows([await self.windows(each) for each in stored.index.windows])
            except UnusableSnapshot:
                if (await self.read()).head == stored.head:
                    raise
                continue
            aborted = [row for row in aborted if row.last_offset >= stored.now.start]
            counts = stored.index.counts
            counts = counts._replace(has_left_out=counts.has_left_out or has_left_out)
            return Snapshot(stored.head.text, stored.index._replace(counts=counts), aborted, windows)
        raise UnusableSnapshot("brokers replace it faster than it can be read", is_damage=False)

    async def _compare_with_log(self, index: SnapshotIndex, now: PartitionNow) -> None:
        k = self._k
        rows = await self._reading.command(k.state, "XRANGE", k.log, index.position - 1, "+", "COUNT", 1)
        try:
            refuse_by_log(index, now.start, parse_log(rows or []))
        except (ValueError, TypeError, IndexError):
            raise UnusableSnapshot("the log entry before its position has another form", is_damage=False) from None

    async def aborted(self, segment: Segment) -> list[Aborted]:
        return decode_aborted(await self._segment(segment))

    async def windows(self, segment: Segment) -> list[ProducerWindow]:
        return decode_windows(await self._segment(segment))

    async def _segment(self, segment: Segment) -> bytes:
        name = field(segment.number)
        data: bytes | None = await self._reading.command(self._k.state, "HGET", self._k.snapshot, name)
        if data is None:
            raise UnusableSnapshot(f"its segment {name} is missing")
        self._reading.bytes += len(data)
        return data


def field(number: int) -> str:
    return f"s{number}"


def _now(held: Sequence[Any] | None) -> PartitionNow:
    topic_id, epoch, start = held or (None, None, None)
    return PartitionNow((topic_id or b"").decode(errors="replace"), _number(epoch), _number(start))


def _number(text: bytes | None) -> int:
    return int(text) if text and text.isdigit() else -1


# -- refusals ----------------------------------------------------------------------------------------------------------


def refuse_foreign(index: SnapshotIndex, now: PartitionNow, topic_id: str) -> None:
    """Raises UnusableSnapshot if it is not of this partition as it is now."""
    if index.topic_id != topic_id:
        raise UnusableSnapshot(f"it belongs to the topic id {index.topic_id}")
    if now.leader_epoch < 0 or now.start < 0:
        raise UnusableSnapshot("the partition's state is incomplete", is_damage=False)
    if index.leader_epoch != now.leader_epoch:
        raise UnusableSnapshot(
            f"it is of leader epoch {index.leader_epoch}, and the partition of {now.leader_epoch}", is_damage=False
        )
    if index.position < now.start:
        raise UnusableSnapshot(
            f"it ends at offset {index.position}, and the log begins at {now.start}", is_damage=False
        )


def refuse_by_log(index: SnapshotIndex, start: int, following: Sequence[LogEntry]) -> None:
    """following: the first log entry, if any, that ends at the offset before the position or behind it.  Raises
    UnusableSnapshot if the snapshot does not continue this log."""
    if index.position == start:
        return  # the entry before it is trimmed
    if not following:
        raise UnusableSnapshot(f"it ends at offset {index.position}, and the log ends before it")
    if LastEntry.of(following[0]) != index.last:
        raise UnusableSnapshot(f"the log entry before its position {index.position} is another one")
