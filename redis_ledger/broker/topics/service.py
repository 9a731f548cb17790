"""Topics: create, list, describe, grow, delete; administration of partitions."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Mapping

from redis_ledger.broker.types import OpenTransaction, PartitionProducer, PartitionState, Topic
from redis_ledger.config import Config
from redis_ledger.errors import OffsetOutOfRange, UnknownTopic
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.open_row import parse_open
from redis_ledger.ledger.partition import Partition
from redis_ledger.ledger.partition_offsets import PartitionHead
from redis_ledger.ledger.settings import effective
from redis_ledger.ledger.topic_checks import OFFSETS_TOPIC, refuse_internal
from redis_ledger.ledger.topic_entry import TopicEntry
from redis_ledger.store.store import Store

ENTRIES_MAX = 500  # log entries trimmed, or producers read, by one call to Redis


class Topics:
    def __init__(self, catalog: Catalog, store: Store, config: Config) -> None:
        self._catalog, self._store, self._config = catalog, store, config

    async def create(
        self, name: str, partitions: int | None = None, settings: Mapping[str, int | None] | None = None
    ) -> Topic:
        """Raises TopicExists, InvalidTopicName, InvalidRequest."""
        refuse_internal(name, "created")
        count = self._config.num_partitions if partitions is None else partitions
        own = {key: value for key, value in (settings or {}).items() if value is not None}
        return self._topic(await self._catalog.create(name, count, own))

    async def list(self, *, internal: bool = False) -> builtins.list[Topic]:
        """internal: with the internal topic, if it exists."""
        entries = await self._catalog.list()
        return [self._topic(entry) for entry in entries if internal or entry.name != OFFSETS_TOPIC]

    async def describe(self, name: str) -> tuple[Topic, builtins.list[PartitionState]]:
        entry = await self._catalog.get(name, fresh=True)
        partitions = [await self._catalog.partition(name, number) for number in range(entry.partitions)]
        states = await asyncio.gather(*(self._state(partition) for partition in partitions))
        return self._topic(entry), list(states)

    async def heads(self, topic: Topic) -> builtins.list[PartitionHead]:
        """The head of each partition of a topic from `list`.  Raises UnknownTopic.  Cost: a read of each."""
        first = self._catalog.opened(topic.name, 0)
        if first is not None and first.topic_id != topic.id:
            self._catalog.forget(topic.name)  # deleted and created again
        partitions = [await self._catalog.partition(topic.name, number) for number in range(topic.partitions)]
        return builtins.list(await asyncio.gather(*(partition.offsets.head() for partition in partitions)))

    async def grow(
        self, name: str, partitions: int | None = None, settings: Mapping[str, int | None] | None = None
    ) -> Topic:
        """Adds partitions, and changes settings; None removes the topic's own value.

        Raises UnknownTopic, InvalidTopicName, InvalidRequest (fewer partitions), TopicBusy."""
        if partitions is not None:
            refuse_internal(name, "changed")
        return self._topic(await self._catalog.change(name, partitions, None if settings is None else dict(settings)))

    async def delete(self, name: str, topic_id: str | None = None) -> None:
        """topic_id: only if it is this one.  Raises UnknownTopic, InvalidTopicName, TopicBusy."""
        refuse_internal(name, "deleted")
        await self._catalog.delete(name, topic_id)

    async def delete_records(self, name: str, number: int, below: int | None) -> int:
        """Trims records below the offset (None: all records).  Returns the log start.

        Records above the stable offset are kept, so the log start may stay below the offset.
        Raises UnknownTopic, UnknownPartition, OffsetOutOfRange above the end.
        """
        partition, head = await self._current(name, number)
        wanted = head.end_offset if below is None else below
        if not 0 <= wanted <= head.end_offset:
            raise OffsetOutOfRange(f"Offset {wanted} is not in {name}:{number}, which ends at {head.end_offset}.")
        while True:
            trimmed = await partition.trim(
                retention_ms=-1, retention_bytes=-1, below_offset=wanted, entries_max=ENTRIES_MAX
            )
            if trimmed.entries < ENTRIES_MAX:
                return trimmed.start_offset

    async def head(self, name: str, number: int) -> PartitionHead:
        """The head of a partition.  Raises UnknownTopic, UnknownPartition."""
        return (await self._current(name, number))[1]

    async def producers(self, name: str, number: int) -> builtins.list[PartitionProducer]:
        """Producers with recent batches or an open transaction in the partition, by id."""
        partition, _ = await self._current(name, number)
        k, command = partition.keys, self._store.command
        found: dict[int, PartitionProducer] = {}
        cursor: bytes = b"0"
        while True:
            cursor, rows = await command("HSCAN", k.producers, cursor, "COUNT", ENTRIES_MAX, key=k.state)
            for pid, row in zip(rows[::2], rows[1::2], strict=True):
                if pid:
                    epoch, last_ms, *batches = row.split(b" ")
                    sequence = int(batches[-1].split(b":")[1]) if batches else -1
                    found[int(pid)] = PartitionProducer(int(pid), int(epoch), sequence, int(last_ms), None)
            if cursor == b"0":
                break
        rows = await command("HGETALL", k.open, key=k.state)
        for pid, row in zip(rows[::2], rows[1::2], strict=True):
            if pid:
                opened = parse_open(row)
                known = found.get(int(pid), PartitionProducer(int(pid), opened.epoch, -1, -1, None))
                found[int(pid)] = known._replace(first_offset=opened.first_offset)
        return sorted(found.values())

    async def open_transactions(self, name: str) -> builtins.list[OpenTransaction]:
        """Returns the open transactions that have written to the topic, by partition and first offset."""
        entry = await self._catalog.get(name)

        async def one(number: int) -> builtins.list[OpenTransaction]:
            k = (await self._catalog.partition(name, number)).keys
            rows = await self._store.command("HVALS", k.open, key=k.state)
            opened = [parse_open(row) for row in rows if row]
            return [OpenTransaction(number, each.first_offset, each.txn, each.holds_readers) for each in opened]

        found = await asyncio.gather(*(one(number) for number in range(entry.partitions)))
        return sorted(each for some in found for each in some)

    async def _current(self, name: str, number: int) -> tuple[Partition, PartitionHead]:
        """Reads the head; if the cached topic was deleted and created again, that of the new topic."""
        cached = self._catalog.opened(name, number) is not None
        partition = await self._catalog.partition(name, number)
        try:
            return partition, await partition.offsets.head()
        except UnknownTopic:
            self._catalog.forget(name)
            if not cached:
                raise
        partition = await self._catalog.partition(name, number)
        return partition, await partition.offsets.head()

    async def _state(self, partition: Partition) -> PartitionState:
        k = partition.keys
        head, ledgers, opened, ended, scheduled = await asyncio.gather(
            partition.offsets.head(),
            self._store.command("HLEN", k.ledgers, key=k.state),
            self._store.command("HLEN", k.open, key=k.state),
            self._store.command("HMGET", k.state, "committed", "aborted", key=k.state),
            self._store.command("HGET", k.delay.state, "records", key=k.state),
        )
        committed, aborted = (int(count or 0) for count in ended)
        return PartitionState(
            partition.number, head.start_offset, head.stable_offset, head.end_offset, head.leader_epoch,
            head.active_ledger, ledgers, head.bytes, opened - 1, head.offloaded_offset,
            committed, aborted, int(scheduled or 0),
        )  # fmt: skip

    def _topic(self, entry: TopicEntry) -> Topic:
        return Topic(entry.name, entry.id, entry.partitions, effective(entry.settings, self._config), entry.created_ms)
