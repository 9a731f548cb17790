"""A subscription's cursors, one on each partition of its topic.

A subscription exists if it is registered on partition 0.  Creation registers it first and creates the other cursors
after; deletion removes the registration first.  A missing cursor (the topic has grown, or a creation is in progress or
was interrupted) is created on first use from the registration.  The incarnation keeps concurrent creations and
deletions apart: see cursor/registration.py.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Literal, TypeVar

from redis_ledger.clock import Clock
from redis_ledger.cursor import group_offsets as registers
from redis_ledger.cursor import registration
from redis_ledger.cursor.ranges import Range, to_ranges
from redis_ledger.cursor.registration import Registration
from redis_ledger.cursor.script_errors import unknown
from redis_ledger.errors import TopicBusy, UnknownSubscription, UnknownTopic
from redis_ledger.ids import MessageId
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.partition import Partition
from redis_ledger.store.store import Store

ATTEMPTS_MAX = 8
T = TypeVar("T")


class Cursors:
    def __init__(self, store: Store, catalog: Catalog, clock: Clock) -> None:
        self._store, self._catalog, self._clock = store, catalog, clock

    async def partitions(self, topic: str, *, fresh: bool = False) -> list[Partition]:
        """fresh: includes partitions that another broker has just added.  Raises UnknownTopic."""
        entry = await self._catalog.get(topic, fresh=fresh)
        return [await self._catalog.partition(topic, number) for number in range(entry.partitions)]

    async def chosen(self, topic: str, numbers: Iterable[int]) -> list[Partition]:
        """Returns each once, in the given order.  Raises UnknownPartition, UnknownTopic."""
        return [await self._catalog.partition(topic, number) for number in dict.fromkeys(numbers)]

    async def by_partition(self, topic: str, ids: Iterable[MessageId]) -> list[tuple[Partition, list[Range]]]:
        """Returns the messages as ranges by partition.  Raises UnknownPartition, UnknownTopic."""
        offsets: dict[int, list[int]] = {}
        for at in ids:
            offsets.setdefault(at.partition, []).append(at.offset)
        partitions = await self.chosen(topic, offsets)
        return [(partition, to_ranges(offsets[partition.number])) for partition in partitions]

    # -- life cycle --------------------------------------------------------------------------------------------------

    async def create(
        self,
        topic: str,
        name: str,
        kind: Literal["exclusive", "failover", "shared", "key_shared"],
        start: Literal["earliest", "latest"],
    ) -> bool:
        """Returns whether this call created it.  Afterwards every partition has its cursor.
        Raises SubscriptionExists (another kind), UnknownTopic."""
        for _ in range(ATTEMPTS_MAX):
            partitions = await self.partitions(topic, fresh=True)
            first, now = partitions[0], self._clock.now_ms()
            wanted = Registration(kind, secrets.token_hex(8), start, len(partitions))
            made = await registration.register(self._store, first.keys, first.topic_id, name, wanted, now)
            registered = await registration.read(self._store, first.keys, name)
            if registered is None or registered.kind != kind:
                continue  # deleted in between
            others = [self._make(p, name, registered) for p in partitions[1:]]
            await gather_all(others)
            if await self._is_registered(first, name, registered):
                return made
            await gather_all([self._delete(p, name, registered.incarnation) for p in partitions[1:]])
        raise TopicBusy(
            f"Subscription {name!r} of topic {topic!r} is being created and deleted at the same time; try again.",
            topic=topic,
        )

    async def delete(self, topic: str, name: str) -> bool:
        """Returns whether it existed."""
        first, *others = await self.partitions(topic, fresh=True)
        incarnation = await registration.delete(self._store, first.keys, first.topic_id, name)
        if incarnation is None:
            await gather_all([self._delete_leftover(p, first, name) for p in others])
        else:
            await gather_all([self._delete(p, name, incarnation) for p in others])
        return incarnation is not None

    async def ensure(self, partition: Partition, name: str) -> None:
        """Creates a missing cursor.  Raises UnknownSubscription if the subscription is not registered."""
        first = await self._catalog.partition(partition.topic, 0)
        registered = await registration.read(self._store, first.keys, name)
        if registered is None:
            raise unknown(name)
        p = partition
        if registered.kind == "kafka":
            now = self._clock.now_ms()
            await registers.fetch(self._store, p.keys, p.topic_id, name, make=True, now_ms=now)
            return
        await self._make(p, name, registered)
        if not await self._is_registered(first, name, registered):
            await self._delete(p, name, registered.incarnation)
            raise unknown(name)

    # -- acting on cursors -------------------------------------------------------------------------------------------

    async def act(self, partition: Partition, name: str, act: Callable[[Partition], Awaitable[T]]) -> T:
        """Calls `act`, and creates the cursor first if only this partition lacks it.  Forgets a stale cached topic."""
        try:
            try:
                return await act(partition)
            except UnknownSubscription:
                if partition.number == 0:
                    raise
            await self.ensure(partition, name)
            return await act(partition)
        except UnknownTopic:
            self._catalog.forget(partition.topic)
            raise

    async def act_on_all(
        self, partitions: Iterable[Partition], name: str, act: Callable[[Partition], Awaitable[T]]
    ) -> list[T]:
        """As act, on all partitions concurrently.  If one fails, the others finish before its error is raised."""
        return await gather_all([self.act(partition, name, act) for partition in partitions])

    # -- steps -------------------------------------------------------------------------------------------------------

    async def _make(self, p: Partition, name: str, of: Registration) -> None:
        now = self._clock.now_ms()
        await registration.make(self._store, p.keys, p.topic_id, name, of, p.number, now)

    async def _delete(self, p: Partition, name: str, incarnation: str) -> None:
        await registration.delete(self._store, p.keys, p.topic_id, name, incarnation)

    async def _delete_leftover(self, p: Partition, first: Partition, name: str) -> None:
        """Reads the cursor before the registration: a creation registers first, so a cursor whose incarnation is not
        registered then belongs to a deleted subscription."""
        found = await registration.read(self._store, p.keys, name)
        if found is not None and not await self._is_registered(first, name, found):
            await self._delete(p, name, found.incarnation)

    async def _is_registered(self, first: Partition, name: str, wanted: Registration) -> bool:
        now = await registration.read(self._store, first.keys, name)
        return now is not None and now.incarnation == wanted.incarnation


async def gather_all(awaitables: Sequence[Awaitable[T]]) -> list[T]:
    """Returns the results after all have ended, or raises the first error; no task continues in the background."""
    results = await asyncio.gather(*awaitables, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if not isinstance(result, BaseException)]
