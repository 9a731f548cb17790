"""Many records at once: from the bytes of a few batches to arrays, without a Python object for any record.

    body     size│attr│Δtime│Δoffset│size, key│size, value│headers    size│attr│Δtime│...        as in records/read.py
    walk     ───▶ start                                    end ─────▶ start                     one step a record
    fields   the n-th varint of all records together, one byte of it after the other            numpy
    arrays   ┆   key   ┆ ┆     value     ┆            ┆ key ┆ ┆ value ┆                         Arrow: the whole body as
             one array over the body; every fourth element is a key, every fourth a value       one array, then `take`

So a value is copied once, from the answer it came in to its column.  What does not add up is refused as damage, and
checksums are not looked at, as in records/read.py; headers are passed over here.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from redis_ledger.errors import CorruptBatch
from redis_ledger.records.batch import HEADER_BYTES, LOG_APPEND_TIME, check_shape
from redis_ledger.records.compression import unpack
from redis_ledger.spark.fetch import Chunk

Array: TypeAlias = Any  # of numpy, which .venv lacks

SIZE_BITS_MAX, FIELD_BITS_MAX = 35, 63  # where the last byte of a varint may begin, and of a varlong


class Body(NamedTuple):
    """The records of a chunk as they were before compression: a stretch of the data."""

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
    data = unpack(header.compression, memoryview(chunk.data)[begin:end], chunk.limits.decoded_bytes)
    return Body(chunk, data, 0, len(data))


class Fields(NamedTuple):
    """An element for each record, in offset order.

    chunk     which of the bodies it is from
    key_at, key_size, value_at, value_size   within data; a size of -1 is null
    headers   how many it has
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

    def keys(self) -> pa.Array:
        return _cut_out(self.data, self.key_at, self.key_size)

    def values(self) -> pa.Array:
        return _cut_out(self.data, self.value_at, self.value_size)


def fields(bodies: Sequence[Body]) -> Fields:
    """Those of their records that are meant.  Raises CorruptBatch."""
    try:
        read = _fields(_in_one_piece(bodies))
    except IndexError:
        raise _damage("reaches beyond its batch") from None
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
    """As they are where all came in one answer; else copied together."""
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
    at = np.array(starts, np.int64) + 1  # behind the attributes, which mean nothing
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
    return Fields(data, chunk, offset, times, key_at, key_size, value_at, value_size, header_count)


def _walk(data: bytes, at: int, end: int, count: int, starts: list[int], ends: list[int]) -> None:
    """Notes where each record begins, behind its size, and ends.  Every step of it counts: it is the only loop here."""
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
                    raise _damage("has a size that does not end")
                more = data[at]
                at += 1
                size = size & (1 << shift) - 1 | more << shift
        if size & 1:
            raise _damage("has a size below 0")
        note_start(at)
        at += size >> 1
        note_end(at)
    if at != end:
        raise _damage("ends elsewhere than its batch")


def _varints(octets: Array, at: Array) -> tuple[Array, Array]:
    """The signed numbers that begin at these places, and the places behind them."""
    byte = octets[at]
    value = (byte & 0x7F).astype(np.uint64)
    at = at + 1
    which = np.flatnonzero(byte & 0x80)
    shift = 7
    while len(which):
        if shift > FIELD_BITS_MAX:
            raise _damage("has a number that does not end")
        byte = octets[at[which]]
        value[which] |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
        at[which] += 1
        which = which[byte >= 0x80]
        shift += 7
    sign = (value & np.uint64(1)).astype(np.int64)
    return (value >> np.uint64(1)).astype(np.int64) ^ -sign, at


def _behind(at: Array, size: Array, most: int) -> Array:
    if (size < -1).any() or (size > most).any():  # also what would overflow
        raise _damage("has a key or value of no possible size")
    return at + np.maximum(size, 0)


def _check_ends(at: Array, ends: Array, header_count: Array) -> None:
    """at: behind the number of headers.  Headers fill what is left, and where there are none nothing is."""
    left = ends - at
    if (left < 0).any() or (header_count < 0).any() or ((left > 0) != (header_count > 0)).any():
        raise _damage("is longer or shorter than its fields")


def _check_deltas(delta: Array, chunk: Array, last: Array) -> None:
    """They rise within each batch from 0 or above to the last at most; no two records share an offset."""
    is_first = np.diff(chunk, prepend=-1) > 0
    steps = np.where(is_first, delta + 1, np.diff(delta, prepend=0))
    if (steps < 1).any() or (delta > last[chunk]).any():
        raise _damage("has an offset out of turn")


def _damage(what: str) -> CorruptBatch:
    return CorruptBatch(f"A record of the batch cannot be read: it {what}.")


def _cut_out(data: bytes, at: Array, size: Array) -> pa.Array:
    """These stretches of the data, in a column; at: ascending."""
    count = len(at)
    if not count:
        return pa.array([], pa.binary())
    borders = np.empty(2 * count, np.int32)  # of what is wanted, and of what lies between
    borders[0::2] = at
    borders[1::2] = at + np.maximum(size, 0)
    whole = pa.Array.from_buffers(pa.binary(), 2 * count - 1, [None, pa.py_buffer(borders), pa.py_buffer(data)])
    return whole.take(pa.array(np.arange(0, 2 * count, 2, np.int32), mask=size < 0))
