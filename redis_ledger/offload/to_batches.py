"""Converts rows of a segment back to record batches, for readers of Kafka's format.

    offset  timestamp  key  value  headers      rows of a group, in Arrow
      └────────┴───────┴─────┴──────┴──▶ records, laid out together (records/columns) ─▶ cut into batches

Arrow does it in C++ without holding Python's lock.  The transactions have ended, so a batch has no producer id.  A
missing offset (aborted, a marker, compacted away) is a gap between deltas, as in a compacted topic of Kafka.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from redis_ledger.records.batch import LOG_APPEND_TIME
from redis_ledger.records.columns import records
from redis_ledger.records.layout import batch_of

COLUMNS = ("offset", "timestamp", "timestampType", "key", "value", "headers")
RECORDS_MAX, BYTES_MAX = 1_000, 128 << 10  # per batch; small batches fill a response of limited size better


class RebuiltBatch(NamedTuple):
    """payload: a stored batch, whose own base offset is 0.  newest_ms: greatest timestamp of its records."""

    base_offset: int
    last_offset: int
    newest_ms: int
    payload: bytes


def rebuild(rows: Any) -> list[RebuiltBatch]:
    """Returns all rows of a RecordBatch with COLUMNS, ascending by offset, as batches of about BYTES_MAX.

    Cost: about 1 µs a row, and the copying.
    """
    if not rows.num_rows:
        return []
    offsets, times = rows.column("offset"), rows.column("timestamp").cast(pa.int64())
    cuts = list(_cuts(rows, offsets, times))
    bases = pa.concat_arrays([_repeated(offsets[first].as_py(), end - first) for first, end in cuts])
    from_ms = pa.concat_arrays([_repeated(times[first].as_py(), end - first) for first, end in cuts])
    key, value, headers = (rows.column(name) for name in ("key", "value", "headers"))
    starts, body = records(key, value, headers, pc.subtract(times, from_ms), pc.subtract(offsets, bases))
    types = rows.column("timestampType")
    found = []
    for first, end in cuts:
        base, last = offsets[first].as_py(), offsets[end - 1].as_py()
        newest = pc.max(times.slice(first, end - first)).as_py()
        attributes = LOG_APPEND_TIME if types[first].as_py() else 0
        payload = batch_of(
            body[starts[first] : starts[end]], attributes=attributes, last_offset_delta=last - base,
            base_ms=times[first].as_py(), newest_ms=newest, count=end - first,
        )  # fmt: skip
        found.append(RebuiltBatch(base, last, newest, payload))
    return found


def _cuts(rows: Any, offsets: Any, times: Any) -> Iterator[tuple[int, int]]:
    """First row and end of each batch.  Records with the broker's timestamp share a batch only if it is the same."""
    count = rows.num_rows
    step = max(1, min(RECORDS_MAX, count * BYTES_MAX // max(1, rows.nbytes)))
    edges = set(range(0, count, step)) | {count}
    types = rows.column("timestampType")
    if pc.max(types).as_py():
        stamped = list(zip(types.to_pylist(), times.to_pylist(), strict=True))
        edges |= {
            at for at, (one, other) in enumerate(pairwise(stamped), 1)
            if one[0] != other[0] or (one[0] and one != other)
        }  # fmt: skip
    ordered = sorted(edges)
    for first, end in pairwise(ordered):
        yield from _fitting(offsets, first, end)


def _fitting(offsets: Any, first: int, end: int) -> Iterator[tuple[int, int]]:
    """Halves a batch whose offsets do not fit into a 31-bit delta."""
    if offsets[end - 1].as_py() - offsets[first].as_py() < 1 << 31:
        yield first, end
    else:
        middle = (first + end) // 2
        yield from _fitting(offsets, first, middle)
        yield from _fitting(offsets, middle, end)


def _repeated(number: int, count: int) -> Any:
    return pa.repeat(pa.scalar(number, pa.int64()), count)
