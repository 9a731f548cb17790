"""Messages that are out longest or came back most, of one subscription: what its consumers do not get done."""

from __future__ import annotations

import asyncio

from redis_ledger.cursor.unacked import Lease, due_first
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.store.store import Store

LOOKED_AT = 200  # leases of each partition
PARTITIONS_MAX = 16


class UnackedMessages:
    def __init__(self, store: Store, catalog: Catalog) -> None:
        self._store, self._catalog = store, catalog

    async def worst(self, topic: str, name: str) -> list[Lease]:
        """Delivered most often first, then due first, of the LOOKED_AT that are due first on each of the first
        PARTITIONS_MAX partitions.  Raises UnknownTopic.  Cost: two round trips a partition, all at once."""
        count = min((await self._catalog.get(topic)).partitions, PARTITIONS_MAX)
        places = [await self._catalog.partition(topic, number) for number in range(count)]
        found = await asyncio.gather(*(due_first(self._store, p.keys, p.number, name, LOOKED_AT) for p in places))
        leases = [lease for each in found for lease in each]
        return sorted(leases, key=lambda each: (-each.deliveries, each.deadline_ms, each.partition, each.first))
