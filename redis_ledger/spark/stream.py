"""Stream reads: each batch from the end of the last one to an offset that Spark stores first.

    latestOffset(start, limit)   the current end, within the limits       ┐ Spark logs start and end in between, and
    partitions(start, end)       the tasks of that batch                  ┘ requests the same again after a crash

An offset is {"orders": {"0": 12}}, as in Kafka's connector.  With the trigger availableNow, the end is read once, and
batches run up to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from redis_ledger.spark import partition_metadata, plan
from redis_ledger.spark.batch import read, tasks
from redis_ledger.spark.offset_options import Offsets, from_checkpoint, to_checkpoint
from redis_ledger.spark.partition_metadata import EndsByPartition
from redis_ledger.spark.read_options import ReadOptions

if TYPE_CHECKING:
    import pyarrow as pa


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, reading: ReadOptions, schema: StructType) -> None:
        self._reading, self._schema = reading, schema
        self._target: Offsets | None = None  # end of a run with the trigger availableNow
        self._seen: Offsets | None = None

    def initialOffset(self) -> dict[str, Any]:
        there = partition_metadata.partition_ends(self._reading, all_named=True)
        ahead = plan.remaining_ranges(partition_metadata.starts(self._reading, there), there)
        plan.check_loss(ahead.losses, fail=self._reading.fail_on_data_loss)
        return to_checkpoint({each.partition: each.first for each in ahead.ranges})

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = _ends(self._now())

    def getDefaultReadLimit(self) -> ReadLimit:
        # Spark passes one limit at a time; the other is applied in addition.
        if self._reading.offsets_max is not None:
            return ReadMaxRows(self._reading.offsets_max)
        if self._reading.bytes_max is not None:
            return ReadMaxBytes(self._reading.bytes_max)
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        there, starts = self._now(), from_checkpoint(start)
        self._seen = _ends(there)
        if self._target is not None:
            there = plan.capped(there, self._target, starts)
        ahead = plan.remaining_ranges(starts, there)
        plan.check_loss(ahead.losses, fail=self._reading.fail_on_data_loss)
        is_limited = not isinstance(limit, ReadAllAvailable)
        return to_checkpoint(
            plan.batch_ends(
                ahead.ranges,
                self._reading.offsets_max if is_limited else None,
                self._reading.bytes_max if is_limited else None,
            )
        )

    def reportLatestOffset(self) -> dict[str, Any] | None:
        return None if self._seen is None else to_checkpoint(self._seen)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        ends, there = from_checkpoint(end), self._now()
        settled = plan.plan_ranges(plan.without_reset_starts(from_checkpoint(start), ends), ends, there)
        plan.check_loss(settled.losses, fail=self._reading.fail_on_data_loss)
        return tasks(
            settled.ranges, self._reading, partition_metadata.offloaded_segments(self._reading, settled.ranges, there)
        )

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read(partition, self._schema, self._reading)

    def _now(self) -> EndsByPartition:
        return partition_metadata.partition_ends(self._reading, all_named=False)


def _ends(there: EndsByPartition) -> Offsets:
    return {partition: ends.end for partition, ends in there.items()}
