"""Retention of every topic: what is sealed, trimmed and forgotten without anybody asking.

    each partition   seal the active ledger if it is due ─▶ move the log start ─▶ drop payload ─▶ forget cold segments

A topic may keep what its subscriptions have not acknowledged (retention_acknowledged).  A subscription exists when it
exists on partition 0, and has a cursor on every partition or gets it on first use; so a partition gets the cursors it
lacks before it is trimmed.  A cursor that partition 0 does not know was left behind by a delete that was cut short, or
is being made by a broker of an earlier release: after LEFTOVER_MS it does not count any more.

Every broker does this, and nobody has to be first: all of it is idempotent.
Source: Kafka's log cleaner (delete), Pulsar "message retention"; docs/howto/retention.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import unquote

import structlog

from redis_ledger.broker.cold import Cold
from redis_ledger.broker.cursors import Cursors
from redis_ledger.broker.expiry import Expiry
from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.delay.calls import DelayCalls
from redis_ledger.errors import LedgerError, UnknownSubscription, UnknownTopic
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.partition import Partition
from redis_ledger.ledger.topic_entry import TopicEntry
from redis_ledger.log import Seldom
from redis_ledger.store.store import Store

AT_ONCE = 8  # partitions looked at
ENTRIES_MAX = 1_000  # log entries trimmed by one call
LEFTOVER_MS = 600_000

log = structlog.get_logger(__name__)
_seldom = Seldom()


class _Ends(NamedTuple):
    """Where the log starts, and where what is published in Parquet ends: while neither moves, no segment comes to lie
    below the log start.  What a job publishes may lie there from the first."""

    start: int
    cold: int


class TopicRetention:
    def __init__(
        self, store: Store, catalog: Catalog, cursors: Cursors, cold: Cold, config: Config, clock: Clock
    ) -> None:
        self._store, self._catalog, self._cursors, self._cold = store, catalog, cursors, cold
        self._config, self._clock = config, clock
        self.expiry = Expiry(store, config, clock)
        self._looked: dict[tuple[str, int], _Ends] = {}  # a partition's manifest has nothing below its log start

    async def retain(self) -> None:
        """Looks at every partition once.  One that cannot be reached holds up no other."""
        known, self._looked = self._looked, {}
        for entry in await self._catalog.list():
            for first in range(0, entry.partitions, AT_ONCE):
                numbers = range(first, min(first + AT_ONCE, entry.partitions))
                await asyncio.gather(*(self._retain_quietly(entry, number, known) for number in numbers))
        self.expiry.keep_only(set(self._looked))

    async def relieve(self) -> None:
        """Only trims, for a Redis that is nearly full."""
        for entry in await self._catalog.list():
            for first in range(0, entry.partitions, AT_ONCE):
                numbers = range(first, min(first + AT_ONCE, entry.partitions))
                await asyncio.gather(*(self._trim_quietly(entry, number) for number in numbers))

    async def _trim_quietly(self, entry: TopicEntry, number: int) -> None:
        try:
            await self.trim(entry, await self._catalog.partition(entry.name, number))
        except UnknownTopic:
            return  # deleted meanwhile
        except LedgerError as error:
            _seldom.failed("retention failed, trying again", error, topic=entry.name, partition=number)

    async def _retain_quietly(self, entry: TopicEntry, number: int, known: Mapping[tuple[str, int], _Ends]) -> None:
        try:
            partition = await self._catalog.partition(entry.name, number)
            await self._seal(partition)
            await self.trim(entry, partition)
            await self.expiry.look(partition)
            head, at = await partition.head(), (entry.id, number)
            ends = _Ends(head.start_offset, head.cold_offset)
            if all(ends) and known.get(at) != ends:
                await self._forget_cold(entry.name, number)
            self._looked[at] = ends
        except UnknownTopic:
            return  # deleted meanwhile
        except LedgerError as error:
            _seldom.failed("retention failed, trying again", error, topic=entry.name, partition=number)

    async def _seal(self, partition: Partition) -> None:
        delay_ledger = await partition.seal_what_is_due()
        if delay_ledger is not None:
            delays = DelayCalls(self._store, partition.keys, partition.topic, partition.topic_id)
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

    async def _forget_cold(self, topic: str, number: int) -> None:
        """Files go after the manifest has forgotten them.  Those that cannot be deleted from here are left to the next
        run of the job that writes them: nothing names them any more."""
        files = await self._cold.forget(topic, number)
        if not files or not self._config.cold_home:
            return
        try:
            await asyncio.to_thread(_delete, self._config.cold_home, files)
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


def _delete(uri: str, files: Sequence[str]) -> None:
    from redis_ledger.offload.home import open_home

    home = open_home(uri)
    for file in files:
        home.delete(file)
