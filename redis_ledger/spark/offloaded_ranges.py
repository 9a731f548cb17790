"""Reads an offloaded range: row groups of its files, cut to the range, column by column.

    file    ┌ group ┬ group ┬ group ┐      only groups that overlap the range, and of these
            │       │ ▒▒▒▒▒ │ ▒▒    │      only the columns of the query; no record becomes a Python object
                      ╰ range ╯

Executors open the object store themselves.  If one cannot, or a file was replaced by a compacted one, it reads the rest
of the range from a broker.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from redis_ledger.errors import InvalidRequest, OffloadedUnavailable
from redis_ledger.offload.manifest import Segment
from redis_ledger.spark.fetch import Task, chunks
from redis_ledger.spark.filters import Bounds
from redis_ledger.spark.rows import arrow_batches, positions

if TYPE_CHECKING:
    import pyarrow as pa

_log = logging.getLogger("redis_ledger.spark")

# The file's columns for each of ours; topic and partition are known, and offset is always read.
_MADE_OF = {"position": "offset", "topic": "offset", "partition": "offset"}


def segment_filter(bounds: Bounds) -> Callable[[Segment], bool]:
    """Whether a segment may hold a record that passes the filters."""
    return lambda segment: segment.max_ms >= bounds.from_ms and segment.min_ms < bounds.until_ms


def read(schema: pa.Schema, task: Task) -> Iterator[pa.RecordBatch]:
    """Yields the records of the task, in offset order.  schema: the columns to return, as pyspark translates them."""
    at = task.range.first
    try:
        for batch in _batches(schema.names, task):
            at = batch.column("offset")[-1].as_py() + 1
            kept = _timely(batch, task.bounds)
            if kept.num_rows:
                yield to_schema(schema, task, kept)
    except (OffloadedUnavailable, InvalidRequest) as error:
        _log.warning(
            "reading offsets %d to %d of %s from a broker: %s", at, task.range.end, task.range.partition, error
        )
        live = task.live_from(at)
        part, fails = live.range.partition, live.fail_on_data_loss
        yield from arrow_batches(schema, part, chunks(live), fail_on_data_loss=fails)


def _batches(names: Sequence[str], task: Task) -> Iterator[pa.RecordBatch]:
    from redis_ledger.offload.segment import open_home, read_groups

    home, columns = open_home(task.range.home), columns_for(names, task.bounds)
    for segment in task.range.segments:
        yield from read_groups(home, segment, task.range.first, task.range.end, columns)


def columns_for(names: Sequence[str], bounds: Bounds) -> list[str]:
    """Returns the columns of the file for these columns of the query."""
    read_up_to = ["offset", *(["timestamp"] if bounds.looks_at_time else [])]
    return list(dict.fromkeys([*read_up_to, *(_MADE_OF.get(name, name) for name in names)]))


def _timely(batch: pa.RecordBatch, bounds: Bounds) -> pa.RecordBatch:
    if not bounds.looks_at_time:
        return batch
    import pyarrow as pa
    import pyarrow.compute as pc

    times = batch.column("timestamp").cast(pa.int64())
    return batch.filter(pc.and_(pc.greater_equal(times, bounds.from_ms), pc.less(times, bounds.until_ms)))


def to_schema(schema: pa.Schema, task: Task, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Returns rows of a file with the schema that Spark expects."""
    import pyarrow as pa

    arrays = [_column(field.name, field.type, task, batch) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _column(name: str, kind: Any, task: Task, batch: pa.RecordBatch) -> Any:
    import pyarrow as pa

    partition = task.range.partition
    if name in ("topic", "partition"):
        return pa.repeat(pa.scalar(getattr(partition, name), kind), batch.num_rows)
    if name == "position":
        return positions(partition, batch.column("offset"), kind)
    return batch.column(name).cast(kind)
