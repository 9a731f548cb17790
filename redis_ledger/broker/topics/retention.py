"""Retention of every topic: seals, trims and expires in the background.

    each partition   seal the active ledger if it is due ─▶ move the log start ─▶ drop payload ─▶ forget segments

A topic may keep records that its subscriptions have not acknowledged (retention_acknowledged).  A subscription exists
if it exists on partition 0; its cursors on other partitions are created on first use.  Missing cursors are therefore
created before a partition is trimmed.  A cursor without one on partition 0 is left over from an interrupted delete:
after LEFTOVER_MS it is ignored.

All of it is idempotent, so any broker may do it at any time: the broker that maintains a partition
(cluster/maintenance_turns.py), and a broker that has appended to it.  One read shows whether the partition has changed
since its last turn; if not, it is skipped until one of its time limits is reached.
Source: Kafka's log cleaner (delete), Pulsar "message retention"; docs/howto/retention.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import unquote

import structlog

from redis_ledger.broker.cluster.maintenance_turns import MaintenanceTurns, PartitionKey
from redis_ledger.broker.subscriptions.cursors import Cursors
from redis_ledger.broker.topics.offload import Offload
from redis_ledger.broker.topics.state_expiry import StateExpiry
from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.errors import LedgerError, UnknownSubscription, UnknownTopic
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.partition import Partition
from redis_ledger.ledger.partition_offsets import PartitionHead
from redis_ledger.ledger.topic_entry import TopicEntry
from redis_ledger.store.store import Store
from redis_ledger.telemetry.logs import RateLimitedLog

AT_ONCE = 8  # partitions
ENTRIES_MAX = 500  # log entries trimmed by one call
LEFTOVER_MS = 600_000
RELIEFS_OF_ALL = 10  # one turn in this many also trims the partitions of other brokers
OWN_S, OTHERS_S = 120.0, 1_800.0  # between two turns of a partition without appends through this broker
WHOLE_MS, WHOLE_MS_MIN = 1_800_000, 30_000  # until the next turn of an unchanged partition

log = structlog.get_logger(__name__)
_limited_log = RateLimitedLog()


class _Ends(NamedTuple):
    """The log start, and the end of the published segments.  While neither moves, no segment gets below the log start;
    a newly published segment may be below it from the beginning."""

    start: int
    offloaded: int


class _LastTurn(NamedTuple):
    """A partition after its last turn.

    until_ms: when a time limit is reached.  tail_end: of the tail cache, which grows with this broker's appends.  ends:
    no segment is left below this log start.
    """

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
        is_time_doubted: Callable[[], bool],
    ) -> None:
        self._store, self._catalog, self._cursors, self._offload = store, catalog, cursors, offload
        self._config, self._clock, self._is_time_doubted = config, clock, is_time_doubted
        self.expiry = StateExpiry(store, config, clock)
        self._turns = MaintenanceTurns(keeps, OWN_S, OTHERS_S)
        self._last_turns: dict[PartitionKey, _LastTurn] = {}
        self._reliefs = 0
        self._loop = asyncio.get_running_loop()

    async def retain(self, *, due_only: bool = False) -> None:
        """Processes every partition once, or only those due.  An unreachable partition does not delay others."""
        entries = await self._catalog.list()
        places = [(entry, PartitionKey(entry.name, entry.id, n)) for entry in entries for n in range(entry.partitions)]
        self._turns.forget_others(place for _, place in places)
        self._last_turns = {place: self._last_turns[place] for _, place in places if place in self._last_turns}
        now_s = self._loop.time()
        chosen = [each for each in places if not due_only or self._is_due(*each, now_s)]
        for first in range(0, len(chosen), AT_ONCE):
            now = chosen[first : first + AT_ONCE]
            await asyncio.gather(*(self._retain_quietly(*each, changed_only=due_only) for each in now))
        self.expiry.keep_only({(place.topic_id, place.number) for _, place in places})

    async def relieve(self) -> None:
        """Only trims, for a Redis that is nearly full: the partitions of this broker, and now and then all."""
        everything, self._reliefs = self._reliefs % RELIEFS_OF_ALL == 0, self._reliefs + 1
        entries = await self._catalog.list()
        places = [(entry, PartitionKey(entry.name, entry.id, n)) for entry in entries for n in range(entry.partitions)]
        chosen = [each for each in places if everything or self._turns.is_own(each[1])]
        for first in range(0, len(chosen), AT_ONCE):
            now = chosen[first : first + AT_ONCE]
            await asyncio.gather(*(self._trim_quietly(entry, place.number) for entry, place in now))

    async def _trim_quietly(self, entry: TopicEntry, number: int) -> None:
        try:
            await self.trim(entry, await self._catalog.partition(entry.name, number))
        except UnknownTopic:
            return  # deleted since
        except LedgerError as error:
            _limited_log.failed("retention failed, trying again", error, topic=entry.name, partition=number)

    def _is_due(self, entry: TopicEntry, place: PartitionKey, now_s: float) -> bool:
        if self._turns.is_due(place, now_s):
            return True
        seen = self._last_turns.get(place)
        partition = self._catalog.opened(place.topic, place.number)
        if partition is not None and partition.tail.end != (seen.tail_end if seen else 0):
            return True
        has_time = seen is None or seen.settings != entry.settings or self._clock.now_ms() >= seen.until_ms
        has_time = has_time or self.expiry.is_scanning(place.topic_id, place.number)
        return self._turns.is_own(place) and (has_time or bool(entry.over(self._config).retention_acknowledged))

    async def _retain_quietly(self, entry: TopicEntry, place: PartitionKey, *, changed_only: bool) -> None:
        self._turns.took(place, self._loop.time())
        seen = self._last_turns.get(place, _LastTurn())
        try:
            partition = await self._catalog.partition(entry.name, place.number)
            seen = self._last_turns[place] = seen._replace(tail_end=partition.tail.end)
            config = entry.over(self._config)
            before = await partition.offsets.head()
            is_known = (seen.head, seen.settings) == (before, entry.settings) and self._clock.now_ms() < seen.until_ms
            goes_on = config.retention_acknowledged or self.expiry.is_scanning(place.topic_id, place.number)
            if changed_only and is_known and not goes_on:
                return
            await partition.seal_what_is_due()
            await self.trim(entry, partition)
            if not self._is_time_doubted():
                await self.expiry.look(partition)
            head = await partition.offsets.head()
            ends = _Ends(head.start_offset, head.offloaded_offset)
            if all(ends) and seen.ends != ends:
                await self._forget_segments(entry.name, place.number)
            is_whole = (head.end_offset, head.stable_offset) == (before.end_offset, before.stable_offset)
            until_ms = self._clock.now_ms() + unchanged_ms(head, config)
            until_ms = int(min(until_ms, self.expiry.next_ms(place.topic_id, place.number)))
            last = _LastTurn(head if is_whole else None, entry.settings, until_ms, seen.tail_end, ends)
            if self._is_time_doubted():  # something may be left to do, and until_ms may be wrong
                last = last._replace(head=None, until_ms=0)
            self._last_turns[place] = last
        except UnknownTopic:
            return  # deleted since
        except LedgerError as error:
            _limited_log.failed("retention failed, trying again", error, topic=entry.name, partition=place.number)

    async def trim(self, entry: TopicEntry, partition: Partition) -> None:
        config = entry.over(self._config)
        waits = bool(config.retention_acknowledged)
        leftovers = await self._leftovers(partition) if waits else {}
        while True:
            retention_ms = -1 if self._is_time_doubted() else config.retention_ms
            trimmed = await partition.trim(
                retention_ms=retention_ms, retention_bytes=config.retention_bytes, acknowledged=waits,
                leftovers=leftovers, entries_max=ENTRIES_MAX,
            )  # fmt: skip
            if trimmed.entries < ENTRIES_MAX:
                return

    # -- history in Parquet ------------------------------------------------------------------------------------------

    async def _forget_segments(self, topic: str, number: int) -> None:
        """Removes segments below the log start from the manifest, then deletes their files.

        Files that this broker cannot delete are left to the next run of the offload job.
        """
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
        """The cursors to ignore: subscription (percent-encoded) → creation time.

        The partition is read first: a subscription is registered on partition 0 before it has other cursors.
        """
        if partition.number == 0:
            return {}
        here = await self._subscriptions(partition)
        known = await self._subscriptions(await self._catalog.partition(partition.topic, 0))
        for name in known:
            if name not in here:
                with suppress(UnknownSubscription):  # deleted since
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
    """How long an unchanged partition may be skipped: a part of retention_ms and of the ledger age, so that neither is
    exceeded by more than that."""
    parts = [WHOLE_MS, max(config.ledger_age_ms_max // 2, WHOLE_MS_MIN)]
    if head.start_offset < head.end_offset and config.retention_ms >= 0:
        parts.append(max(config.retention_ms // 20, WHOLE_MS_MIN))
    return min(parts)


def _delete(uri: str, files: Sequence[str]) -> None:
    from redis_ledger.offload.object_store import open_home

    home = open_home(uri)
    for file in files:
        home.delete(file)
