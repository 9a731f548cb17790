"""Topics: create, list, describe, grow, delete."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Mapping

from redis_ledger.broker.types import PartitionState, Topic
from redis_ledger.config import Config
from redis_ledger.ledger.catalog import Catalog, TopicEntry
from redis_ledger.ledger.partition import Partition
from redis_ledger.store.store import Store


class Topics:
    def __init__(self, catalog: Catalog, store: Store, config: Config) -> None:
        self._catalog, self._store, self._config = catalog, store, config

    async def create(
        self, name: str, partitions: int | None = None, settings: Mapping[str, int] | None = None
    ) -> Topic:
        """Raises TopicExists, InvalidTopicName, InvalidRequest."""
        count = self._config.num_partitions if partitions is None else partitions
        return self._shown(await self._catalog.create(name, count, dict(settings or {})))

    async def list(self) -> builtins.list[Topic]:
        return [self._shown(entry) for entry in await self._catalog.list()]

    async def describe(self, name: str) -> tuple[Topic, builtins.list[PartitionState]]:
        entry = await self._catalog.get(name, fresh=True)
        partitions = [await self._catalog.partition(name, number) for number in range(entry.partitions)]
        states = await asyncio.gather(*(self._state(partition) for partition in partitions))
        return self._shown(entry), list(states)

    async def grow(self, name: str, partitions: int | None = None, settings: Mapping[str, int] | None = None) -> Topic:
        """More partitions, other settings.  Raises UnknownTopic, InvalidRequest (fewer partitions), TopicBusy."""
        return self._shown(await self._catalog.change(name, partitions, None if settings is None else dict(settings)))

    async def delete(self, name: str) -> None:
        await self._catalog.delete(name)

    async def _state(self, partition: Partition) -> PartitionState:
        k = partition.keys
        head, ledgers, opened = await asyncio.gather(
            partition.head(),
            self._store.command("HLEN", k.ledgers, key=k.state),
            self._store.command("HLEN", k.open, key=k.state),
        )
        return PartitionState(
            partition.number, head.start_offset, head.stable_offset, head.end_offset, head.leader_epoch,
            head.active_ledger, ledgers, head.bytes, opened - 1,
        )  # fmt: skip

    def _shown(self, entry: TopicEntry) -> Topic:
        defaults = {"retention_ms": self._config.retention_ms, "retention_bytes": self._config.retention_bytes}
        return Topic(entry.name, entry.id, entry.partitions, {**defaults, **entry.settings}, entry.created_ms)
