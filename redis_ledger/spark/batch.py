"""Batch reads: from the starting offsets to the ending offsets of the options, narrowed by filters."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from redis_ledger.spark import filters, offloaded_ranges, partition_metadata, plan
from redis_ledger.spark.fetch import chunks, task_of
from redis_ledger.spark.filters import ALL, LAST, Bounds
from redis_ledger.spark.read_options import ReadOptions
from redis_ledger.spark.rows import arrow_batches
from redis_ledger.spark.workers import freeze_loaded_objects

if TYPE_CHECKING:
    import pyarrow as pa


class BatchReader(DataSourceReader):
    def __init__(self, reading: ReadOptions, schema: StructType) -> None:
        self._reading, self._schema = reading, schema
        self._bounds = ALL

    def pushFilters(self, filters_given: list[Filter]) -> Iterable[Filter]:
        self._bounds, left = filters.split_filters(filters_given)
        return left

    def partitions(self) -> Sequence[InputPartition]:
        reading, bounds = self._reading, self._bounds
        there = partition_metadata.partition_ends(reading, all_named=True)
        starts, ends = partition_metadata.starts(reading, there), partition_metadata.ends(reading, there)
        there = {partition: ends for partition, ends in there.items() if bounds.takes(partition)}
        found = {}
        if bounds.from_ms > -LAST:
            found = partition_metadata.times(reading, dict.fromkeys(there, max(0, bounds.from_ms)))
        first, end = filters.narrow_offsets(starts, ends, there, bounds, found)
        settled = plan.plan_ranges(first, end, there)
        plan.check_loss(settled.losses, fail=reading.fail_on_data_loss)
        return tasks(
            settled.ranges, reading, partition_metadata.offloaded_segments(reading, settled.ranges, there), bounds
        )

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read(partition, self._schema, self._reading)


def tasks(
    ranges: Sequence[plan.Range],
    reading: ReadOptions,
    offloaded: partition_metadata.OffloadedSegments,
    bounds: Bounds = ALL,
) -> list[InputPartition]:
    parts = plan.split_offloaded(ranges, offloaded, reading.task_bytes, offloaded_ranges.segment_filter(bounds))
    cut = plan.split_into_tasks(parts, tasks_min=reading.tasks_min, task_bytes=reading.task_bytes)
    # Certificate authorities may take 200 kB; executors have them with the reader.
    connection = dataclasses.replace(reading.connection.now(), authorities=None)
    now = dataclasses.replace(reading, connection=connection)
    return [InputPartition(task_of(each, now, bounds, number)) for number, each in enumerate(cut)]


def read(partition: InputPartition, schema: StructType, reading: ReadOptions) -> Iterator[pa.RecordBatch]:
    """Runs on an executor.  If there is nothing to read, Spark passes a partition without a task."""
    if partition.value is None:
        return iter(())
    freeze_loaded_objects()
    connection = dataclasses.replace(partition.value.connection, authorities=reading.connection.authorities)
    task = dataclasses.replace(partition.value, connection=connection)
    arrow = to_arrow_schema(schema, timezone="UTC")
    if task.range.segments:
        return offloaded_ranges.read(arrow, task)
    return arrow_batches(arrow, task.range.partition, chunks(task), fail_on_data_loss=task.fail_on_data_loss)
