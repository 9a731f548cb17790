"""Decides when this broker takes snapshots of transaction buffers.

    partition with        its maintenance leader   after snapshot_max_transaction_count ends, or snapshot_min_time_ms
    transactional writes  another broker           three times as late, and only if there is none since
    a snapshot            its maintenance leader   after PLAIN_OFFSETS further offsets

One snapshot at a time.  All of them together read at most ENTRIES_PER_S log entries, so under a higher load they lag
behind.  A partition without writes costs no command.  A broker that starts knows of no writes: it begins with the next
transactional write.
Source: Pulsar's transaction buffer; requirements TB-14, TB-16; docs/decisions/0032.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator

from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.errors import LedgerError
from redis_ledger.ledger.buffer_snapshot_taker import SnapshotTaker, Taken
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.place import Place
from redis_ledger.ledger.transactional_writes import TransactionalWrites, Writes, WrittenPartition
from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.store import Store
from redis_ledger.telemetry import transaction_metrics
from redis_ledger.telemetry.logs import RateLimitedLog

LOOK_S = 0.2  # between two looks at what is due; they read only memory
OTHERS = 3  # times as late
PLAIN_OFFSETS = 100_000
ENTRIES_PER_S = 20_000
POSITIONS_MAX = 10_000  # partitions whose snapshots' positions are kept

_limited_log = RateLimitedLog()


class BufferSnapshots:
    """maintains: whether this broker maintains a topic's partition."""

    def __init__(
        self, store: Store, catalog: Catalog, maintains: Callable[[str, int], bool], config: Config, clock: Clock
    ) -> None:
        self._store, self._catalog, self._maintains, self._clock = store, catalog, maintains, clock
        self._writes: TransactionalWrites = catalog.transactional_writes
        self._ends_max = config.transaction_buffer_snapshot_max_transaction_count
        self._interval_ms = config.transaction_buffer_snapshot_min_time_ms
        self._positions: dict[WrittenPartition, int] = {}
        self._lock = asyncio.Lock()

    async def take_due(self) -> None:
        """Takes every snapshot that is due, one after the other.  A failure does not stop the others."""
        if self._ends_max <= 0:
            self._writes.by_partition.clear()
            return
        for partition in [*self._due(time.monotonic())]:
            writes = self._writes.take(partition)
            try:
                taken = await self.take(partition, unless_since_ms=self._fresh_ms(partition))
            except LedgerError as error:
                _limited_log.failed("a snapshot of a transaction buffer failed, trying again", error,
                                    topic=partition.topic, partition=partition.number)  # fmt: skip
                self._writes.put_back(partition, Writes(ends=writes.ends))
                continue
            if taken.is_behind:
                self._writes.put_back(partition, Writes(writes.since_s, self._ends_max))
            await asyncio.sleep(taken.entries / ENTRIES_PER_S)

    async def take(self, partition: WrittenPartition, *, unless_since_ms: int | None = None) -> Taken:
        """Takes a snapshot now.  unless_since_ms: if there is none that was taken later.  Raises LedgerError."""
        keys = PartitionKeys(self._store.prefix, partition.topic, partition.number)
        taker = SnapshotTaker(self._store, Place(partition.topic, partition.topic_id, partition.number, keys))
        async with self._lock:
            taken = await taker.take(self._clock.now_ms(), unless_since_ms=unless_since_ms)
        self._keep_position(partition, taken.position)
        transaction_metrics.buffer_snapshots.inc(taken.bytes > 0)
        transaction_metrics.buffer_snapshot_entries.inc(taken.entries)
        transaction_metrics.buffer_snapshot_bytes.inc(taken.bytes)
        if taken.refusal and taken.bytes:
            _limited_log.warning("a snapshot of a transaction buffer begins anew", topic=partition.topic,
                                 partition=partition.number, reason=taken.refusal)  # fmt: skip
        return taken

    def _due(self, now_s: float) -> Iterator[WrittenPartition]:
        for partition, writes in self._writes.by_partition.items():
            factor = 1 if self._maintains(partition.topic, partition.number) else OTHERS
            age_ms = (now_s - writes.since_s) * 1000
            if writes.ends >= factor * self._ends_max or age_ms >= factor * self._interval_ms:
                yield partition
        for partition, position in self._positions.items():
            opened = self._catalog.opened(partition.topic, partition.number)
            if opened is None or opened.topic_id != partition.topic_id or partition in self._writes.by_partition:
                continue
            if opened.tail.end - position >= PLAIN_OFFSETS and self._maintains(partition.topic, partition.number):
                yield partition

    def _fresh_ms(self, partition: WrittenPartition) -> int | None:
        """The leader's snapshot makes another broker's superfluous."""
        if self._maintains(partition.topic, partition.number):
            return None
        return self._clock.now_ms() - OTHERS * self._interval_ms

    def _keep_position(self, partition: WrittenPartition, position: int) -> None:
        self._positions.pop(partition, None)
        if position < 0:
            return
        if len(self._positions) >= POSITIONS_MAX:
            del self._positions[next(iter(self._positions))]
        self._positions[partition] = position
