"""Leader epochs of partitions whose Redis has lost records; all others have epoch 0.

    {catalog}:epochs   "topic id:partition" → epoch      written by the broker that took over

Kafka clients get the epoch with the metadata. A broker that has not used a partition since has it only from this table.
Source: KIP-320.
"""

from __future__ import annotations

from collections.abc import Sequence

from redis_ledger.broker.cluster.metadata_cache import MetadataCache, Row
from redis_ledger.ledger.answered_offsets import AnsweredOffsets
from redis_ledger.store.keys import CatalogKeys
from redis_ledger.store.store import Store


class LeaderEpochs:
    def __init__(self, store: Store, answered: AnsweredOffsets) -> None:
        self._answered = answered
        self._stored: dict[str, int] = {}
        self._table = CatalogKeys(store.prefix).epochs
        self._cache = MetadataCache(store, "epochs", [self._table], self._take)

    async def open(self) -> None:
        await self._cache.open()

    async def close(self) -> None:
        await self._cache.close()

    def of(self, topic_id: str, number: int) -> int:
        """The highest epoch that this broker knows."""
        known = self._answered.epoch(topic_id, number)
        return max(known, self._stored.get(f"{topic_id}:{number}", 0)) if self._stored else known

    async def store(self, epochs: dict[str, str]) -> None:
        """Adds rows of the table."""
        await self._cache.write(self._table, epochs)

    async def forget_topic(self, topic_id: str) -> None:
        """Removes the rows of a topic that is deleted."""
        await self._cache.refresh()  # another broker may have added some
        rows = [row for row in self._stored if row.rpartition(":")[0] == topic_id]
        await self._cache.write(self._table, dict.fromkeys(rows, ""))

    def _take(self, tables: Sequence[Sequence[Row]]) -> None:
        self._stored = {name.decode(): int(epoch) for name, epoch in tables[0] if name}
