"""Reading on and on: each batch from where the last one ended to an offset that Spark writes down first.

    latestOffset(start, limit)   what is there now, within the limits     ┐ Spark logs start and end in between, and
    partitions(start, end)       the tasks of that batch                  ┘ asks for the same again after a crash

An offset is {"orders": {"0": 12}}, as Kafka's connector has it.  With a trigger of what is available now, the end is
taken once, and batches go there.
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
from redis_ledger.spark.offset_options import Offsets, of_checkpoint, to_checkpoint
from redis_ledger.spark.partition_metadata import Standings
from redis_ledger.spark.read_options import Reading

if TYPE_CHECKING:
    import pyarrow as pa


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, reading: Reading, schema: StructType) -> None:
        self._reading, self._schema = reading, schema
        self._target: Offsets | None = None  # where to stop, for a trigger of what is available now
        self._seen: Offsets | None = None

    def initialOffset(self) -> dict[str, Any]:
        there = partition_metadata.standings(self._reading, all_named=True)
        ahead = plan.noted(partition_metadata.starts(self._reading, there), there)
        plan.check_loss(ahead.losses, fail=self._reading.fail_on_data_loss)
        return to_checkpoint({each.partition: each.first for each in ahead.ranges})

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = _ends(self._now())

    def getDefaultReadLimit(self) -> ReadLimit:
        # Spark knows one limit at a time; the other is applied beside it.
        if self._reading.offsets_max is not None:
            return ReadMaxRows(self._reading.offsets_max)
        if self._reading.bytes_max is not None:
            return ReadMaxBytes(self._reading.bytes_max)
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        there, starts = self._now(), of_checkpoint(start)
        self._seen = _ends(there)
        if self._target is not None:
            there = plan.frozen(there, self._target, starts)
        ahead = plan.noted(starts, there)
        plan.check_loss(ahead.losses, fail=self._reading.fail_on_data_loss)
        is_limited = not isinstance(limit, ReadAllAvailable)
        return to_checkpoint(
            plan.limited(
                ahead.ranges,
                self._reading.offsets_max if is_limited else None,
                self._reading.bytes_max if is_limited else None,
            )
        )

    def reportLatestOffset(self) -> dict[str, Any] | None:
        return None if self._seen is None else to_checkpoint(self._seen)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        ends, there = of_checkpoint(end), self._now()
        settled = plan.settled(plan.rewound(of_checkpoint(start), ends), ends, there)
        plan.check_loss(settled.losses, fail=self._reading.fail_on_data_loss)
        return tasks(
            settled.ranges, self._reading, partition_metadata.offloaded_segments(self._reading, settled.ranges, there)
        )

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read(partition, self._schema, self._reading)

    def _now(self) -> Standings:
        return partition_metadata.standings(self._reading, all_named=False)


def _ends(there: Standings) -> Offsets:
    return {partition: standing.end for partition, standing in there.items()}
