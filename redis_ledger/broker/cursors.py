"""A subscription's cursors, one on each partition of its topic.

Partition 0 is the register: a subscription exists when it exists there, and cursors that other partitions lack (the
topic has grown, or a create was cut short) are made on first use.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from redis_ledger.clock import Clock
from redis_ledger.cursor import calls
from redis_ledger.cursor import offsets as registers
from redis_ledger.cursor.ranges import Range, to_ranges
from redis_ledger.errors import UnknownSubscription, UnknownTopic
from redis_ledger.ids import MessageId
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.partition import Partition
from redis_ledger.store.store import Store

T = TypeVar("T")


class Cursors:
    def __init__(self, store: Store, catalog: Catalog, clock: Clock) -> None:
        self._store, self._catalog, self._clock = store, catalog, clock

    async def partitions(self, topic: str, *, fresh: bool = False) -> list[Partition]:
        """fresh: also those by which another broker has let the topic grow just now.  Raises UnknownTopic."""
        entry = await self._catalog.get(topic, fresh=fresh)
        return [await self._catalog.partition(topic, number) for number in range(entry.partitions)]

    async def chosen(self, topic: str, numbers: Iterable[int]) -> list[Partition]:
        """Each once, in the order given.  Raises UnknownPartition, UnknownTopic."""
        return [await self._catalog.partition(topic, number) for number in dict.fromkeys(numbers)]

    async def by_partition(self, topic: str, ids: Iterable[MessageId]) -> list[tuple[Partition, list[Range]]]:
        """The messages as ranges, partition by partition.  Raises UnknownPartition, UnknownTopic."""
        offsets: dict[int, list[int]] = {}
        for at in ids:
            offsets.setdefault(at.partition, []).append(at.offset)
        partitions = await self.chosen(topic, offsets)
        return [(partition, to_ranges(offsets[partition.number])) for partition in partitions]

    async def act(self, partition: Partition, name: str, act: Callable[[Partition], Awaitable[T]]) -> T:
        """Acts on the cursor; one that only this partition lacks is made first.  A stale topic is forgotten."""
        try:
            try:
                return await act(partition)
            except UnknownSubscription:
                if partition.number == 0:
                    raise
            first = await self._catalog.partition(partition.topic, 0)
            kind = (await calls.stats(self._store, first.keys, first.topic_id, name, entries_max=1)).kind
            now, p = self._clock.now_ms(), partition
            if kind == "kafka":
                await registers.fetch(self._store, p.keys, p.topic_id, name, make=True, now_ms=now)
            else:
                await calls.create(self._store, p.keys, p.topic_id, name, kind, "earliest", now)
            return await act(partition)
        except UnknownTopic:
            self._catalog.forget(partition.topic)
            raise
