"""Snapshots of the transaction buffer: a trace of the log up to a position, as bytes.

    log       0 ─────────────────────────── position ──────────────── end
    index     counts, open transactions, ledgers │  a rebuild reads the log from here
    segments  [aborted ····][aborted ··][windows ····][windows ·]       written once, each

Pure.  A CRC-32C detects damage.  Bytes: proto/redis_ledger/v1/buffer_snapshot.proto.
Source: PIP-196; docs/decisions/0032.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from crc32c import crc32c
from google.protobuf.message import DecodeError, Message

from redis_ledger.ledger.column_codec import pack, unpack
from redis_ledger.ledger.entries import Aborted, LogEntry
from redis_ledger.ledger.log_trace import (
    WINDOW,
    Batch,
    LedgerTrace,
    LogTrace,
    OpenTransaction,
    TraceCounts,
)
from redis_ledger.proto.buffer_snapshot_pb2 import AbortedSegment, BufferSnapshot, WindowSegment
from redis_ledger.proto.delay_bucket_pb2 import Columns

VERSION: Final = 1
LEDGERS_MAX: Final = 500  # in a snapshot, the newest
WINDOWS_MAX: Final = 25_000  # producers of a segment, the newest: 1.5 MB at most, 2.4 ms of Redis
SEALED_ROWS: Final = 16_384  # aborted transactions of a segment that is never merged
FANOUT: Final = 16  # segments of about one size become one
_CRC_BYTES: Final = 4


class UnusableSnapshot(Exception):
    """The snapshot is not used.  is_damage: it should not be there; otherwise it is outdated, or of a newer release.
    is_replaced: by the next snapshot, which begins anew."""

    def __init__(self, reason: str, *, is_damage: bool = True, is_replaced: bool = True) -> None:
        super().__init__(reason)
        self.reason, self.is_damage, self.is_replaced = reason, is_damage, is_replaced


class LastEntry(NamedTuple):
    """The log entry before the position of a snapshot."""

    base_offset: int
    last_offset: int
    producer_id: int
    sequence: int
    appended_ms: int

    @classmethod
    def of(cls, entry: LogEntry) -> LastEntry:
        return cls(entry.base_offset, entry.last_offset, entry.producer_id, entry.sequence, entry.appended_ms)


class Segment(NamedTuple):
    """A segment in the index.  first_offset, last_offset: of the markers of aborted transactions."""

    number: int
    rows: int
    size: int
    first_offset: int = 0
    last_offset: int = 0


class ProducerWindow(NamedTuple):
    """The last batches of a producer, of one epoch, oldest first."""

    producer_id: int
    is_transactional: bool
    batches: Sequence[Batch]


class SnapshotIndex(NamedTuple):
    """counted_from: the log start when the first entry was counted."""

    topic_id: str
    leader_epoch: int
    counted_from: int
    taken_ms: int
    last: LastEntry
    counts: TraceCounts
    open: Mapping[int, OpenTransaction]
    ledgers: Mapping[int, LedgerTrace]
    aborted: Sequence[Segment] = ()
    windows: Sequence[Segment] = ()

    @property
    def position(self) -> int:
        return self.counts.end

    @property
    def next_number(self) -> int:
        return max((segment.number for segment in (*self.aborted, *self.windows)), default=0) + 1

    def trace(self) -> LogTrace:
        """A trace that goes on from here; its windows are empty."""
        return LogTrace(self.counts, self.open, self.ledgers)


# -- index -------------------------------------------------------------------------------------------------------------


def encode_index(index: SnapshotIndex) -> bytes:
    counts, last = index.counts, index.last
    ledgers = sorted(index.ledgers.items(), key=lambda row: row[1].last_offset)
    trace = index.trace()
    message = BufferSnapshot(
        version=VERSION, topic_id=index.topic_id, leader_epoch=index.leader_epoch, position=counts.end,
        stable_offset=trace.stable(), taken_ms=index.taken_ms, first_offset=counts.first,
        counted_from=index.counted_from, entries=counts.entries, bytes=counts.bytes, committed=counts.committed,
        aborted=counts.aborted, newest_ms=counts.newest_ms, has_left_out_producers=counts.has_left_out,
        has_left_out_ledgers=counts.has_left_out_ledgers or len(ledgers) > LEDGERS_MAX,
        last=BufferSnapshot.Entry(**last._asdict()),
        open=_table((pid, *txn) for pid, txn in index.open.items()),
        ledgers=_table((number, *counted) for number, counted in ledgers[-LEDGERS_MAX:]),
        aborted_segments=[BufferSnapshot.Segment(**segment._asdict()) for segment in index.aborted],
        window_segments=[BufferSnapshot.Segment(**segment._asdict()) for segment in index.windows],
    )  # fmt: skip
    return _sealed(message)


def decode_index(data: bytes) -> SnapshotIndex:
    """Raises UnusableSnapshot."""
    m = BufferSnapshot()
    _open(data, m)
    if m.version != VERSION:
        reason = f"it has format {m.version}; this release reads format {VERSION}"
        raise UnusableSnapshot(reason, is_damage=False, is_replaced=m.version < VERSION)
    counts = TraceCounts(
        m.first_offset, m.position, m.entries, m.bytes, m.committed, m.aborted, m.newest_ms,
        m.has_left_out_producers, m.has_left_out_ledgers,
    )  # fmt: skip
    last = m.last
    return SnapshotIndex(
        m.topic_id, m.leader_epoch, m.counted_from, m.taken_ms,
        LastEntry(last.base_offset, last.last_offset, last.producer_id, last.sequence, last.appended_ms), counts,
        {pid: OpenTransaction(epoch, first) for pid, epoch, first in _rows(m.open)},
        {number: LedgerTrace(*counted) for number, *counted in _rows(m.ledgers)},
        [_segment(segment) for segment in m.aborted_segments], [_segment(segment) for segment in m.window_segments],
    )  # fmt: skip


def _segment(m: BufferSnapshot.Segment) -> Segment:
    return Segment(m.number, m.rows, m.size, m.first_offset, m.last_offset)


# -- segments ----------------------------------------------------------------------------------------------------------


def encode_aborted(rows: Sequence[Aborted]) -> bytes:
    """rows: at least one, by marker offset.  Cost: some 8 bytes and 1 µs each."""
    return _sealed(AbortedSegment(rows=_table(rows)))


def decode_aborted(data: bytes) -> list[Aborted]:
    """Raises UnusableSnapshot."""
    segment = AbortedSegment()
    _open(data, segment)
    return [Aborted(*row) for row in _rows(segment.rows)]


def encode_windows(rows: Sequence[ProducerWindow]) -> bytes:
    """rows: at least one, by the offset of their last batches.  Cost: some 20 bytes and 3 µs each."""
    producers = _table((row.producer_id, len(row.batches), int(row.is_transactional)) for row in rows)
    return _sealed(WindowSegment(producers=producers, batches=_table(batch for row in rows for batch in row.batches)))


def decode_windows(data: bytes) -> list[ProducerWindow]:
    """Raises UnusableSnapshot."""
    segment = WindowSegment()
    _open(data, segment)
    batches = iter(_rows(segment.batches))
    return [
        ProducerWindow(pid, bool(flag), [Batch(*batch) for batch in islice(batches, count)])
        for pid, count, flag in _rows(segment.producers)
    ]


# -- merging -----------------------------------------------------------------------------------------------------------


def mergeable(rows: Sequence[int], sealed: int = 1 << 62) -> int:
    """How many of the last segments, with so many rows each, become one: 0, or FANOUT at least.

    A segment counts as many times in a merge as there are powers of FANOUT below its final size, so the cost of
    a row is that logarithm.  Segments of `sealed` rows stay as they are.
    """
    sizes, taken, found = list(rows), 1, 0
    while sizes and sizes[-1] < sealed:
        tier, run = _tier(sizes[-1]), 0
        for size in reversed(sizes):
            if size >= sealed or _tier(size) > tier:
                break
            run += 1
        if run < FANOUT:
            break
        taken = found = taken + run - 1
        sizes[-run:] = [sum(sizes[-run:])]
    return found


def _tier(rows: int) -> int:
    tier = 0
    while rows >= FANOUT:
        rows //= FANOUT
        tier += 1
    return tier


def join_windows(
    segments: Iterable[Iterable[ProducerWindow]], since_ms: int = 0, rows_max: int = 1 << 62
) -> tuple[list[ProducerWindow], bool]:
    """The windows of segments, the oldest first, as those of one; and whether producers are left out: those before
    since_ms, and all but the newest rows_max."""
    known: dict[int, ProducerWindow] = {}
    for segment in segments:
        for row in segment:
            before = known.pop(row.producer_id, None)
            if before is not None and before.batches[-1].epoch == row.batches[0].epoch:
                row = row._replace(batches=[*before.batches, *row.batches][-WINDOW:])
            known[row.producer_id] = row
    young = (row for row in known.values() if row.batches[-1].appended_ms >= since_ms)
    rows = sorted(young, key=lambda row: row.batches[-1].offset)[-rows_max:]
    return rows, len(rows) < len(known)


# -- bytes -------------------------------------------------------------------------------------------------------------


def _table(rows: Iterable[Sequence[int]]) -> Columns:
    columns = [*zip(*rows, strict=True)]
    return pack(columns) if columns else Columns()


def _rows(table: Columns) -> Iterable[tuple[int, ...]]:
    """Raises UnusableSnapshot."""
    try:
        return [*zip(*unpack(table), strict=True)]
    except ValueError as error:
        raise UnusableSnapshot(f"a table cannot be read: {error}") from None


def _sealed(message: Message) -> bytes:
    data = message.SerializeToString()
    return data + crc32c(data).to_bytes(_CRC_BYTES, "little")


def _open(data: bytes, message: Message) -> None:
    """Reads the message from what _sealed made.  Raises UnusableSnapshot."""
    checksum, name = data[-_CRC_BYTES:], type(message).__name__
    if len(data) <= _CRC_BYTES or crc32c(data[:-_CRC_BYTES]).to_bytes(_CRC_BYTES, "little") != checksum:
        raise UnusableSnapshot(f"{name}: the checksum of its {len(data)} bytes is wrong")
    try:
        message.ParseFromString(data[:-_CRC_BYTES])
    except DecodeError as error:
        raise UnusableSnapshot(f"{name}: its bytes cannot be decoded: {error}") from None
