"""From a batch to its records, by aiokafka's compiled reader, which must not be trusted with a stranger's bytes alone.

    length varint | attributes int8 | timestamp delta varlong | offset delta varint
                  | key length varint, key | value length varint, value          a length of -1 is null
                  | header count varint | name length varint, name, value length varint, value | ...

The reader looks a few bytes past its buffer when a varint is cut short, so the buffer we give it is the front part of a
longer one.  It takes any offset deltas; here they must count 0, 1, 2, so that no two records share an offset, or at
least ascend where the header says that there are gaps: in batches made of offloaded records.
Checksums are not looked at: `batch.check` did that when the batch came in.
Source: Kafka's protocol guide, "Record".
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, islice
from operator import attrgetter, eq, itemgetter, lt
from typing import NamedTuple, cast

from aiokafka.errors import CorruptRecordException

# The compiled class by its own name: `aiokafka.record.default_records` would quietly hand us the one in Python.
from aiokafka.record._crecords import DefaultRecordBatch

from redis_ledger.errors import CorruptBatch
from redis_ledger.records.batch import COMPRESSION_MASK, HEADER, HEADER_BYTES, Buffer, check_shape, read_header
from redis_ledger.records.compression import DECODED_BYTES_MAX, unpack

RECORD_BYTES_MIN = 7  # one byte for each field of a record without key, value and headers
_PAD = bytes(32)  # a varint ends at its first zero byte, and the reader checks its place after two of them


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
_offset = itemgetter(0)
_timestamp = cast("Callable[[Record], int | None]", itemgetter(1))  # None: the reader's word for -1


def decode(data: Buffer, *, decoded_bytes_max: int = DECODED_BYTES_MAX) -> list[Record]:
    """All records of one whole batch, data or control, with absolute offsets.  Raises CorruptBatch, or
    UnsupportedCompression."""
    batch, base_offset, count, has_gaps = _open(data, decoded_bytes_max)
    return _take_with_gaps(batch, data) if has_gaps else _take(batch, 0, None, base_offset, count)


def decode_steps(data: Buffer, step: int, *, decoded_bytes_max: int = DECODED_BYTES_MAX) -> Iterator[list[Record]]:
    """As `decode`, but at most `step` records at a time, with an end to the effort in between."""
    batch, base_offset, count, has_gaps = _open(data, decoded_bytes_max)
    if has_gaps:
        records = _take_with_gaps(batch, data)
        yield from (records[first : first + step] for first in range(0, count, step))
        return
    rest = chain(batch)  # the batch itself begins anew with every iterator
    for first in range(0, count, step):
        left = count - first
        yield _take(rest, 0, None if left <= step else step, base_offset + first, min(left, step))


def decode_range(
    data: Buffer, first_offset: int, last_offset: int, *, decoded_bytes_max: int = DECODED_BYTES_MAX
) -> list[Record]:
    """The records of one batch from first_offset to last_offset, both inclusive; those the batch lacks are left out.

    Decoding stops after the last one asked for, so damage behind it goes unseen.  Raises as `decode` does.
    """
    batch, base_offset, count, has_gaps = _open(data, decoded_bytes_max)
    if has_gaps:
        records = _take_with_gaps(batch, data)
        low = bisect_left(records, first_offset, key=_offset)
        return records[low : bisect_left(records, last_offset + 1, low, key=_offset)]
    first, end = max(0, first_offset - base_offset), min(count, last_offset - base_offset + 1)
    if first >= end:
        return []
    return _take(batch, first, None if end == count else end, base_offset + first, end - first)


def _open(data: Buffer, decoded_bytes_max: int) -> tuple[DefaultRecordBatch, int, int, bool]:
    """The reader, base offset and number of records, and whether there are gaps between their offsets."""
    header = read_header(data)
    if header.size != len(data):
        raise CorruptBatch(f"The batch says it is {header.size} bytes long, but {len(data)} were given.")
    check_shape(header)
    body: Buffer = memoryview(data)[HEADER_BYTES:]
    if header.compression:
        body = unpack(header.compression, memoryview(body), decoded_bytes_max)
        header = header._replace(attributes=header.attributes & ~COMPRESSION_MASK)
    if len(body) < header.count * RECORD_BYTES_MIN:
        raise CorruptBatch(f"The batch says it holds {header.count} records; {len(body)} bytes are too few for them.")
    padded = b"".join((HEADER.pack(*header), body, _PAD))
    view = memoryview(padded)[: -len(_PAD)]
    # The stub says bytes; the reader takes whatever lies in one piece.
    batch = DefaultRecordBatch(cast("bytes", view))
    return batch, header.base_offset, header.count, header.count <= header.last_offset_delta


def _take(batch: Iterable[object], first: int, end: int | None, first_offset: int, count: int) -> list[Record]:
    """Records first to end (None: to the batch's end, where the reader sees that nothing is left over)."""
    records = _records(batch, first, end)
    if len(records) != count or not all(map(eq, map(_offset, records), range(first_offset, first_offset + count))):
        raise CorruptBatch("The offset deltas of the batch's records do not count up from 0 one by one.")
    return _timed(records)


def _take_with_gaps(batch: Iterable[object], data: Buffer) -> list[Record]:
    """All records; their offsets ascend within what the header says."""
    records, header = _records(batch, 0, None), read_header(data)
    offsets = list(map(_offset, records))
    bounds = (header.base_offset - 1, *offsets, header.last_offset + 1)
    if len(records) != header.count or not all(map(lt, bounds, bounds[1:])):
        raise CorruptBatch("The offset deltas of the batch's records do not ascend up to the last one.")
    return _timed(records)


def _records(batch: Iterable[object], first: int, end: int | None) -> list[Record]:
    try:
        return list(map(_record, map(_fields, islice(batch, first, end))))
    # A key's length close to 2^63 passes the reader's own check and is refused by the allocator.
    except (CorruptRecordException, UnicodeDecodeError, MemoryError, OverflowError) as error:
        reason = (
            error.args[0] if isinstance(error, CorruptRecordException) else str(error) or "a length is beyond reason"
        )
        raise CorruptBatch(f"A record of the batch cannot be read: {reason}.") from None


def _timed(records: list[Record]) -> list[Record]:
    if None in map(_timestamp, records):
        return [r._replace(timestamp_ms=-1) if _timestamp(r) is None else r for r in records]
    return records
