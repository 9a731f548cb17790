"""The catalog: topics with their ids, partitions and settings.

    creating ──partitions made──▶ ready ──delete──▶ deleting ──partitions gone──▶ (absent)

One hash holds an entry for each topic; every change is a compare-and-set.  Any broker that finds a topic half created
or half deleted completes it: both are idempotent.  A topic id stands for one incarnation, so a topic that is deleted
and created again is another topic.  Brokers cache entries; a script that finds another topic id refuses the call, and
the entry is read again.  Source: KIP-516 (topic ids).
"""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import TypeVar

from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.errors import (
    InvalidRequest,
    LedgerError,
    TopicBusy,
    TopicExists,
    UnknownPartition,
    UnknownTopic,
    UnknownTopicId,
)
from redis_ledger.ids import check_topic_name
from redis_ledger.ledger import topic_checks
from redis_ledger.ledger.answered_offsets import AnsweredOffsets
from redis_ledger.ledger.append_request import Scheduling
from redis_ledger.ledger.catalog_rows import CatalogRows
from redis_ledger.ledger.catalog_versions import CatalogVersions
from redis_ledger.ledger.entries import LogEntry
from redis_ledger.ledger.partition import Partition
from redis_ledger.ledger.reader import OffloadReading
from redis_ledger.ledger.tail_cache import Tails
from redis_ledger.ledger.topic_checks import OFFSETS_TOPIC
from redis_ledger.ledger.topic_entry import TopicEntry, parse_topic
from redis_ledger.ledger.transactional_writes import TransactionalWrites
from redis_ledger.store.keys import CatalogKeys
from redis_ledger.store.script_status import Status
from redis_ledger.store.scripts import Script
from redis_ledger.store.store import Store
from redis_ledger.telemetry import metrics
from redis_ledger.telemetry.series import TopicTraffic

CATALOG, ALTER = Script.load("ledger/catalog"), Script.load("ledger/alter")
T = TypeVar("T")


class Catalog:
    """Topics by name, and their partitions, which are opened on first use."""

    def __init__(
        self,
        store: Store,
        config: Config,
        clock: Clock,
        *,
        offload: OffloadReading | None = None,
        on_scheduled: Callable[[Partition, Scheduling], None] | None = None,
        on_removal: Callable[[str, str], Awaitable[None]] | None = None,
    ) -> None:
        """offload        reads offloaded history, for every partition
        on_scheduled   called by every partition when it has stored records for later
        on_removal     awaited with name and id before the deletion of a topic is complete; may be repeated
        """
        self._store, self._config, self._clock, self._keys = store, config, clock, CatalogKeys(store.prefix)
        self._topics: dict[str, TopicEntry] = {}
        self._partitions: dict[tuple[str, int], Partition] = {}
        self.answered, self.transactional_writes = AnsweredOffsets(), TransactionalWrites()
        self._tails = Tails(config.tail_cache_bytes)
        self._offload, self._on_scheduled, self._on_removal = offload, on_scheduled, on_removal
        self.versions, self._rows = CatalogVersions(), CatalogRows(store)
        self._names: dict[str, str] = {}  # topic id → name; `get` has the last word
        self._looking: asyncio.Task[None] | None = None

    # -- look up -----------------------------------------------------------------------------------------------------

    async def partition(self, topic: str, number: int) -> Partition:
        """Raises UnknownTopic, UnknownPartition.  Cost: none for one that this broker has used already."""
        if (found := self._partitions.get((topic, number))) is not None:
            return found
        entry = await self.get(topic)
        if not 0 <= number < entry.partitions:
            entry = await self.get(topic, fresh=True)
        if not 0 <= number < entry.partitions:
            raise UnknownPartition(
                f"Topic {topic!r} has partitions 0 to {entry.partitions - 1}, not {number}.",
                partitions=entry.partitions,
            )
        return self._open(entry, number)

    def opened(self, topic: str, number: int) -> Partition | None:
        """The partition if this broker has it open.  Reads only memory."""
        return self._partitions.get((topic, number))

    def opened_partitions(self) -> Sequence[Partition]:
        return tuple(self._partitions.values())

    def marker_written(self, topic: str, topic_id: str, number: int, entry: LogEntry) -> None:
        """Notes an end that this broker wrote; a marker goes to the tail cache."""
        self.transactional_writes.ended(topic, number, topic_id)
        partition = self._partitions.get((topic, number))
        if partition is not None and partition.topic_id == topic_id:
            if entry.is_marker:
                partition.tail.add(entry, b"")
            partition.offsets.answered.learn_end(entry.last_offset + 1)

    def known(self, topic: str) -> TopicEntry | None:
        return self._topics.get(topic)

    async def get(self, topic: str, *, fresh: bool = False) -> TopicEntry:
        """The topic's entry.  Raises UnknownTopic, InvalidTopicName."""
        entry = None if fresh else self._topics.get(topic)
        if entry is not None:
            return entry
        check_topic_name(topic)
        entry = await self._load(topic)
        if entry is not None and entry.state == "creating":
            entry = await self._finish(entry)
        if entry is None or entry.state == "deleting":
            self.forget(topic)
            raise UnknownTopic(f"Topic {topic!r} does not exist; create it with POST /v1/topics.", topic=topic)
        self._keep(entry)
        return entry

    async def by_id(self, topic_id: bytes) -> TopicEntry:
        """The topic of this id, 16 bytes as Kafka sends it.  Raises UnknownTopicId.  Cost: none for one that is known.
        An unknown id costs a small read, shared by concurrent calls; the whole catalog is read for it only when it has
        changed since that was done last."""
        wanted = topic_id.hex()
        if wanted not in self._names:
            await self._look_for(wanted)
        name = self._names.get(wanted)
        if name is not None:
            try:
                entry = await self.get(name)
                if entry.id != wanted:
                    entry = await self.get(name, fresh=True)
                if entry.id == wanted:
                    return entry
            except UnknownTopic:
                pass  # deleted since
        raise UnknownTopicId(f"There is no topic with id {wanted}.")

    async def absent(self, names: Iterable[str] = (), ids: Iterable[str] = ()) -> Set[str]:
        """Of these names of topics and ids in hex, those that are no topic's.  Cost: one small read for all together,
        and one of the whole catalog when it has changed."""
        unknown = {name for name in names if name not in self._topics} | {id for id in ids if id not in self._names}
        if not unknown:
            return frozenset()
        await self._look_through()
        if self._rows.damaged:
            unknown &= set(names) - self._rows.damaged  # an id may be that of a topic whose entry cannot be read
        return unknown - self._names.keys() - set(self._names.values())

    async def _look_for(self, topic_id: str) -> None:
        for _ in range(2):  # a read in progress may have started before the topic was created
            look = before = self._looking
            if look is None or look.done():
                look = self._looking = asyncio.get_running_loop().create_task(self._look_through())
                look.add_done_callback(lambda done: done.cancelled() or done.exception())  # without callers
            await asyncio.shield(look)
            if topic_id in self._names or look is not before:
                return

    async def _look_through(self) -> None:
        version = await self._rows.version()
        if version != self.versions.names:
            self._name(await self._rows.all(), version)

    def _name(self, entries: Iterable[TopicEntry], version: int) -> None:
        kept = {id: name for id, name in self._names.items() if name in self._rows.damaged}
        self._names = kept | {entry.id: entry.name for entry in entries if entry.state != "deleting"}
        self.versions.names = version

    async def ensure_internal(self) -> None:
        """Creates OFFSETS_TOPIC if it does not exist.  Ignores failures: the topic is always empty."""
        if OFFSETS_TOPIC in self._topics:
            return
        with contextlib.suppress(LedgerError):
            try:
                await self.get(OFFSETS_TOPIC)
            except UnknownTopic:
                await self.create(OFFSETS_TOPIC, 1, {})

    async def ensure(self, topic: str) -> TopicEntry:
        """The topic's entry; created with the default settings if it does not exist and auto_create_topics is on."""
        try:
            return await self.get(topic)
        except UnknownTopic:
            if not self._config.auto_create_topics:
                raise
        try:
            return await self.create(topic, self._config.num_partitions, {})
        except (TopicExists, TopicBusy):  # another call created it first
            return await self.get(topic)

    async def list(self) -> builtins.list[TopicEntry]:
        # A topic that is growing has the partitions it had before.
        ready = [
            e if e.state == "ready" else replace(e, state="ready", partitions=e.partitions_made)
            for e in await self._rows.all()
            if e.state == "ready" or (e.state == "creating" and e.partitions_made > 0)
        ]
        return sorted(ready, key=lambda e: e.name)

    async def with_current(self, topic: str, act: Callable[[], Awaitable[T]]) -> T:
        """Calls `act` again if it raises UnknownTopic, without an effect: the topic may have been created anew."""
        try:
            return await act()
        except UnknownTopic:
            self.forget(topic)
        return await act()

    def forget(self, topic: str) -> None:
        """Drops the cached topic and its partitions; the next use reads them again."""
        self._topics.pop(topic, None)
        for key in [key for key in self._partitions if key[0] == topic]:
            partition = self._partitions.pop(key)
            partition.tail.clear()
            self._store.require_copies(partition.keys.state, 0)

    async def refresh(self) -> None:
        """Drops cached entries that other brokers have changed, and completes unfinished changes.  Cost: one round trip
        if nothing has changed."""
        version = await self._rows.version()
        if version == self.versions.refreshed:
            return
        entries = {entry.name: entry for entry in await self._rows.all()}
        self._name(entries.values(), version)
        for name, known in list(self._topics.items()):
            if name in self._rows.damaged:
                continue
            current = entries.get(name)
            if version > self.versions.refreshed >= 0 and (current is None or current.id != known.id):
                self.answered.forget_topic(known.id)  # deleted by another broker
            if current is None or current.id != known.id or current.state == "deleting":
                self.forget(name)
            elif current.state == "ready":  # a growing topic is cached below, once it has all its partitions
                self._keep(current)
        for entry in entries.values():
            if entry.state == "creating":
                await self._finish(entry)
            elif entry.state == "deleting":
                await self._remove(entry)
        self.versions.refreshed = version

    # -- change ------------------------------------------------------------------------------------------------------

    async def create(self, name: str, partitions: int, settings: dict[str, int]) -> TopicEntry:
        """Raises TopicExists, InvalidTopicName, InvalidRequest (partitions or settings out of range), TopicBusy."""
        check_topic_name(name)
        topic_checks.check(self._config, partitions, settings)
        await topic_checks.check_buffer(self._store, self._config, None, settings)
        entry = TopicEntry(name, uuid.uuid4().hex, partitions, "creating", self._clock.now_ms(), settings)
        known = await self._swap(name, b"", entry.encoded())
        if known is not None:
            before = parse_topic(known)
            if before.id == entry.id and before.state != "deleting":  # our reply was lost, and another broker continued
                return await self._finish(before) if before.state == "creating" else self._keep(before)
            if before.state == "ready":
                raise TopicExists(f"Topic {name!r} exists.", topic=name)
            if before.state == "creating":
                await self._finish(before)
                raise TopicExists(f"Topic {name!r} exists.", topic=name)
            await self._remove(before)
            if await self._swap(name, b"", entry.encoded()) is not None:
                raise TopicBusy(f"Topic {name!r} is being changed by another request.", topic=name)
        return await self._finish(entry)

    async def change(
        self,
        name: str,
        partitions: int | None,
        settings: Mapping[str, int | None] | None,
        *,
        validate_only: bool = False,
    ) -> TopicEntry:
        """More partitions, other settings; None takes the topic's own value away.

        validate_only: return the result without storing it.
        Raises InvalidRequest (as create; fewer partitions), UnknownTopic, TopicBusy.
        """
        for _ in range(8):
            entry = await self.get(name, fresh=True)
            wanted = partitions if partitions is not None else entry.partitions
            merged = {key: value for key, value in {**entry.settings, **(settings or {})}.items() if value is not None}
            topic_checks.check(self._config, wanted, merged)
            await topic_checks.check_buffer(self._store, self._config, entry, merged)
            if wanted < entry.partitions:
                raise InvalidRequest(
                    f"Topic {name!r} has {entry.partitions} partitions; they can only become more, not {wanted}."
                )
            grows = wanted > entry.partitions
            changed = replace(entry, partitions=wanted, settings=merged, state="creating" if grows else "ready")
            if validate_only or changed == entry:
                return changed
            if await self._swap(name, entry.encoded(), changed.encoded(), CATALOG if grows else ALTER) is None:
                return await self._finish(changed) if grows else self._keep(changed)
        raise TopicBusy(f"Topic {name!r} is being changed by another request.", topic=name)

    async def delete(self, name: str, topic_id: str | None = None) -> None:
        """topic_id: only if it is this one.  Raises UnknownTopic, TopicBusy."""
        for _ in range(8):
            entry = await self.get(name, fresh=True)
            if topic_id not in (None, entry.id):
                raise UnknownTopicId(f"There is no topic with id {topic_id}.")
            doomed = replace(entry, state="deleting")
            if await self._swap(name, entry.encoded(), doomed.encoded(), ALTER) is None:
                await self._remove(doomed)
                return
        raise TopicBusy(f"Topic {name!r} is being changed by another request.", topic=name)

    # -- steps -------------------------------------------------------------------------------------------------------

    def _keep(self, entry: TopicEntry) -> TopicEntry:
        known = self._topics.get(entry.name)
        if known is not None and known.id != entry.id:
            self.forget(entry.name)
        elif known is not None and known.settings != entry.settings:
            config = entry.over(self._config)
            for number in range(known.partitions):  # they stay open: appends under way keep their order
                partition = self._partitions.get((entry.name, number))
                if partition is not None:
                    partition.configure(config, delays_by_headers=entry.delays_by_headers)
                    self._store.require_copies(partition.keys.state, config.min_insync_replicas)
        self._topics[entry.name] = entry
        self._names[entry.id] = entry.name
        return entry

    def count_anew(self) -> None:
        """There is room for series of other topics: those that this broker has open come first."""
        for (topic, _), partition in self._partitions.items():
            partition.count_in(metrics.topics.of(topic))

    def _open(self, entry: TopicEntry, number: int) -> Partition:
        partition = self._partitions.get((entry.name, number))
        if partition is None or partition.topic_id != entry.id:  # else another call opened it: all share one queue
            partition = self._new_partition(entry, number, metrics.topics.of(entry.name))
            self._partitions[entry.name, number] = partition
            self._store.require_copies(partition.keys.state, partition.config.min_insync_replicas)
        return partition

    async def _load(self, topic: str) -> TopicEntry | None:
        reply = await self._store.command("HGET", self._keys.topics, topic, key=self._keys.topics)
        return parse_topic(reply) if reply else None

    async def _swap(self, name: str, expected: bytes, wanted: bytes, script: Script = CATALOG) -> bytes | None:
        """None when the entry was changed; else the entry as it is."""
        keys = (self._keys.topics, self._keys.state)
        admission, now_ms = self._store.admission, self._clock.now_ms()
        reply = await self._store.call(script, keys, (name, expected, wanted, now_ms, admission.cluster_id))
        admission.check(reply[0])
        if reply[0] == Status.OK:
            self.versions.written = await self._rows.version()
            return None
        current: bytes = reply[1]
        return current

    async def _finish(self, entry: TopicEntry) -> TopicEntry:
        """Makes the partitions a topic still lacks, then says it is ready."""
        numbers = range(entry.partitions_made, entry.partitions)
        made = await asyncio.gather(*(self._new_partition(entry, number).create() for number in numbers))
        if not all(made):
            raise TopicBusy(
                f"Topic {entry.name!r}: keys of an earlier topic are still there; try again.", topic=entry.name
            )
        ready = replace(entry, state="ready", partitions_made=entry.partitions)
        now = await self._swap(entry.name, entry.encoded(), ready.encoded(), ALTER)
        current = None if not now else parse_topic(now)
        if now is not None and (current is None or current.id != entry.id or current.state == "deleting"):
            # Deleted while this was at it: what was made behind the back of who deleted it must not stand in the way.
            await asyncio.gather(*(self._new_partition(entry, number).delete() for number in numbers))
            raise TopicBusy(f"Topic {entry.name!r} was changed by another request.", topic=entry.name)
        return self._keep(current or ready)

    async def _remove(self, entry: TopicEntry) -> None:
        self.forget(entry.name)
        for number in range(entry.partitions):
            await self._new_partition(entry, number).delete()
        if self._on_removal is not None:
            await self._on_removal(entry.name, entry.id)
        self.answered.forget_topic(entry.id)
        await self._swap(entry.name, entry.encoded(), b"", ALTER)

    def _new_partition(self, entry: TopicEntry, number: int, traffic: TopicTraffic | None = None) -> Partition:
        """traffic: the counters of the topic; without them, only for the creation or deletion of its keys."""
        of = entry.name, number, entry.id
        return Partition(
            self._store, *of, entry.over(self._config), self._clock, self._tails.open(), self._offload,
            self.answered.of(*of), delays_by_headers=entry.delays_by_headers, traffic=traffic,
            on_scheduled=self._on_scheduled, on_transactional=self.transactional_writes.noting(*of),
        )  # fmt: skip
