"""Lists the unacknowledged messages of a subscription that were redelivered most or are leased longest."""

from __future__ import annotations

import asyncio

from redis_ledger.cursor.unacked import Lease, due_first
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.store.store import Store

LEASES_READ = 200  # leases of each partition
PARTITIONS_MAX = 16


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
