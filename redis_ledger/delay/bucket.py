"""A sealed bucket at rest: its entries cut into segments by due time, and what each segment holds.

    due        12:00 ········ 12:05 ········ 12:10 ················ 18:00
    segments   [ 1: 5 minutes ][ 2: 5000 entries ][ 3 ............. ][ 4: one ]
    metadata   of each: first and last due time, numbers, and a bitmap of its entries for each ledger

Segments are loaded one after the other as time goes on, so memory holds one of a bucket, however large it is.  A row of
a segment is an `Indexed`; rows lie in columns, at some four bytes a row.  What is damaged is noticed by its CRC-32C
and is made again from the delay ledgers.  Bytes: proto/redis_ledger/v1/delay_bucket.proto.  Source: PIP-195, "bucket
snapshot"; requirements DD-22 and DD-23.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, groupby, repeat
from typing import Final, NamedTuple

from crc32c import crc32c
from google.protobuf.message import DecodeError, Message

from redis_ledger.delay.columns import pack, unpack
from redis_ledger.delay.entry import Indexed
from redis_ledger.delay.live import LiveBits
from redis_ledger.proto import delay_bucket_pb2 as stored

VERSION: Final = 1
_CRC_BYTES: Final = 4
_WIDTH: Final = len(Indexed._fields)


class DamagedSnapshot(Exception):
    """A snapshot of a sealed bucket, or a part of it, is missing or damaged.  Index its delay ledgers again."""


@dataclass(frozen=True)
class SegmentMetadata:
    """What a bucket says of one segment.

    entries   rows; a record that was moved away from its entry has a row of its own
    records   of all rows, where a row of a whole entry counts all its records, also those moved away
    size      bytes of the segment as it rests
    """

    min_due_ms: int
    first_entry: int  # of the first row
    max_due_ms: int
    entries: int
    records: int
    size: int
    packed: tuple[tuple[int, stored.Columns], ...]  # ledger, its entries

    @cached_property
    def bitmaps(self) -> dict[int, LiveBits]:
        """Ledger → its entries.  Cost: 0.2 µs an entry, once.  Raises DamagedSnapshot."""
        return {ledger: LiveBits.of(_column(table)) for ledger, table in self.packed}

    def contains(self, entry: int) -> bool:
        return any(bits.holds(entry) for bits in self.bitmaps.values())


class Metadata(NamedTuple):
    first_ledger: int
    last_ledger: int
    segments: Sequence[SegmentMetadata]

    def contains(self, entry: int) -> bool:
        return any(segment.contains(entry) for segment in self.segments)

    def alive(self, live: LiveBits) -> int:
        """How many entries of the bucket are pending."""
        return LiveBits.union(bits for segment in self.segments for bits in segment.bitmaps.values()).shared(live)


# -- cutting -----------------------------------------------------------------------------------------------------------


def is_full(rows: Sequence[Indexed], *, time_step_ms: int, indexes_max: int) -> bool:
    """Whether the last row belongs to the next segment; rows in order.  indexes_max: -1 is no limit."""
    return rows[-1].due_ms - rows[0].due_ms >= time_step_ms or 0 < indexes_max < len(rows)


def cut(rows: Iterable[Indexed], *, time_step_ms: int, indexes_max: int) -> list[Sequence[Indexed]]:
    """Rows in order as segments: each spans less than time_step_ms, and has at most indexes_max rows (-1: no limit)."""
    segments: list[Sequence[Indexed]] = []
    pending: list[Indexed] = []
    for row in rows:
        pending.append(row)
        if is_full(pending, time_step_ms=time_step_ms, indexes_max=indexes_max):
            segments.append(pending[:-1])
            pending = [row]
    return [*segments, pending] if pending else segments


# -- segments ----------------------------------------------------------------------------------------------------------


def encode_segment(rows: Sequence[Indexed]) -> bytes:
    """rows: one at least, by due time, entry and index.  Cost: 1 µs a row; some 4 bytes a row."""
    numbers = list(chain.from_iterable(rows))
    columns = [numbers[field::_WIDTH] for field in range(_WIDTH)]
    # Timestamps rise with the entries, so by that order they are small steps.
    columns[-1] = list(map(columns[-1].__getitem__, _by_entry(columns[1])))
    return _sealed(stored.Segment(rows=pack(columns)))


def decode_segment(data: bytes) -> list[Indexed]:
    """The rows as they were encoded.  Raises DamagedSnapshot.  Cost: 1 µs a row."""
    segment = stored.Segment()
    _open(data, segment)
    try:
        due, entry, index, ledger, records, size, newest_by_entry = unpack(segment.rows)
    except ValueError as error:
        raise DamagedSnapshot(f"A segment cannot be read: {error}.") from None
    entries = list(entry)
    newest = [0] * len(entries)
    for at, newest_ms in zip(_by_entry(entries), newest_by_entry, strict=True):
        newest[at] = newest_ms
    rows = zip(due, entries, index, ledger, records, size, newest, strict=True)
    return list(map(tuple.__new__, repeat(Indexed), rows))  # what Indexed._make does, without a call in Python for each


def _by_entry(entries: Sequence[int]) -> list[int]:
    """Positions in the order of their entries."""
    return sorted(range(len(entries)), key=entries.__getitem__)


# -- metadata ----------------------------------------------------------------------------------------------------------


def describe(rows: Sequence[Indexed], size: int) -> SegmentMetadata:
    """What the bucket's metadata says of a segment of these rows, which rests in `size` bytes."""
    numbers = list(chain.from_iterable(rows))
    entries, indexes, ledgers, counts = (numbers[field::_WIDTH] for field in range(1, 5))
    ledger_of = dict(zip(entries, ledgers, strict=True))
    by_ledger: defaultdict[int, list[int]] = defaultdict(list)
    for ledger, group in groupby(sorted(ledger_of), key=ledger_of.__getitem__):
        by_ledger[ledger] += group
    records = sum(1 if index >= 0 else count for index, count in zip(indexes, counts, strict=True))
    packed = tuple((ledger, pack([of_ledger])) for ledger, of_ledger in by_ledger.items())
    return SegmentMetadata(rows[0].due_ms, rows[0].entry, rows[-1].due_ms, len(rows), records, size, packed)


def encode_metadata(first_ledger: int, last_ledger: int, segments: Iterable[SegmentMetadata]) -> bytes:
    metadata = stored.BucketMetadata(version=VERSION, first_ledger=first_ledger, last_ledger=last_ledger)
    for segment in segments:
        metadata.segments.add(
            min_due_ms=segment.min_due_ms,
            first_entry=segment.first_entry,
            max_due_ms=segment.max_due_ms,
            entries=segment.entries,
            records=segment.records,
            size=segment.size,
            bitmaps=[stored.LedgerBitmap(ledger=ledger, entries=entries) for ledger, entries in segment.packed],
        )
    return _sealed(metadata)


def decode_metadata(data: bytes) -> Metadata:
    """Raises DamagedSnapshot.  Bitmaps stay packed until they are looked at."""
    metadata = stored.BucketMetadata()
    _open(data, metadata)
    if metadata.version != VERSION:
        raise DamagedSnapshot(f"A snapshot is of version {metadata.version}; this program reads version {VERSION}.")
    segments = [
        SegmentMetadata(
            segment.min_due_ms,
            segment.first_entry,
            segment.max_due_ms,
            segment.entries,
            segment.records,
            segment.size,
            tuple((bitmap.ledger, bitmap.entries) for bitmap in segment.bitmaps),
        )
        for segment in metadata.segments
    ]
    return Metadata(metadata.first_ledger, metadata.last_ledger, segments)


def _column(table: stored.Columns) -> Iterable[int]:
    try:
        (column,) = unpack(table)
    except ValueError as error:
        raise DamagedSnapshot(f"A bitmap cannot be read: {error}.") from None
    return column


# -- bytes -------------------------------------------------------------------------------------------------------------


def _sealed(message: Message) -> bytes:
    data = message.SerializeToString()
    return data + crc32c(data).to_bytes(_CRC_BYTES, "little")


def _open(data: bytes, message: Message) -> None:
    """Reads the message from what _sealed made.  Raises DamagedSnapshot."""
    told, name = data[-_CRC_BYTES:], type(message).__name__
    if len(data) <= _CRC_BYTES or crc32c(data[:-_CRC_BYTES]).to_bytes(_CRC_BYTES, "little") != told:
        raise DamagedSnapshot(f"{name}: the checksum of its {len(data)} bytes is not the one they carry.")
    try:
        message.ParseFromString(data[:-_CRC_BYTES])
    except DecodeError as error:
        raise DamagedSnapshot(f"{name}: its bytes are none of ours: {error}.") from None
