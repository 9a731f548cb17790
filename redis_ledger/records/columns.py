"""Encodes records from columns: Arrow builds all records of a batch at once, in C++, without Python objects.

    time delta   offset delta   key   value   headers      one row of Arrow
        └────────────┴───────────┴──────┴────────┴─ joined ─▶ length | 0 | Δtime | Δoffset | key | value | headers
                                      rows side by side are the body of a batch; `layout.batch_of` puts its header there

Needs pyarrow, which a broker may be without: it imports this only where it has what Arrow has read.
Source: Kafka's protocol guide, "Record Batch" and "Record".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from redis_ledger.records.layout import varint

_NO_ATTRIBUTES, _NO_HEADERS = b"\x00", b"\x00"


def records(key: Any, value: Any, headers: Any, time_deltas: Any, offset_deltas: Any) -> tuple[Any, memoryview]:
    """The start of each record and the end of the last one, and the concatenated bytes.

    key, value: of binary, nulls allowed.  headers: of list<struct<key: string, value: binary>>, or None for no headers.
    Cost: about 1 µs a record, and what copying takes.
    """
    parts = [
        pa.scalar(_NO_ATTRIBUTES, pa.binary()),
        _varints(time_deltas),
        _varints(offset_deltas),
        _varints(length(key)), key, _varints(length(value)), value,
        _headers(headers),
    ]  # fmt: skip
    lengths = [pc.binary_length(part) for part in parts]
    total = lengths[0]
    for each in lengths[1:]:
        total = pc.add(total, pc.fill_null(each, 0))
    laid_out = joined([_varints(total), *parts])
    assert laid_out.offset == 0, laid_out.offset
    _, starts, body = laid_out.buffers()
    return memoryview(starts).cast("i"), memoryview(body)


def joined(parts: list[Any]) -> Any:
    """Columns of binary side by side, row by row; a null is nothing."""
    return pc.binary_join_element_wise(*parts, b"", null_handling="replace", null_replacement=b"")


def length(column: Any) -> Any:
    """-1 for a null."""
    return pc.fill_null(pc.binary_length(column), -1)


def counts(headers: Any) -> Any:
    """The number of headers of each record."""
    return pc.fill_null(pc.list_value_length(headers), 0)


def headers_of(headers: Any, number: Callable[[Any], Any]) -> Any:
    """All headers of each record in a row: length, name, length, value.  number: how lengths are written."""
    names, values = headers.flatten().flatten()
    names = names.cast(pa.binary())
    each = joined([number(length(names)), names, number(length(values)), values])
    ends = pc.cumulative_sum(counts(headers))
    starts = pa.concat_arrays([pa.array([0], ends.type), ends])
    return pc.binary_join(pa.ListArray.from_arrays(starts, each), b"")


def _headers(headers: Any) -> Any:
    if headers is None or headers.null_count == len(headers):
        return pa.scalar(_NO_HEADERS, pa.binary())
    return joined([_varints(counts(headers)), headers_of(headers, _varints)])


def _varints(numbers: Any) -> Any:
    """Each as a record has it.  They repeat a lot, so each is made once."""
    encoded = numbers.dictionary_encode()
    return pa.array(map(varint, encoded.dictionary.to_pylist()), pa.binary()).take(encoded.indices)
