"""Decodes a batch into records with aiokafka's compiled reader, guarded against malformed input.

    length varint | attributes int8 | timestamp delta varlong | offset delta varint
                  | key length varint, key | value length varint, value          a length of -1 is null
                  | header count varint | name length varint, name, value length varint, value | ...

The reader looks a few bytes past its buffer when a varint is cut short, so the buffer we give it is the front part of a
longer one.  It takes any offset deltas; here they must count 0, 1, 2, so that no two records share an offset, or at
least ascend where the header says that there are gaps: in batches made of offloaded records.

It also makes an object of each header, and two bytes are a header.  So a batch of more than WALKED_FROM_BYTES is walked
from record to record first, and of a record that is large the number of its headers is read before the reader gets it.
Records are read a slice at a time, and their headers counted after each slice (budget.py).
Checksums are not verified: `batch.check` did that when the batch arrived.
Source: Kafka's protocol guide, "Record".
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, islice
from operator import attrgetter, itemgetter, lt
from typing import NamedTuple, cast

from aiokafka.errors import CorruptRecordException

# The compiled class by its own name: `aiokafka.record.default_records` would quietly hand us the one in Python.
from aiokafka.record._crecords import DefaultRecordBatch

from redis_ledger.errors import CorruptBatch
from redis_ledger.records.batch import (
    COMPRESSION_MASK,
    HEADER,
    HEADER_BYTES,
    BatchHeader,
    Buffer,
    check_count,
    check_shape,
    read_header,
)
from redis_ledger.records.budget import DEFAULT, Limits, too_large
from redis_ledger.records.compression import unpack_between
from redis_ledger.records.walk import SLICE_RECORDS, slices

HEADER_BYTES_MIN = 2  # of one header of a record: two lengths
WALKED_FROM_BYTES = 128 << 10  # so many bytes hold 65 000 headers at most: 10 ms and 6 MB
# A key's length close to 2^63 passes the reader's own check and is refused by the allocator.
_FAILURES = (CorruptRecordException, UnicodeDecodeError, MemoryError, OverflowError)
OFFSET_MAX = (1 << 63) - 1
PAD_BYTES = 32
_PAD = bytes(PAD_BYTES)  # a varint ends at its first zero byte, and the reader checks its place after two of them


class Record(NamedTuple):
    """timestamp_ms: -1 where the producer gave none."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


# Names and order as in Record; with tuple.__new__ the whole way from the reader to a Record stays in C.
_fields = attrgetter("offset", "timestamp", "key", "value", "headers")
_record = cast("Callable[[object], Record]", partial(tuple.__new__, Record))
_read_offset = attrgetter("offset")
_offset = itemgetter(0)
_timestamp = cast("Callable[[Record], int | None]", itemgetter(1))  # None: the reader's word for -1
_headers = cast("Callable[[Record], list[object]]", itemgetter(4))


class Unread:
    """A batch that is unpacked, with what is known of it before its records are read.

    body_bytes     of its records, unpacked
    headers        counted so far: of the slices that were read
    """

    __slots__ = ("_cuts", "_limits", "_reader", "body_bytes", "header", "headers")

    def __init__(self, data: Buffer, limits: Limits = DEFAULT) -> None:
        """Raises CorruptBatch, UnsupportedCompression, TooLargeToDecode."""
        header = read_header(data)
        if header.size != len(data):
            raise CorruptBatch(f"The batch says it is {header.size} bytes long, but {len(data)} were given.")
        check_shape(header)
        body, whole = memoryview(data)[HEADER_BYTES:], None
        if header.compression:
            room = unpack_between(header.compression, body, limits.decoded_bytes, HEADER_BYTES, PAD_BYTES)
            header = header._replace(attributes=header.attributes & ~COMPRESSION_MASK)
            HEADER.pack_into(room, 0, *header)
            whole = memoryview(room)[:-PAD_BYTES]
            body = whole[HEADER_BYTES:]
        count, size = header.count, len(body)
        if size > limits.decoded_bytes:
            raise too_large("The batch's records are more than {} bytes", "batch_decoded_bytes_max",
                            limits.decoded_bytes)  # fmt: skip
        check_count(header, size)
        self.header, self.body_bytes, self.headers, self._limits = header, size, 0, limits
        self._cuts = None if size <= WALKED_FROM_BYTES else slices(body, count, limits, WALKED_FROM_BYTES)
        if whole is None:
            whole = memoryview(b"".join((data, _PAD)))[:-PAD_BYTES]
        # The stub says bytes; the reader takes whatever lies in one piece.
        self._reader = DefaultRecordBatch(cast("bytes", whole))

    @property
    def has_gaps(self) -> bool:
        """Between the offsets of its records."""
        return self.header.count <= self.header.last_offset_delta

    @property
    def is_small(self) -> bool:
        """True if it is read in one slice."""
        return self._cuts is None and self.header.count <= SLICE_RECORDS

    def slices(self) -> Iterator[list[Record]]:
        """All records, a slice at a time, with absolute offsets.  Raises CorruptBatch, TooLargeToDecode."""
        rest, left = chain(self._reader), self.header.count  # the batch itself begins anew with every iterator
        at, has_gaps = self.header.base_offset, self.has_gaps
        for wanted in self._cuts or _evenly(left):
            left -= wanted
            records = self._checked(_read(rest, 0, wanted if left else None), at, wanted, has_gaps)
            at = records[-1].offset + 1
            yield records

    def all(self) -> list[Record]:
        """All records at once."""
        header, count = self.header, self.header.count
        if self._cuts is None and count <= SLICE_RECORDS and count > header.last_offset_delta:
            return self._counting(self._reader, 0, None, count)
        found: list[Record] = []
        for records in self.slices():
            found += records
        return found

    def between(self, first_offset: int, last_offset: int) -> list[Record]:
        """Those from first_offset to last_offset, both inclusive.

        A small batch is read only up to last_offset, so damage after it is not detected.
        """
        base_offset, count = self.header.base_offset, self.header.count
        if self._cuts is not None or self.has_gaps:
            return within(self.all(), first_offset, last_offset)
        first, end = max(0, first_offset - base_offset), min(count, last_offset - base_offset + 1)
        if first >= end:
            return []
        return self._counting(self._reader, first, None if end == count else end, end - first)

    def check(self) -> None:
        """Raises CorruptBatch if the records cannot be read."""
        _check(self._reader, self.header)

    def _counting(self, reader: Iterable[object], first: int, end: int | None, count: int) -> list[Record]:
        """Records first to end (None: to the batch's end, where the reader sees that nothing is left over)."""
        return self._checked(_read(reader, first, end), self.header.base_offset + first, count, False)

    def _checked(self, records: list[Record], at: int, count: int, has_gaps: bool) -> list[Record]:
        """at: the least offset that the first may have."""
        offsets = list(map(_offset, records))
        if has_gaps:
            bounds = (at - 1, *offsets, self.header.last_offset + 1)
            if len(records) != count or not all(map(lt, bounds, bounds[1:])):
                raise CorruptBatch("The offset deltas of the batch's records do not ascend up to the last one.")
        elif offsets != list(range(at, at + count)):
            raise _counted()
        self._count(records)
        return _timed(records)

    def _count(self, records: list[Record]) -> None:
        if any(map(_headers, records)):
            counts = list(map(len, map(_headers, records)))
            self.headers += sum(counts)
            if max(counts) > self._limits.record_headers:
                raise too_large("A record of the batch has more than {} headers", "record_headers_max",
                                self._limits.record_headers)  # fmt: skip
            if self.headers > self._limits.headers:
                raise too_large("The batch has more than {} headers", "headers_max", self._limits.headers)


def decode(data: Buffer, limits: Limits = DEFAULT) -> list[Record]:
    """All records of one whole batch, data or control, with absolute offsets.  Raises CorruptBatch,
    UnsupportedCompression or TooLargeToDecode."""
    return Unread(data, limits).all()


def decode_range(data: Buffer, first_offset: int, last_offset: int, limits: Limits = DEFAULT) -> list[Record]:
    """The records of one batch from first_offset to last_offset, both inclusive; those the batch lacks are left out.
    Raises as `decode` does."""
    return Unread(data, limits).between(first_offset, last_offset)


def check_records(header: BatchHeader, data: Buffer, limits: Limits = DEFAULT) -> None:
    """Raises CorruptBatch if the records cannot be read, and TooLargeToDecode before they are read.

    data: one whole batch; header: its checked header.  No records are made: it takes a third of the time of `decode`.
    A header name that is not UTF-8 passes, as in Kafka; the records behind it are not checked then.
    """
    if header.compression or len(data) > WALKED_FROM_BYTES:
        Unread(data, limits).check()
    else:
        _check(DefaultRecordBatch(cast("bytes", memoryview(b"".join((data, _PAD)))[:-PAD_BYTES])), header)


def within(records: list[Record], first_offset: int, last_offset: int) -> list[Record]:
    """Of records in the order of their offsets."""
    if records:
        if first_offset <= records[0].offset and records[-1].offset <= last_offset:
            return records
        low, high = first_offset - records[0].offset, last_offset - records[0].offset
        if 0 <= low <= high < len(records) and records[high].offset == last_offset:  # none is missing up to there
            return records[low : high + 1]
    low = bisect_left(records, first_offset, key=_offset)
    return records[low : bisect_left(records, last_offset + 1, low, key=_offset)]


def _evenly(count: int) -> Iterable[int]:
    if count <= SLICE_RECORDS:
        return (count,)
    return (min(SLICE_RECORDS, count - first) for first in range(0, count, SLICE_RECORDS))


def _check(reader: Iterable[object], header: BatchHeader) -> None:
    first = header.base_offset
    try:
        if list(map(_read_offset, reader)) != list(range(first, first + header.count)):
            raise _counted()
    except UnicodeDecodeError:
        return
    except _FAILURES as error:
        raise _unreadable(error) from None


def _read(batch: Iterable[object], first: int, end: int | None) -> list[Record]:
    try:
        return list(map(_record, map(_fields, islice(batch, first, end))))
    except _FAILURES as error:
        raise _unreadable(error) from None


def _unreadable(error: Exception) -> CorruptBatch:
    reason = error.args[0] if isinstance(error, CorruptRecordException) else str(error) or "a length is beyond reason"
    return CorruptBatch(f"A record of the batch cannot be read: {reason}.")


def _counted() -> CorruptBatch:
    return CorruptBatch("The offset deltas of the batch's records do not count up from 0 one by one.")


def _timed(records: list[Record]) -> list[Record]:
    if None in map(_timestamp, records):
        return [r._replace(timestamp_ms=-1) if _timestamp(r) is None else r for r in records]
    return records
