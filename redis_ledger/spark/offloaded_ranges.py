"""What a task of an offloaded range does: row groups of its files as they are, cut to the range, column by column.

    file    ┌ group ┬ group ┬ group ┐      only groups that hold some of the range, and of these
            │       │ ▒▒▒▒▒ │ ▒▒    │      only the columns that the query has: no record becomes a Python object
                      ╰ range ╯

Executors open the home of offloaded records themselves.  One that cannot, or finds a file gone because a compacted one
has taken its place, asks a broker for the rest of the range.
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

# Columns of a file that ours are made of; topic and partition are known, and offset is always read.
_MADE_OF = {"position": "offset", "topic": "offset", "partition": "offset"}


def wanted_in(bounds: Bounds) -> Callable[[Segment], bool]:
    """Whether a segment may hold a record that the filters leave."""
    return lambda segment: segment.max_ms >= bounds.from_ms and segment.min_ms < bounds.until_ms


def read(schema: pa.Schema, task: Task) -> Iterator[pa.RecordBatch]:
    """The records of the task, in offset order.  schema: the columns wanted, as pyspark translates them."""
    at = task.range.first
    try:
        for batch in _batches(schema.names, task):
            at = batch.column("offset")[-1].as_py() + 1
            kept = _timely(batch, task.bounds)
            if kept.num_rows:
                yield shaped(schema, task, kept)
    except (OffloadedUnavailable, InvalidRequest) as error:
        _log.warning("offsets %d to %d of %s come from a broker: %s", at, task.range.end, task.range.partition, error)
        live = task.live_from(at)
        part, fails = live.range.partition, live.fail_on_data_loss
        yield from arrow_batches(schema, part, chunks(live), fail_on_data_loss=fails)


def _batches(names: Sequence[str], task: Task) -> Iterator[pa.RecordBatch]:
    from redis_ledger.offload.segment import open_home, read_groups

    home, wanted = open_home(task.range.home), columns_for(names, task.bounds)
    for segment in task.range.segments:
        yield from read_groups(home, segment, task.range.first, task.range.end, wanted)


def columns_for(names: Sequence[str], bounds: Bounds) -> list[str]:
    """Of the file, for these columns of the query."""
    looked_at = ["offset", *(["timestamp"] if bounds.looks_at_time else [])]
    return list(dict.fromkeys([*looked_at, *(_MADE_OF.get(name, name) for name in names)]))


def _timely(batch: pa.RecordBatch, bounds: Bounds) -> pa.RecordBatch:
    if not bounds.looks_at_time:
        return batch
    import pyarrow as pa
    import pyarrow.compute as pc

    times = batch.column("timestamp").cast(pa.int64())
    return batch.filter(pc.and_(pc.greater_equal(times, bounds.from_ms), pc.less(times, bounds.until_ms)))


def shaped(schema: pa.Schema, task: Task, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Rows of a file as Spark is to have them."""
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
