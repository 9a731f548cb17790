"""Unacknowledged messages: those of a subscription that were redelivered most or are leased longest, and their number
for the subscriptions of a topic."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from redis_ledger.broker.types import SubscriptionKind, UnackedOfSubscription
from redis_ledger.cursor.unacked import Lease, due_first
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.store.store import Store

LEASES_READ = 200  # leases of each partition
PARTITIONS_MAX = 16
SUBSCRIPTIONS_MAX = 100  # counted by one call
CURSORS_MAX = 2_000  # read by one call


class UnackedMessages:
    def __init__(self, store: Store, catalog: Catalog) -> None:
        self._store, self._catalog = store, catalog

    async def worst(self, topic: str, name: str) -> list[Lease]:
        """Orders by deliveries, then by due time, the LEASES_READ first due on each of the first PARTITIONS_MAX
        partitions.  Raises UnknownTopic.  Cost: two concurrent round trips per partition."""
        count = min((await self._catalog.get(topic)).partitions, PARTITIONS_MAX)
        places = [await self._catalog.partition(topic, number) for number in range(count)]
        found = await asyncio.gather(*(due_first(self._store, p.keys, p.number, name, LEASES_READ) for p in places))
        leases = [lease for each in found for lease in each]
        return sorted(leases, key=lambda each: (-each.deliveries, each.deadline_ms, each.partition, each.first))

    async def of_topic(
        self, topic: str, subscriptions: Sequence[tuple[str, SubscriptionKind]]
    ) -> list[UnackedOfSubscription]:
        """Counts for the first of these subscriptions, at most SUBSCRIPTIONS_MAX, fewer if the topic has very many
        partitions.  Raises UnknownTopic.  Cost: one read per cursor, all at once."""
        numbers = range((await self._catalog.get(topic)).partitions)
        keys = [(await self._catalog.partition(topic, number)).keys for number in numbers]
        chosen = subscriptions[: min(SUBSCRIPTIONS_MAX, max(CURSORS_MAX // len(keys), 1))]

        async def one(name: str, kind: SubscriptionKind) -> UnackedOfSubscription:
            of = [(k.state, k.sub(name)) for k in keys]
            if kind == "kafka":
                sizes = await asyncio.gather(*(self._store.command("HLEN", sub.pending, key=at) for at, sub in of))
                return UnackedOfSubscription(name, kind, 0, sum(max(size - 1, 0) for size in sizes))
            rows = await asyncio.gather(
                *(self._store.command("HMGET", sub.cursor, "leased", "held", key=at) for at, sub in of)
            )
            pending = sum(int(held or 0) for _, held in rows)
            return UnackedOfSubscription(name, kind, sum(int(leased or 0) for leased, _ in rows) + pending, pending)

        return list(await asyncio.gather(*(one(name, kind) for name, kind in chosen)))
