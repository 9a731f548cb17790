"""Converts Arrow batches to rows for writing."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

from redis_ledger.client.batches import Entry
from redis_ledger.client.deliveries import Delivery
from redis_ledger.errors import InvalidRequest
from redis_ledger.spark.accumulator import Row

if TYPE_CHECKING:
    import pyarrow as pa


def rows(batch: pa.RecordBatch, used: Sequence[str]) -> Iterator[Row]:
    """used: the columns to write.  Raises InvalidRequest for a time before 1970."""
    columns = {name: _READ[name](batch.column(batch.schema.get_field_index(name))) for name in used}
    nulls: Any = repeat(None)
    keys, values, headers = columns.get("key", nulls), columns["value"], columns.get("headers", nulls)
    topics, partitions = columns.get("topic", nulls), columns.get("partition", nulls)
    times = columns.get("timestamp", nulls)
    ats, afters = columns.get("deliver_at", nulls), columns.get("deliver_after", nulls)
    now_ms = time.time_ns() // 1_000_000
    for key, value, header, topic, partition, at, after, made_ms in zip(
        keys, values, headers, topics, partitions, ats, afters, times, strict=False
    ):
        delivery = None if at is None and after is None else _delivery(at, after)
        pairs = [(each["key"], each["value"]) for each in header] if header else ()
        timestamp_ms = now_ms if made_ms is None else made_ms
        yield Row(topic, partition, Entry(key, value, pairs, timestamp_ms, delivery))


def _delivery(at_ms: int | None, after_ms: int | None) -> Delivery:
    if (at_ms or 0) < 0 or (after_ms or 0) < 0:
        raise InvalidRequest("A row has a deliver_at before 1970 or a negative deliver_after; both must be 0 or later.")
    return Delivery(at_ms=at_ms, after_ms=after_ms)


def _bytes(column: pa.Array) -> Any:
    import pyarrow as pa
    import pyarrow.types as kinds

    if kinds.is_large_string(column.type):
        column = column.cast(pa.large_binary())
    elif kinds.is_string(column.type):
        column = column.cast(pa.binary())
    return column.to_pylist()


def _plain(column: pa.Array) -> Any:
    return column.to_pylist()


def _moments(column: pa.Array) -> Any:
    """In ms, rounded up, since no record is delivered early."""
    import pyarrow as pa

    if not pa.types.is_timestamp(column.type):
        return column.to_pylist()
    assert column.type.unit == "us", column.type
    return [None if us is None else -(-us // 1_000) for us in column.cast(pa.int64()).to_pylist()]


def _times(column: pa.Array) -> Any:
    import pyarrow as pa

    assert column.type.unit == "us", column.type
    return [None if us is None else us // 1_000 for us in column.cast(pa.int64()).to_pylist()]


_READ = {
    "key": _bytes, "value": _bytes, "headers": _plain, "topic": _plain, "partition": _plain, "deliver_at": _moments,
    "deliver_after": _plain, "timestamp": _times,
}  # fmt: skip
