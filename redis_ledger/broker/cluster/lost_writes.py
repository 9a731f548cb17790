"""What Redis has lost, as far as this broker found out: for the log, the metrics, /readyz and the console.

partition     first lost offset to remembered end      the number of records that are gone
coordinator   its transactions are aborted             catalog, other: something is gone, and it is not known what
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

from redis_ledger.clock import Clock
from redis_ledger.telemetry import metrics
from redis_ledger.telemetry.logs import get

KEPT, SHOWN = 1_000, 20  # losses in memory, and in /readyz
Kind = Literal["partition", "coordinator", "catalog", "other"]
for _kind in get_args(Kind):
    metrics.redis_lost_writes.labels(_kind)  # a series that begins at 1 has no increase
_log = get()


class LostRecords(NamedTuple):
    """Lost offsets of one partition, from first_offset to the one before end_offset. is_deleted: all of it is gone."""

    topic: str
    partition: int
    first_offset: int
    end_offset: int
    leader_epoch: int
    at_ms: int
    is_deleted: bool = False

    @property
    def records(self) -> int:
        return self.end_offset - self.first_offset


class LostWrites:
    """All losses that this broker has found since it started. found_ms: when the last one was found, 0 without one."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.partitions: deque[LostRecords] = deque(maxlen=KEPT)
        self.kinds: dict[Kind, int] = {}
        self.records = 0
        self.found_ms = 0
        self.on_loss: list[Callable[[], None]] = []

    def lost_records(
        self,
        topic: str,
        partition: int,
        first_offset: int,
        end_offset: int,
        leader_epoch: int,
        *,
        is_deleted: bool = False,
    ) -> None:
        lost = LostRecords(topic, partition, first_offset, end_offset, leader_epoch, self._clock.now_ms(), is_deleted)
        self.partitions.append(lost)
        self.records += lost.records
        metrics.redis_rolled_back.inc()
        metrics.redis_lost_records.inc(lost.records)
        self._count("partition")
        _log.error(
            "Redis came back with older data: acknowledged records are lost", topic=topic, partition=partition,
            first_lost_offset=first_offset, last_lost_offset=end_offset - 1, records=lost.records,
            leader_epoch=leader_epoch, is_deleted=is_deleted,
        )  # fmt: skip

    def lost_coordinator(self, number: int, aborted: int) -> None:
        self._count("coordinator")
        _log.error(
            "Redis came back with older data: a transaction coordinator lost writes; its open transactions are aborted",
            coordinator=number, aborted=aborted,
        )  # fmt: skip

    def lost_topics(self, remembered: int, stored: int) -> None:
        self._count("catalog")
        _log.error(
            "Redis came back with older data: the catalog lost changes of topics",
            version_before=remembered,
            version=stored,
        )

    def lost_others(self, number: int, remembered: int, stored: int) -> None:
        self._count("other")
        _log.error(
            "Redis came back with older data: the counter of a node went back, so acknowledgements, group offsets or "
            "other changes are lost", witness=number, remembered=remembered, stored=stored,
        )  # fmt: skip

    @property
    def count(self) -> int:
        return sum(self.kinds.values())

    def _count(self, kind: Kind) -> None:
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        self.found_ms = self._clock.now_ms()
        metrics.redis_lost_writes.labels(kind).inc()

    def to_body(self, *, names: bool) -> dict[str, Any]:
        """The field of /readyz; none without a loss. names: whether partitions may be named."""
        if not self.kinds:
            return {}
        newest = list(self.partitions)[-SHOWN:] if names else []
        lost = {
            "found_ms": self.found_ms,
            "found": dict(self.kinds),
            "records": self.records,
            "partitions": [
                {
                    "topic": each.topic, "partition": each.partition, "first_lost_offset": each.first_offset,
                    "last_lost_offset": each.end_offset - 1, "records": each.records, "leader_epoch": each.leader_epoch,
                }
                for each in newest
            ],
        }  # fmt: skip
        return {"lost_writes": lost}
