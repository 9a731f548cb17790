"""Decides when the payload of aborted transactions is deleted: some seconds after the abort.

    look                                    after aborted_payload_retention_ms
    aborts 7, stable offset 120    ───────▶ delete what is aborted below 120; was 120 the end?
                                              yes: nothing is left of these 7 aborts     no: the next look goes on

A look is one read.  It finds nothing to do if the number of aborts is the one at which nothing was left.  Whatever lies
below the stable offset of a look was decided by then, so it is at least as old as the wait.

The sidecar buffer is cleared at every look: no reader ever sees the batches of its aborted transactions.
Source: docs/decisions/0042, 0044; requirements TB-36, SC-16.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from redis_ledger.broker.cluster.maintenance_turns import MaintenanceTurns, PartitionKey
from redis_ledger.config import Config
from redis_ledger.errors import LedgerError, UnknownTopic
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.reclaim import reclaim
from redis_ledger.ledger.release_sidecar import has_released, release_sidecar
from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.store import Store
from redis_ledger.telemetry import metrics
from redis_ledger.telemetry.logs import RateLimitedLog

TICK_S = 1.0  # between two looks at what has waited; they read only memory
LOOK_S = 10.0  # between two readings of the list of topics
OWN_S, OTHERS_S = 15.0, 300.0  # between two looks at a partition (maintenance_turns.py)

_limited_log = RateLimitedLog()


class Waiting(NamedTuple):
    """A look at a partition.  until_s: by the clock of the event loop."""

    aborts: int
    stable_offset: int
    end_offset: int
    until_s: float

    def leaves_nothing(self, reclaimed_offset: int) -> bool:
        """Whether all of its aborts lie below the reclaimed offset.  Those above the stable offset may not."""
        return reclaimed_offset >= self.end_offset


class AbortedPayload:
    """maintains: whether this broker maintains a topic's partition."""

    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        maintains: Callable[[str, int], bool],
        config: Config,
    ) -> None:
        self._store, self._catalog = store, catalog
        self._retention_ms = config.aborted_payload_retention_ms
        self._turns = MaintenanceTurns(maintains, OWN_S, OTHERS_S)
        self._waiting: dict[PartitionKey, Waiting] = {}
        self._finished: dict[PartitionKey, int] = {}  # the number of aborts of which nothing was left
        self._loop = asyncio.get_running_loop()
        self._looked_s = float("-inf")

    async def reclaim_due(self) -> None:
        """Looks at the partitions whose turn it is, and deletes what has waited."""
        if self._loop.time() - self._looked_s >= LOOK_S:
            self._looked_s = self._loop.time()
            await self._look_at_due()
        for place, waiting in [*self._waiting.items()]:
            if self._loop.time() >= waiting.until_s:
                await self._quietly(place, self._reclaim(place, waiting))

    async def _look_at_due(self) -> None:
        places = await self._places()
        self._turns.forget_others(places)
        self._waiting = {place: self._waiting[place] for place in places if place in self._waiting}
        self._finished = {place: self._finished[place] for place in places if place in self._finished}
        for place in places:
            if place not in self._waiting and self._turns.is_due(place, self._loop.time()):
                self._turns.took(place, self._loop.time())
                await self._quietly(place, self._look(place))

    async def look_at_all(self) -> None:
        """Looks at every partition now, whichever broker maintains it."""
        for place in await self._places():
            await self._quietly(place, self._look(place))

    async def _places(self) -> list[PartitionKey]:
        entries = await self._catalog.list()
        return [PartitionKey(entry.name, entry.id, n) for entry in entries for n in range(entry.partitions)]

    async def _quietly(self, place: PartitionKey, act: Awaitable[None]) -> None:
        try:
            await act
        except UnknownTopic:
            self._waiting.pop(place, None)  # deleted since
        except LedgerError as error:
            _limited_log.failed("payload of aborted transactions could not be deleted, trying again", error,
                                topic=place.topic, partition=place.number)  # fmt: skip

    async def _look(self, place: PartitionKey) -> None:
        keys = PartitionKeys(self._store.prefix, place.topic, place.number)
        fields = await self._store.command("HMGET", keys.state, "topic_id", "aborted", "stable", "next", key=keys.state)
        if fields[0] is None or fields[0].decode() != place.topic_id:
            return
        if await has_released(self._store, keys):
            released = await release_sidecar(self._store, keys, place.topic, place.topic_id)
            metrics.aborted_payload_reclaimed_bytes.inc(released.bytes)
        aborts, stable, end = (int(field or 0) for field in fields[1:])
        if self._retention_ms >= 0 and aborts != self._finished.get(place, 0):
            self._waiting[place] = Waiting(aborts, stable, end, self._loop.time() + self._retention_ms / 1000)

    async def _reclaim(self, place: PartitionKey, waiting: Waiting) -> None:
        keys = PartitionKeys(self._store.prefix, place.topic, place.number)
        done = await reclaim(self._store, keys, place.topic, place.topic_id, waiting.stable_offset)
        metrics.aborted_payload_reclaimed_bytes.inc(done.bytes)
        if self._waiting.get(place) is waiting:
            del self._waiting[place]
        if waiting.leaves_nothing(done.offset):
            self._finished[place] = waiting.aborts
