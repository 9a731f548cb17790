"""Retention of every topic: what is sealed, trimmed and forgotten without anybody asking.

    each partition   seal the active ledger if it is due ─▶ move the log start ─▶ drop payload ─▶ forget segments

A topic may keep what its subscriptions have not acknowledged (retention_acknowledged).  A subscription exists when it
exists on partition 0, and has a cursor on every partition or gets it on first use; so a partition gets the cursors it
lacks before it is trimmed.  A cursor that partition 0 does not know was left behind by a delete that was cut short, or
is being made by a broker of an earlier release: after LEFTOVER_MS it does not count any more.

All of it is idempotent, so any broker may do it at any time.  The keeper of a partition does it (turns.py), and a
broker that has appended to it.  One read says whether the partition has changed since it was gone through last; if not,
it is left alone until time may have something to do there.
Source: Kafka's log cleaner (delete), Pulsar "message retention"; docs/howto/retention.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import unquote

import structlog

from redis_ledger.broker.cluster.maintenance_turns import MaintenanceTurns, Place
from redis_ledger.broker.subscriptions.cursors import Cursors
from redis_ledger.broker.topics.offload import Offload
from redis_ledger.broker.topics.state_expiry import StateExpiry
from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.delay.scripts import DelayScripts
from redis_ledger.errors import LedgerError, UnknownSubscription, UnknownTopic
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.partition import Partition
from redis_ledger.ledger.partition_offsets import PartitionHead
from redis_ledger.ledger.topic_entry import TopicEntry
from redis_ledger.store.store import Store
from redis_ledger.telemetry.logs import Seldom

AT_ONCE = 8  # partitions looked at
ENTRIES_MAX = 500  # log entries trimmed by one call
LEFTOVER_MS = 600_000
RELIEFS_OF_ALL = 10  # one in so many trims what other brokers look after, too
OWN_S, OTHERS_S = 120.0, 1_800.0  # between two looks at a partition that nobody appends to through this broker
WHOLE_MS, WHOLE_MS_MIN = 1_800_000, 30_000  # an unchanged partition is gone through again after so long

log = structlog.get_logger(__name__)
_seldom = Seldom()


class _Ends(NamedTuple):
    """Where the log starts, and where what is published in Parquet ends: while neither moves, no segment comes to lie
    below the log start.  What a job publishes may lie there from the first."""

    start: int
    offloaded: int


class _Seen(NamedTuple):
    """A partition as it was gone through last.  until_ms: when time may have something to do there.  tail_end: of what
    this broker has of it in memory, which grows with its own appends.  ends: below the log start no segment is left."""

    head: PartitionHead | None = None
    settings: Mapping[str, int] | None = None
    until_ms: int = 0
    tail_end: int = 0
    ends: _Ends | None = None


class TopicRetention:
    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        cursors: Cursors,
        offload: Offload,
        keeps: Callable[[str, int], bool],
        config: Config,
        clock: Clock,
    ) -> None:
        self._store, self._catalog, self._cursors, self._offload = store, catalog, cursors, offload
        self._config, self._clock = config, clock
        self.expiry = StateExpiry(store, config, clock)
        self._turns = MaintenanceTurns(keeps, OWN_S, OTHERS_S)
        self._seen: dict[Place, _Seen] = {}
        self._reliefs = 0
        self._loop = asyncio.get_running_loop()

    async def retain(self, *, due_only: bool = False) -> None:
        """Goes through every partition once, or through those whose turn it is.  One that cannot be reached holds up no
        other."""
        entries = await self._catalog.list()
        places = [(entry, Place(entry.name, entry.id, n)) for entry in entries for n in range(entry.partitions)]
        self._turns.forget_others(place for _, place in places)
        self._seen = {place: self._seen[place] for _, place in places if place in self._seen}
        now_s = self._loop.time()
        chosen = [each for each in places if not due_only or self._is_due(*each, now_s)]
        for first in range(0, len(chosen), AT_ONCE):
            now = chosen[first : first + AT_ONCE]
            await asyncio.gather(*(self._retain_quietly(*each, changed_only=due_only) for each in now))
        self.expiry.keep_only({(place.topic_id, place.number) for _, place in places})

    async def relieve(self) -> None:
        """Only trims, for a Redis that is nearly full: what this broker looks after, and at times all of it."""
        everything, self._reliefs = self._reliefs % RELIEFS_OF_ALL == 0, self._reliefs + 1
        entries = await self._catalog.list()
        places = [(entry, Place(entry.name, entry.id, n)) for entry in entries for n in range(entry.partitions)]
        chosen = [each for each in places if everything or self._turns.is_own(each[1])]
        for first in range(0, len(chosen), AT_ONCE):
            now = chosen[first : first + AT_ONCE]
            await asyncio.gather(*(self._trim_quietly(entry, place.number) for entry, place in now))

    async def _trim_quietly(self, entry: TopicEntry, number: int) -> None:
        try:
            await self.trim(entry, await self._catalog.partition(entry.name, number))
        except UnknownTopic:
            return  # deleted meanwhile
        except LedgerError as error:
            _seldom.failed("retention failed, trying again", error, topic=entry.name, partition=number)

    def _is_due(self, entry: TopicEntry, place: Place, now_s: float) -> bool:
        if self._turns.is_due(place, now_s):
            return True
        seen = self._seen.get(place)
        partition = self._catalog.opened(place.topic, place.number)
        if partition is not None and partition.tail.end != (seen.tail_end if seen else 0):
            return True
        has_time = seen is None or self._clock.now_ms() >= seen.until_ms
        has_time = has_time or self.expiry.is_walking(place.topic_id, place.number)
        return self._turns.is_own(place) and (has_time or bool(entry.over(self._config).retention_acknowledged))

    async def _retain_quietly(self, entry: TopicEntry, place: Place, *, changed_only: bool) -> None:
        self._turns.took(place, self._loop.time())
        seen = self._seen.get(place, _Seen())
        try:
            partition = await self._catalog.partition(entry.name, place.number)
            seen = self._seen[place] = seen._replace(tail_end=partition.tail.end)
            config = entry.over(self._config)
            before = await partition.offsets.head()
            is_known = (seen.head, seen.settings) == (before, entry.settings) and self._clock.now_ms() < seen.until_ms
            goes_on = config.retention_acknowledged or self.expiry.is_walking(place.topic_id, place.number)
            if changed_only and is_known and not goes_on:
                return
            await self._seal(partition)
            await self.trim(entry, partition)
            await self.expiry.look(partition)
            head = await partition.offsets.head()
            ends = _Ends(head.start_offset, head.offloaded_offset)
            if all(ends) and seen.ends != ends:
                await self._forget_segments(entry.name, place.number)
            is_whole = (head.end_offset, head.stable_offset) == (before.end_offset, before.stable_offset)
            until_ms = self._clock.now_ms() + unchanged_ms(head, config)
            until_ms = int(min(until_ms, self.expiry.next_ms(place.topic_id, place.number)))
            self._seen[place] = _Seen(head if is_whole else None, entry.settings, until_ms, seen.tail_end, ends)
        except UnknownTopic:
            return  # deleted meanwhile
        except LedgerError as error:
            _seldom.failed("retention failed, trying again", error, topic=entry.name, partition=place.number)

    async def _seal(self, partition: Partition) -> None:
        delay_ledger = await partition.seal_what_is_due()
        if delay_ledger is not None:
            delays = DelayScripts(self._store, partition.keys, partition.topic, partition.topic_id)
            await delays.rotate(delay_ledger, self._clock.now_ms(), close=False)

    async def trim(self, entry: TopicEntry, partition: Partition) -> None:
        config = entry.over(self._config)
        waits = bool(config.retention_acknowledged)
        leftovers = await self._leftovers(partition) if waits else {}
        while True:
            trimmed = await partition.trim(
                retention_ms=config.retention_ms, retention_bytes=config.retention_bytes, acknowledged=waits,
                leftovers=leftovers, entries_max=ENTRIES_MAX,
            )  # fmt: skip
            if trimmed.entries < ENTRIES_MAX:
                return

    # -- history in Parquet ------------------------------------------------------------------------------------------

    async def _forget_segments(self, topic: str, number: int) -> None:
        """Files go after the manifest has forgotten them.  Those that cannot be deleted from here are left to the next
        run of the job that writes them: nothing names them any more."""
        files = await self._offload.forget(topic, number)
        if not files or not self._config.offload_home:
            return
        try:
            await asyncio.to_thread(_delete, self._config.offload_home, files)
        except (OSError, ValueError, ImportError) as error:  # Arrow's own errors are of both kinds
            log.warning("files below the log start are left to the next offload job", topic=topic, partition=number,
                        files=len(files), error=str(error))  # fmt: skip

    # -- cursors -----------------------------------------------------------------------------------------------------

    async def _leftovers(self, partition: Partition) -> Mapping[str, str]:
        """The cursors that do not count, by their subscription (percent-encoded), with the time they were made.

        The partition is read first: a subscription is registered on partition 0 before it has other cursors.
        """
        if partition.number == 0:
            return {}
        here = await self._subscriptions(partition)
        known = await self._subscriptions(await self._catalog.partition(partition.topic, 0))
        for name in known:
            if name not in here:
                with suppress(UnknownSubscription):  # deleted meanwhile
                    await self._cursors.ensure(partition, unquote(name))
        before = self._clock.now_ms() - LEFTOVER_MS
        strange = [name for name in here if name not in known]
        created = await asyncio.gather(*(self._created(partition, name) for name in strange))
        return {name: at for name, at in zip(strange, created, strict=True) if at and int(at) < before}

    async def _subscriptions(self, partition: Partition) -> dict[str, Any]:
        k = partition.keys
        rows = await self._store.command("HGETALL", k.subs, key=k.state)
        kinds = {name.decode(): kind.decode() for name, kind in zip(rows[::2], rows[1::2], strict=True) if name}
        return {name: kind for name, kind in kinds.items() if kind != "kafka"}

    async def _created(self, partition: Partition, name: str) -> str:
        cursor = partition.keys.sub(unquote(name)).cursor
        at = await self._store.command("HGET", cursor, "created", key=partition.keys.state)
        return at.decode() if at else ""


def unchanged_ms(head: PartitionHead, config: Config) -> int:
    """How long an unchanged partition may be left alone: a part of the times after which its records go and its ledger
    is sealed, so that neither is late by more than that."""
    parts = [WHOLE_MS, max(config.ledger_age_ms_max // 2, WHOLE_MS_MIN)]
    if head.start_offset < head.end_offset and config.retention_ms >= 0:
        parts.append(max(config.retention_ms // 20, WHOLE_MS_MIN))
    return min(parts)


def _delete(uri: str, files: Sequence[str]) -> None:
    from redis_ledger.offload.object_store import open_home

    home = open_home(uri)
    for file in files:
        home.delete(file)
