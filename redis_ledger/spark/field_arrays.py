"""Decodes many records at once: from the bytes of a few batches to arrays, without a Python object a record.

    body     size│attr│Δtime│Δoffset│size, key│size, value│headers    size│attr│Δtime│...        as in records/read.py
    walk     ───▶ start                                    end ─────▶ start                     one step a record
    fields   the n-th varint of all records together, one byte of it after the other            numpy
    arrays   ┆   key   ┆ ┆     value     ┆            ┆ key ┆ ┆ value ┆                         Arrow: the whole body as
             one array over the body; every fourth element is a key, every fourth a value       one array, then `take`

A value is copied once, from the response to its column.  Inconsistent lengths are refused as damage; checksums are not
verified, as in records/read.py.  Headers are decoded only for a query that has their column.

A batch of more than SLICE_BYTES is decoded in slices of records, so the slice bounds the memory: `slices` checks the
whole batch before any row of it is returned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from redis_ledger.errors import CorruptBatch, TooLargeToDecode
from redis_ledger.records.batch import HEADER_BYTES, LOG_APPEND_TIME, check_shape
from redis_ledger.records.budget import DEFAULT, Limits, too_large
from redis_ledger.records.compression import unpack
from redis_ledger.spark.fetch import Chunk

Array: TypeAlias = Any  # of numpy, which has no types in .venv

SLICE_BYTES = 8 << 20  # slice of a large batch
STEPS_MAX = 100  # headers of a record that are decoded for all records at once; further ones one by one
SIZE_BITS_MAX, FIELD_BITS_MAX = 35, 63  # greatest shift of the last byte of a varint, and of a varlong


class Body(NamedTuple):
    """The decompressed records of a chunk, within `data`."""

    chunk: Chunk
    data: bytes
    begin: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.begin


def unpacked(chunk: Chunk) -> Body:
    """Raises CorruptBatch, UnsupportedCompression, TooLargeToDecode."""
    header = chunk.header
    check_shape(header)
    begin, end = chunk.at + HEADER_BYTES, chunk.at + header.size
    if not header.compression:
        return Body(chunk, chunk.data, begin, end)
    data = _unpack(header.compression, memoryview(chunk.data)[begin:end], chunk.limits.decoded_bytes)
    return Body(chunk, data, 0, len(data))


def _unpack(compression: int, packed: memoryview, decoded_bytes_max: int) -> bytes:
    """Reserves the memory of a large bound only for a batch that needs it."""
    if decoded_bytes_max > DEFAULT.decoded_bytes:
        try:
            return unpack(compression, packed, DEFAULT.decoded_bytes)
        except TooLargeToDecode:
            pass
    return unpack(compression, packed, decoded_bytes_max)


def slices(body: Body) -> list[Body]:
    """Splits a body into slices of about SLICE_BYTES, or of one larger record.

    Checks all records and their number of headers.  Raises CorruptBatch, TooLargeToDecode.
    """
    try:
        cuts = list(_cuts(body))
        last, headers = -1, 0
        for each in cuts:
            read = _fields([each])
            if read.offset[0] <= last:
                raise _damage("has an offset out of order")
            last = int(read.offset[-1])
            headers += int(read.headers.sum())
            _check_counts(read.headers, headers, body.chunk.limits)
    except IndexError:
        raise _damage("extends beyond its batch") from None
    return cuts


def _cuts(body: Body) -> Iterator[Body]:
    """Each slice has a batch header with its number of records."""
    data, limit, at, begun, count = body.data, body.chunk.limits.record_bytes, body.begin, body.begin, 0
    for _ in range(body.chunk.header.count):
        size, end = _record_end(data, at)
        if size > limit:
            raise too_large("A record of the batch has more than {} bytes", "record_bytes", limit)
        if count and end - begun > SLICE_BYTES:
            yield _slice(body, begun, at, count)
            begun, count = at, 0
        at, count = end, count + 1
    if at != body.end:
        raise _damage("does not end where its batch ends")
    yield _slice(body, begun, at, count)


def _slice(body: Body, begin: int, end: int, count: int) -> Body:
    return Body(body.chunk._replace(header=body.chunk.header._replace(count=count)), body.data, begin, end)


def _record_end(data: bytes, at: int) -> tuple[int, int]:
    """Returns the size of the record at this position, and its end."""
    size, at = _varint(data, at, SIZE_BITS_MAX)
    if size < 0:
        raise _damage("has a size below 0")
    return size, at + size


def _varint(data: bytes, at: int, bits_max: int = FIELD_BITS_MAX) -> tuple[int, int]:
    raw = shift = 0
    while True:
        byte = data[at]
        at += 1
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (raw >> 1) ^ -(raw & 1), at
        shift += 7
        if shift > bits_max:
            raise _damage("has a varint without an end")


class Fields(NamedTuple):
    """One element a record, in offset order.

    chunk     index of its body
    key_at, key_size, value_at, value_size   within data; a size of -1 is null
    headers   number of headers
    header_at position of the first header
    end       end of the record
    """

    data: bytes
    chunk: Array
    offset: Array
    timestamp_ms: Array
    key_at: Array
    key_size: Array
    value_at: Array
    value_size: Array
    headers: Array
    header_at: Array
    end: Array

    def keys(self) -> pa.Array:
        return _cut_out(self.data, self.key_at, self.key_size)

    def values(self) -> pa.Array:
        return _cut_out(self.data, self.value_at, self.value_size)

    def header_lists(self, limits: Limits) -> pa.Array:
        """list<struct<key: string, value: binary>>; null if a record has no header.  Raises TooLargeToDecode, and as
        `fields`."""
        for chunk in np.unique(self.chunk):
            counts = self.headers[self.chunk == chunk]
            _check_counts(counts, int(counts.sum()), limits)
        try:
            columns = _headers(self)
        except IndexError:
            raise _damage("extends beyond its batch") from None
        name, value = (_cut_out(self.data, *column) for column in columns)
        try:
            name = name.cast(pa.string())
        except pa.ArrowInvalid:
            raise _damage("has a header whose name is not UTF-8") from None
        ends = np.cumsum(self.headers, dtype=np.int64)
        starts = pa.array(np.append(ends - self.headers, ends[-1:]).astype(np.int32), mask=_and_end(self.headers == 0))
        pairs = pa.StructArray.from_arrays([name, value], ["key", "value"])
        return pa.ListArray.from_arrays(starts, pairs)


def fields(bodies: Sequence[Body]) -> Fields:
    """Decodes the records of the bodies that are within range.  Raises CorruptBatch."""
    try:
        read = _fields(_in_one_piece(bodies))
    except IndexError:
        raise _damage("extends beyond its batch") from None
    chunks = [body.chunk for body in bodies]
    if all(chunk.is_whole for chunk in chunks):
        return read
    first, end = (np.array(column)[read.chunk] for column in zip(*((c.first, c.end) for c in chunks), strict=True))
    kept = (read.offset >= first) & (read.offset < end)
    bounds = chunks[0].bounds
    if bounds.looks_at_time:
        kept &= (read.timestamp_ms >= bounds.from_ms) & (read.timestamp_ms < bounds.until_ms)
    return Fields(read.data, *(column[kept] for column in read[1:]))


def _in_one_piece(bodies: Sequence[Body]) -> Sequence[Body]:
    """Returns the bodies unchanged if all are in one response; else copies them into one."""
    data = bodies[0].data
    if all(body.data is data for body in bodies):
        return bodies
    data = b"".join(memoryview(body.data)[body.begin : body.end] for body in bodies)
    ends = list(accumulate(body.size for body in bodies))
    return [Body(body.chunk, data, end - body.size, end) for body, end in zip(bodies, ends, strict=True)]


def _fields(bodies: Sequence[Body]) -> Fields:
    data, headers = bodies[0].data, [body.chunk.header for body in bodies]
    starts: list[int] = []
    ends: list[int] = []
    for body, header in zip(bodies, headers, strict=True):
        _walk(data, body.begin, body.end, header.count, starts, ends)
    octets = np.frombuffer(data, np.uint8)
    at = np.array(starts, np.int64) + 1  # after the attributes, which are unused
    time_delta, at = _varints(octets, at)
    offset_delta, at = _varints(octets, at)
    key_size, key_at = _varints(octets, at)
    value_size, value_at = _varints(octets, _behind(key_at, key_size, len(data)))
    header_count, at = _varints(octets, _behind(value_at, value_size, len(data)))
    _check_ends(at, np.array(ends, np.int64), header_count)
    chunk = np.repeat(np.arange(len(headers)), [header.count for header in headers])
    _check_deltas(offset_delta, chunk, np.array([header.last_offset_delta for header in headers]))
    offset = np.array([header.base_offset for header in headers])[chunk] + offset_delta
    times = np.array([header.base_timestamp for header in headers])[chunk] + time_delta
    if any(header.attributes & LOG_APPEND_TIME for header in headers):
        is_appended = np.array([bool(header.attributes & LOG_APPEND_TIME) for header in headers])[chunk]
        times = np.where(is_appended, np.array([header.max_timestamp for header in headers])[chunk], times)
    return Fields(data, chunk, offset, times, key_at, key_size, value_at, value_size, header_count, at, np.array(ends))


def _headers(read: Fields) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Positions and sizes of all names, and of all values.  Decodes the n-th header of all records together."""
    octets, most = np.frombuffer(read.data, np.uint8), len(read.data)
    first = np.cumsum(read.headers) - read.headers
    name_at, name_size, value_at, value_size = (np.empty(int(read.headers.sum()), np.int64) for _ in range(4))
    which = np.flatnonzero(read.headers)
    at, number = read.header_at[which], 0
    while len(which) and number < STEPS_MAX:
        place = first[which] + number
        name_size[place], name_at[place] = size, at = _varints(octets, at)
        if (size < 0).any():
            raise _damage("has a header without a name")
        value_size[place], value_at[place] = size, at = _varints(octets, _behind(at, size, most))
        at, number = _behind(at, size, most), number + 1
        goes_on = read.headers[which] > number
        if (at[~goes_on] != read.end[which[~goes_on]]).any() or (at > read.end[which]).any():
            raise _damage("is longer or shorter than its headers")
        which, at = which[goes_on], at[goes_on]
    for record, begin in zip(which.tolist(), at.tolist(), strict=True):
        _long_headers(read, record, begin, int(first[record]), number, (name_at, name_size, value_at, value_size))
    return (name_at, name_size), (value_at, value_size)


def _long_headers(read: Fields, record: int, at: int, first: int, number: int, columns: tuple[Array, ...]) -> None:
    """Decodes the headers of one record, starting with this number."""
    end = int(read.end[record])
    for place in range(first + number, first + int(read.headers[record])):
        for at_column, size_column in (columns[:2], columns[2:]):
            size, at = _varint(read.data, at)
            at_column[place], size_column[place] = at, size
            at += max(size, 0)
            if at > end or size < -1 or (size < 0 and at_column is columns[0]):
                raise _damage("is longer or shorter than its headers")
    if at != end:
        raise _damage("is longer or shorter than its headers")


def _check_counts(counts: Array, total: int, limits: Limits) -> None:
    """counts: headers of each record.  total: of the batch so far."""
    if len(counts) and counts.max() > limits.record_headers:
        raise too_large("A record of the batch has more than {} headers", "record_headers_max", limits.record_headers)
    if total > limits.headers:
        raise too_large("The batch has more than {} headers", "headers_max", limits.headers)


def _and_end(is_null: Array) -> Array:
    """For the offsets of a list array, which have one more element than there are lists."""
    return np.append(is_null, np.False_)


def _walk(data: bytes, at: int, end: int, count: int, starts: list[int], ends: list[int]) -> None:
    """Appends the start of each record, after its size, and its end.  The only loop over records, so keep it fast."""
    note_start, note_end = starts.append, ends.append
    for _ in range(count):
        size = data[at]
        at += 1
        if size >= 0x80:
            more = data[at]
            at += 1
            size = size & 0x7F | more << 7
            shift = 7
            while more >= 0x80:
                shift += 7
                if shift > SIZE_BITS_MAX:
                    raise _damage("has a size without an end")
                more = data[at]
                at += 1
                size = size & (1 << shift) - 1 | more << shift
        if size & 1:
            raise _damage("has a size below 0")
        note_start(at)
        at += size >> 1
        note_end(at)
    if at != end:
        raise _damage("does not end where its batch ends")


def _varints(octets: Array, at: Array) -> tuple[Array, Array]:
    """Returns the signed varints at these positions, and the positions after them."""
    byte = octets[at]
    value = (byte & 0x7F).astype(np.uint64)
    at = at + 1
    which = np.flatnonzero(byte & 0x80)
    shift = 7
    while len(which):
        if shift > FIELD_BITS_MAX:
            raise _damage("has a varint without an end")
        byte = octets[at[which]]
        value[which] |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
        at[which] += 1
        which = which[byte >= 0x80]
        shift += 7
    sign = (value & np.uint64(1)).astype(np.int64)
    return (value >> np.uint64(1)).astype(np.int64) ^ -sign, at


def _behind(at: Array, size: Array, most: int) -> Array:
    if (size < -1).any() or (size > most).any():  # also excludes overflow
        raise _damage("has an invalid size of a key or value")
    return at + np.maximum(size, 0)


def _check_ends(at: Array, ends: Array, header_count: Array) -> None:
    """at: after the number of headers.  Headers fill the rest of the record; without headers the rest is empty."""
    left = ends - at
    if (left < 0).any() or (header_count < 0).any() or ((left > 0) != (header_count > 0)).any():
        raise _damage("is longer or shorter than its fields")


def _check_deltas(delta: Array, chunk: Array, last: Array) -> None:
    """Deltas rise within each batch, from 0 or more to the last at most; offsets are unique."""
    is_first = np.diff(chunk, prepend=-1) > 0
    steps = np.where(is_first, delta + 1, np.diff(delta, prepend=0))
    if (steps < 1).any() or (delta > last[chunk]).any():
        raise _damage("has an offset out of order")


def _damage(what: str) -> CorruptBatch:
    return CorruptBatch(f"A record of the batch cannot be decoded: it {what}.")


def _cut_out(data: bytes, at: Array, size: Array) -> pa.Array:
    """Returns these ranges of the data as a column; at: ascending."""
    count = len(at)
    if not count:
        return pa.array([], pa.binary())
    borders = np.empty(2 * count, np.int32)  # alternately of a wanted range and of the gap after it
    borders[0::2] = at
    borders[1::2] = at + np.maximum(size, 0)
    whole = pa.Array.from_buffers(pa.binary(), 2 * count - 1, [None, pa.py_buffer(borders), pa.py_buffer(data)])
    return whole.take(pa.array(np.arange(0, 2 * count, 2, np.int32), mask=size < 0))
