"""Log entries: what is visible, in offset order; each points to the payload it makes visible.

    id "<last offset>-1"   l ledger  e entry  b base offset  n records  s bytes  p producer  v epoch  q sequence
                           f flags   t append time (ms)      m newest record timestamp up to and with this entry (ms)
                           x which records of the payload (flag PARTIAL only)
                           flag SIDECAR and l from 0: the transaction l-e, whose batches are in the sidecar buffer

XRANGE from "<offset>" begins at the entry that holds the offset.  `m` never falls, so the first entry with a record as
late as a given time is found by halving the log.  Pure: parsing and the two questions a reader asks,
which entries fit, and which belong to aborted transactions.
Source: PIP-31 (a marker's reference), Kafka's transaction index (aborted).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from redis_ledger.errors import StoredDamaged

TRANSACTIONAL, MARKER, COMMIT, PARTIAL, CHUNK, SIDECAR = 1, 2, 4, 8, 16, 32
FIELDS = 22  # of an entry, names and values; PARTIAL has two more


class LogEntry(NamedTuple):
    ledger: int
    entry: int
    base_offset: int
    records: int
    size: int
    producer_id: int
    epoch: int
    sequence: int
    flags: int
    appended_ms: int
    newest_ms: int

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.records - 1

    @property
    def is_marker(self) -> bool:
        return bool(self.flags & MARKER)

    @property
    def has_payload(self) -> bool:
        return not self.flags & MARKER

    @property
    def begins_epoch(self) -> bool:
        """Whether it is the marker of no producer that begins a leader epoch, behind a gap (ledger/takeover)."""
        return self.is_marker and self.producer_id < 0

    @property
    def is_transactional(self) -> bool:
        return bool(self.flags & TRANSACTIONAL)

    @property
    def was_aside(self) -> bool:
        """Whether it was in the sidecar buffer until its transaction was committed."""
        return bool(self.flags & SIDECAR)

    @property
    def is_chunk(self) -> bool:
        """Whether it is part of a large message's value: readers see it, subscriptions skip it."""
        return bool(self.flags & CHUNK)


class PartialEntry(LogEntry):
    """An entry that makes some records of its payload visible.  kept: their places in it, "0-3,5"."""

    kept: str


class ReclaimedEntry(LogEntry):
    """A batch of an aborted transaction whose payload was given back (ledger/reclaim).  size: 0."""

    @property
    def has_payload(self) -> bool:
        return False


class Aborted(NamedTuple):
    """An aborted transaction: its records are those of `producer_id` from first_offset to last_offset (the marker).
    stable_offset is the stable offset right after the abort: every later abort began at or above it."""

    producer_id: int
    first_offset: int
    last_offset: int
    stable_offset: int


def parse_log(reply: Sequence[Any]) -> list[LogEntry]:
    """XRANGE's reply as entries.  Raises StoredDamaged."""
    try:
        return [
            LogEntry._make(map(int, fields[1::2])) if len(fields) == FIELDS else _partial(fields) for _, fields in reply
        ]
    except (ValueError, TypeError, IndexError):
        raise StoredDamaged.of(f"An entry of the log from {reply[0][0].decode()} on") from None


def _partial(fields: Sequence[bytes]) -> PartialEntry:
    entry = PartialEntry._make(map(int, fields[1:FIELDS:2]))
    entry.kept = fields[FIELDS + 1].decode()
    return entry


def parse_aborted(reply: Sequence[Any]) -> list[Aborted]:
    """ZRANGEBYSCORE WITHSCORES' flat reply as aborted transactions, by marker offset.  Raises StoredDamaged."""
    found = []
    for member, score in zip(reply[::2], reply[1::2], strict=True):
        try:
            producer, first, stable = map(int, member.split())
        except ValueError:
            raise StoredDamaged.of(f"The aborted transaction {member[:100]!r}") from None
        found.append(Aborted(producer, first, int(float(score)), stable))
    return found


def covers(aborted: Sequence[Aborted], end_offset: int, limit: int) -> bool:
    """Whether this prefix of the aborted set, cut off at `limit` members, tells all there is below end_offset."""
    return len(aborted) < limit or any(a.stable_offset >= end_offset for a in aborted)


def is_aborted(entry: LogEntry, aborted: Iterable[Aborted]) -> bool:
    if not entry.is_transactional:
        return False
    return any(
        a.producer_id == entry.producer_id and a.first_offset <= entry.base_offset <= a.last_offset for a in aborted
    )


def without_reclaimed(entries: Sequence[LogEntry], aborted: Iterable[Aborted], reclaimed_offset: int) -> list[LogEntry]:
    """The same entries; those of aborted transactions that end below reclaimed_offset as ReclaimedEntry."""
    spans: dict[int, list[Aborted]] = {}
    for each in aborted:
        spans.setdefault(each.producer_id, []).append(each)
    return [
        ReclaimedEntry._make(entry._replace(size=0))
        if may_be_reclaimed(entry, reclaimed_offset) and is_aborted(entry, spans.get(entry.producer_id, ()))
        else entry
        for entry in entries
    ]


def may_be_reclaimed(entry: LogEntry, end_offset: int) -> bool:
    """Whether it is a batch of a transaction, below end_offset: without payload if that was aborted."""
    return entry.is_transactional and not entry.is_marker and entry.last_offset < end_offset


def is_readable(entry: LogEntry | None, end_offset: int, aborted: Iterable[Aborted], *, committed: bool) -> bool:
    """Whether the entry is a batch below end_offset that this reader does not leave out; False for None."""
    if entry is None or not entry.has_payload or entry.last_offset >= end_offset:
        return False
    return not (committed and is_aborted(entry, aborted))


def that_fit(entries: Iterable[LogEntry], end_offset: int, bytes_max: int, enough_at: int = 1 << 63) -> list[LogEntry]:
    """The first entries below end_offset whose payload fits in bytes_max, and that begin below enough_at; always the
    first batch, however large.  Markers have no payload, so they always fit."""
    taken: list[LogEntry] = []
    total = 0
    for entry in entries:
        if entry.last_offset >= end_offset or (total and entry.size and total + entry.size > bytes_max):
            break
        if total and entry.base_offset >= enough_at:
            break
        total += entry.size
        taken.append(entry)
    return taken


def runs(entries: Iterable[LogEntry], *, gap_max: int = 4) -> list[tuple[int, int, int]]:
    """(ledger, first entry, last entry): stretches of payload that are fetched in one range each."""
    found: list[tuple[int, int, int]] = []
    for entry in entries:
        if not entry.has_payload:
            continue
        if found:
            ledger, first, last = found[-1]
            if ledger == entry.ledger and last <= entry.entry <= last + 1 + gap_max:
                found[-1] = (ledger, first, entry.entry)
                continue
        found.append((entry.ledger, entry.entry, entry.entry))
    return found
