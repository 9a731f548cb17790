"""Encodes the snapshot of a sealed bucket: its entries in segments by due time, and metadata of each segment.

    due        12:00 ········ 12:05 ········ 12:10 ················ 18:00
    segments   [ 1: 5 minutes ][ 2: 5000 entries ][ 3 ............. ][ 4: one ]
    metadata   of each: first and last due time, numbers, and a bitmap of its entries for each ledger

Segments are loaded one after the other, so memory holds one segment of a bucket of any size.  A row of a segment is an
`Indexed`; rows are stored in columns, at some four bytes per row.  A CRC-32C detects damage; the snapshot is then
rebuilt from the delay ledgers.  Bytes: proto/redis_ledger/v1/delay_bucket.proto.  Source: PIP-195, "bucket
snapshot"; requirements DD-22 and DD-23.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, groupby, repeat
from typing import Final

from crc32c import crc32c
from google.protobuf.message import DecodeError, Message

from redis_ledger.delay.entry import Indexed
from redis_ledger.delay.live_bitmap import LiveBitmap
from redis_ledger.ledger.column_codec import pack, unpack
from redis_ledger.proto.delay_bucket_pb2 import BucketMetadata, LedgerBitmap, Segment, SegmentMetadata

__all__ = [
    "VERSION",
    "DamagedSnapshot",
    "Metadata",
    "SegmentMetadata",
    "bitmaps",
    "cut",
    "decode_metadata",
    "decode_segment",
    "describe",
    "encode_metadata",
    "encode_segment",
    "is_full",
]

VERSION: Final = 1
_CRC_BYTES: Final = 4
_WIDTH: Final = len(Indexed._fields)


class DamagedSnapshot(Exception):
    """A snapshot of a sealed bucket, or a part of it, is missing or damaged.  Rebuild it from its delay ledgers."""


@dataclass(frozen=True)
class Metadata:
    """The metadata of all segments; see SegmentMetadata in the .proto."""

    first_ledger: int
    last_ledger: int
    segments: Sequence[SegmentMetadata]

    @cached_property
    def entries(self) -> LiveBitmap:
        """All entries of the bucket.  Cost: 0.2 µs per entry, once.  Raises DamagedSnapshot."""
        return LiveBitmap.union(bits for segment in self.segments for bits in bitmaps(segment).values())

    def contains(self, entry: int) -> bool:
        return self.entries.holds(entry)

    def alive(self, live: LiveBitmap) -> int:
        """The number of pending entries."""
        return self.entries.shared(live)


# -- cutting -----------------------------------------------------------------------------------------------------------


def is_full(rows: Sequence[Indexed], *, time_step_ms: int, indexes_max: int, indexes_min: int = 1) -> bool:
    """Whether the last row belongs to the next segment; rows in order.  indexes_max: -1 is no limit."""
    if 0 < indexes_max < len(rows):
        return True
    return rows[-1].due_ms - rows[0].due_ms >= time_step_ms and len(rows) > indexes_min


def cut(
    rows: Iterable[Indexed], *, time_step_ms: int, indexes_max: int, indexes_min: int = 1
) -> list[Sequence[Indexed]]:
    """Cuts ordered rows into segments: each spans less than time_step_ms unless it has at most indexes_min rows, and
    has at most indexes_max rows (-1: no limit)."""
    segments: list[Sequence[Indexed]] = []
    pending: list[Indexed] = []
    for row in rows:
        pending.append(row)
        if is_full(pending, time_step_ms=time_step_ms, indexes_max=indexes_max, indexes_min=indexes_min):
            segments.append(pending[:-1])
            pending = [row]
    return [*segments, pending] if pending else segments


# -- segments ----------------------------------------------------------------------------------------------------------


def encode_segment(rows: Sequence[Indexed]) -> bytes:
    """rows: at least one, by due time, entry and index.  Cost: 1 µs and some 4 bytes per row."""
    numbers = list(chain.from_iterable(rows))
    columns = [numbers[field::_WIDTH] for field in range(_WIDTH)]
    # Timestamps rise with the entries, so in that order the differences are small.
    columns[-1] = list(map(columns[-1].__getitem__, _by_entry(columns[1])))
    return _sealed(Segment(rows=pack(columns)))


def decode_segment(data: bytes) -> list[Indexed]:
    """Raises DamagedSnapshot.  Cost: 1 µs per row."""
    segment = Segment()
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
    return list(map(tuple.__new__, repeat(Indexed), rows))  # as Indexed._make, without a Python call per row


def _by_entry(entries: Sequence[int]) -> list[int]:
    """Positions in the order of their entries."""
    return sorted(range(len(entries)), key=entries.__getitem__)


# -- metadata ----------------------------------------------------------------------------------------------------------


def describe(rows: Sequence[Indexed], size: int) -> SegmentMetadata:
    """The metadata of a segment with these rows, of `size` bytes."""
    numbers = list(chain.from_iterable(rows))
    entries, indexes, ledgers, counts = (numbers[field::_WIDTH] for field in range(1, 5))
    ledger_of = dict(zip(entries, ledgers, strict=True))
    by_ledger: defaultdict[int, list[int]] = defaultdict(list)
    for ledger, group in groupby(sorted(ledger_of), key=ledger_of.__getitem__):
        by_ledger[ledger] += group
    return SegmentMetadata(
        min_due_ms=rows[0].due_ms,
        first_entry=rows[0].entry,
        max_due_ms=rows[-1].due_ms,
        entries=len(rows),
        # A row of a whole entry counts all its records, also those that were moved away.
        records=sum(1 if index >= 0 else count for index, count in zip(indexes, counts, strict=True)),
        size=size,
        bitmaps=[LedgerBitmap(ledger=ledger, entries=pack([held])) for ledger, held in by_ledger.items()],
    )


def bitmaps(segment: SegmentMetadata) -> dict[int, LiveBitmap]:
    """Ledger → its entries in the segment.  Raises DamagedSnapshot."""
    try:
        return {bitmap.ledger: LiveBitmap.of(*unpack(bitmap.entries)) for bitmap in segment.bitmaps}
    except ValueError as error:
        raise DamagedSnapshot(f"A bitmap cannot be read: {error}.") from None


def encode_metadata(first_ledger: int, last_ledger: int, segments: Sequence[SegmentMetadata]) -> bytes:
    return _sealed(
        BucketMetadata(version=VERSION, first_ledger=first_ledger, last_ledger=last_ledger, segments=segments)
    )


def decode_metadata(data: bytes) -> Metadata:
    """Raises DamagedSnapshot.  Bitmaps are decoded on access."""
    metadata = BucketMetadata()
    _open(data, metadata)
    if metadata.version != VERSION:
        raise DamagedSnapshot(f"A snapshot is of version {metadata.version}; this program reads version {VERSION}.")
    return Metadata(metadata.first_ledger, metadata.last_ledger, metadata.segments)


# -- bytes -------------------------------------------------------------------------------------------------------------


def _sealed(message: Message) -> bytes:
    data = message.SerializeToString()
    return data + crc32c(data).to_bytes(_CRC_BYTES, "little")


def _open(data: bytes, message: Message) -> None:
    """Reads the message from what _sealed made.  Raises DamagedSnapshot."""
    checksum, name = data[-_CRC_BYTES:], type(message).__name__
    if len(data) <= _CRC_BYTES or crc32c(data[:-_CRC_BYTES]).to_bytes(_CRC_BYTES, "little") != checksum:
        raise DamagedSnapshot(f"{name}: the checksum of its {len(data)} bytes is wrong.")
    try:
        message.ParseFromString(data[:-_CRC_BYTES])
    except DecodeError as error:
        raise DamagedSnapshot(f"{name}: its bytes cannot be decoded: {error}.") from None
