"""Records from columns: Arrow lays out all records of a batch at once, in C++, without an object for any of them.

    time delta   offset delta   key   value   headers      one row of Arrow
        └────────────┴───────────┴──────┴────────┴─ joined ─▶ length | 0 | Δtime | Δoffset | key | value | headers
                                      rows side by side are the body of a batch; `batch_of` puts its header before it

Needs pyarrow, which a broker may be without: it imports this only where it has what Arrow has read.
Source: Kafka's protocol guide, "Record Batch" and "Record".
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from crc32c import crc32c

from redis_ledger.records.batch import HEADER_BYTES, LENGTH_END, MAGIC, Buffer

_HEAD = struct.Struct(">qiibI")  # base offset .. CRC
_TAIL = struct.Struct(">hiqqqhii")  # attributes .. count
_NO_ATTRIBUTES, _NO_HEADERS = b"\x00", b"\x00"


def records(key: Any, value: Any, headers: Any, time_deltas: Any, offset_deltas: Any) -> tuple[Any, memoryview]:
    """Where each record begins, the end besides, and the bytes of all, side by side.

    key, value: of binary, nulls allowed.  headers: of list<struct<key: string, value: binary>>, or None for no headers.
    Cost: about 1 µs a record, and what copying takes.
    """
    parts = [
        pa.scalar(_NO_ATTRIBUTES, pa.binary()),
        _varints(time_deltas),
        _varints(offset_deltas),
        _varints(_length(key)), key, _varints(_length(value)), value,
        _headers(headers),
    ]  # fmt: skip
    lengths = [pc.binary_length(part) for part in parts]
    total = lengths[0]
    for length in lengths[1:]:
        total = pc.add(total, pc.fill_null(length, 0))
    laid_out = _joined([_varints(total), *parts])
    assert laid_out.offset == 0, laid_out.offset
    _, starts, body = laid_out.buffers()
    return memoryview(starts).cast("i"), memoryview(body)


def batch_of(
    body: Buffer, *, attributes: int, last_offset_delta: int, base_ms: int, newest_ms: int, count: int,
    producer: tuple[int, int, int] = (-1, -1, -1),
) -> bytes:  # fmt: skip
    """The batch whose records these are, at rest: its own base offset is 0.  producer: id, epoch, sequence."""
    tail = _TAIL.pack(attributes, last_offset_delta, base_ms, newest_ms, *producer, count)
    crc = crc32c(body, crc32c(tail))
    head = _HEAD.pack(0, HEADER_BYTES + len(body) - LENGTH_END, 0, MAGIC, crc)
    return b"".join((head, tail, body))


def _headers(headers: Any) -> Any:
    if headers is None or headers.null_count == len(headers):
        return pa.scalar(_NO_HEADERS, pa.binary())
    names, values = headers.flatten().flatten()
    names = names.cast(pa.binary())
    each = _joined([_varints(_length(names)), names, _varints(_length(values)), values])
    counts = pc.fill_null(pc.list_value_length(headers), 0)
    ends = pc.cumulative_sum(counts)
    starts = pa.concat_arrays([pa.array([0], ends.type), ends])
    return _joined([_varints(counts), pc.binary_join(pa.ListArray.from_arrays(starts, each), b"")])


def _joined(parts: list[Any]) -> Any:
    return pc.binary_join_element_wise(*parts, b"", null_handling="replace", null_replacement=b"")


def _length(column: Any) -> Any:
    return pc.fill_null(pc.binary_length(column), -1)


def _varints(numbers: Any) -> Any:
    """Each as a record has it.  They repeat a lot, so each is made once."""
    encoded = numbers.dictionary_encode()
    return pa.array(map(_varint, encoded.dictionary.to_pylist()), pa.binary()).take(encoded.indices)


@lru_cache(65_536)
def _varint(number: int) -> bytes:
    left = number << 1 if number >= 0 else ~(number << 1)
    out = bytearray()
    while left >= 0x80:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)
