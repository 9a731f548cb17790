"""The metrics of what is in Redis: offsets, lag, open transactions, memory.

    /metrics ─▶ show() ─▶ look: catalog ─▶ partitions ─▶ first records held back ─▶ cursors ─▶ coordinators, nodes
                              at most once in FRESH_S, and waiting for WAIT_S at most; what Redis does not tell in time
                              stays as it was for STALE_S; redis_ledger_overview_timestamp_seconds says of when it is

Every step is one pipelined read a partition (or cursor), AT_ONCE of them at a time, so a look costs O(partitions) and
other work goes on between.  Nothing is locked and no script runs: two numbers may be a few milliseconds apart.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence, Set
from typing import Any, NamedTuple
from urllib.parse import unquote

from redis_ledger.broker.cluster.live_brokers import LiveBrokers
from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.ledger import entries as logs
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.topic_entry import TopicEntry
from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.server_info import NodeInfo
from redis_ledger.store.store import Store
from redis_ledger.telemetry import metrics
from redis_ledger.telemetry.logs import Seldom
from redis_ledger.telemetry.series import Family
from redis_ledger.txn.coordinator import Coordinators

FRESH_S, WAIT_S = 3.0, 1.0
STALE_S = 60.0  # what is older is not shown: another broker knows better, and a lag that stands still tells nothing
AT_ONCE = 128  # reads under way; answering so many takes about a millisecond

_seldom = Seldom()


class Place(NamedTuple):
    """A partition and where it stands.  held_since_ms: when the first record was appended that is held back."""

    topic: str
    number: int
    keys: PartitionKeys
    start: int = 0
    stable: int = 0
    end: int = 0
    held_since_ms: int | None = None


class PartitionMetrics(NamedTuple):
    """What a group or subscription still has to get on one partition.  unacked: delivered, and not acknowledged."""

    lag: int
    unacked: int


def standing(row: Sequence[bytes | None], place: Place) -> PartitionMetrics | None:
    """row: kind, read, leased, held, offset, returned.  None: it is gone, or a group that has committed nothing
    here."""
    kind, read, leased, held, offset, returned = row
    if kind is None:
        return None
    if kind == b"kafka":
        at = int(offset or -1)
        return None if at < 0 else PartitionMetrics(max(place.end - max(at, place.start), 0), 0)
    unacked = int(leased or 0) + int(held or 0)
    given_back = min(int(returned or 0), int(leased or 0))
    return PartitionMetrics(unacked + max(place.stable - max(int(read or 0), place.start), 0), unacked - given_back)


class MetricsCollector:
    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        coordinators: Coordinators,
        members: LiveBrokers,
        config: Config,
        clock: Clock,
    ) -> None:
        self._store, self._catalog, self._coordinators = store, catalog, coordinators
        self._members, self._config, self._clock = members, config, clock
        self._loop = asyncio.get_running_loop()
        self._looked_s = -FRESH_S
        self._known_s = 0.0  # when a look was begun that came to its end
        self._keys: dict[tuple[str, int], PartitionKeys] = {}
        self._task: asyncio.Task[None] | None = None
        metrics.topics.most = config.metrics_topics_max

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def show(self) -> None:
        """Brings the metrics up to date, unless they are; when that takes too long, it goes on by itself."""
        metrics.coordinator_waiting.set(sum(each.waiting for each in self._coordinators))
        metrics.brokers_live.set(len(self._members.live))
        metrics.kafka_brokers_live.set(len(self._members.nodes()))
        metrics.brokers_open.set(len(self._members.unauthenticated))
        now = self._loop.time()
        if self._task is None or (self._task.done() and now - self._looked_s >= FRESH_S):
            self._looked_s = now
            self._task = self._loop.create_task(self._look_quietly())
        await asyncio.wait({self._task}, timeout=WAIT_S)

    async def _look_quietly(self) -> None:
        began = self._loop.time()
        try:
            await self.look()
        except Exception as error:  # noqa: BLE001 - what is known goes on to be shown
            _seldom.failed("the metrics of what is in Redis are as they were", error)
        else:
            self._known_s = began
            metrics.overview_seconds.set(self._loop.time() - began)
            metrics.overview_shown.set(time.time())
        if began - self._known_s > STALE_S:
            for family in metrics.IN_REDIS:
                family.put(())

    async def look(self) -> None:
        entries = await self._catalog.list()
        self._forget({entry.name for entry in entries})
        metrics.topics_there.set(len(entries))
        metrics.partitions_there.set(sum(entry.partitions for entry in entries))
        places = await self._offsets(self._chosen(entries))
        metrics.partitions_unshown.set(sum(entry.partitions for entry in entries) - len(places))
        await self._show_offsets(places)
        await self._lags(places)
        await self._transactions()
        self._show_nodes(await self._store.node_info())

    def _forget(self, there: Set[str]) -> None:
        """Topics that are gone; others get the room."""
        gone = [name for name in metrics.topics if name not in there and not self._catalog.known(name)]
        if gone:
            metrics.topics.forget(gone)
            self._catalog.count_anew()
            for name in gone:
                metrics.forget_scheduled(name)

    def _chosen(self, entries: Sequence[TopicEntry]) -> list[Place]:
        """The partitions with series of their own: whole topics, as long as there is room."""
        room, chosen = self._config.metrics_partitions_max, list[Place]()
        for entry in entries:
            if metrics.topics.admits(entry.name) and entry.partitions <= room - len(chosen):
                chosen += [Place(entry.name, n, self._keys_of(entry.name, n)) for n in range(entry.partitions)]
        self._keys = {(place.topic, place.number): place.keys for place in chosen}
        return chosen

    def _keys_of(self, topic: str, number: int) -> PartitionKeys:
        """Kept from look to look: to spell those of a thousand partitions takes longer than to ask for them."""
        return self._keys.get((topic, number)) or PartitionKeys(self._store.prefix, topic, number)

    async def _offsets(self, places: Sequence[Place]) -> list[Place]:
        """Those that are there still, with their offsets."""
        command = self._store.command
        rows = await self._each(
            lambda p: command("HMGET", p.keys.state, "start", "stable", "next", key=p.keys.state), places
        )
        found = [
            place._replace(start=int(row[0]), stable=int(row[1]), end=int(row[2]))
            for place, row in zip(places, rows, strict=True)
            if row[2] is not None
        ]
        held = [i for i, place in enumerate(found) if place.stable < place.end]
        firsts = await self._each(
            lambda i: command(
                "XRANGE", found[i].keys.log, found[i].stable, "+", "COUNT", 1, key=found[i].keys.state
            ),
            held,
        )  # fmt: skip
        for i, reply in zip(held, firsts, strict=True):
            if first := logs.parse_log(reply):
                found[i] = found[i]._replace(held_since_ms=first[0].appended_ms)
        return found

    async def _show_offsets(self, places: Sequence[Place]) -> None:
        now_ms = self._clock.now_ms()
        shown: list[tuple[Family, Callable[[Place], float]]] = [
            (metrics.partition_start, lambda p: p.start),
            (metrics.partition_stable, lambda p: p.stable),
            (metrics.partition_end, lambda p: p.end),
            (metrics.stable_lag_records, lambda p: p.end - p.stable),
            (
                metrics.stable_lag_seconds,
                lambda p: 0 if p.held_since_ms is None else max(now_ms - p.held_since_ms, 0) / 1000,
            ),
        ]
        for family, value in shown:
            family.put([((p.topic, p.number), value(p)) for p in places])
            await asyncio.sleep(0)  # others go on meanwhile

    async def _lags(self, places: Sequence[Place]) -> None:
        """A subscription or group is there when it is on partition 0, and has a cursor on partitions it has used.
        It is counted whole or not at all."""
        command, room = self._store.command, self._config.metrics_cursors_max
        firsts = [place for place in places if place.number == 0]
        rows = await self._each(lambda p: command("HKEYS", p.keys.subs, key=p.keys.state), firsts)
        of: dict[str, list[Place]] = {}
        for place in places:
            of.setdefault(place.topic, []).append(place)
        wanted, unshown = list[tuple[Place, str]](), 0
        for first, row in zip(firsts, rows, strict=True):
            theirs = of[first.topic]
            for name in [unquote(name.decode()) for name in row if name]:
                if len(theirs) <= room - len(wanted):
                    wanted += [(place, name) for place in theirs]
                else:
                    unshown += len(theirs)
        metrics.cursors_unshown.set(unshown)
        rows = await self._each(
            lambda at: command(
                "HMGET",
                at[0].keys.sub(at[1]).cursor,
                "kind",
                "read",
                "leased",
                "held",
                "offset",
                "returned",
                key=at[0].keys.state,
            ),
            wanted,
        )
        groups: dict[tuple[str, str], int] = {}
        subscriptions: dict[tuple[str, str], PartitionMetrics] = {}
        for (place, name), row in zip(wanted, rows, strict=True):
            found, at = standing(row, place), (place.topic, name)
            if found is None:
                continue
            if row[0] == b"kafka":
                groups[at] = groups.get(at, 0) + found.lag
            else:
                lag, unacked = subscriptions.get(at, PartitionMetrics(0, 0))
                subscriptions[at] = PartitionMetrics(lag + found.lag, unacked + found.unacked)
        metrics.group_lag.put(groups.items())
        metrics.subscription_lag.put([(at, each.lag) for at, each in subscriptions.items()])
        metrics.subscription_unacked.put([(at, each.unacked) for at, each in subscriptions.items()])

    async def _transactions(self) -> None:
        command = self._store.command

        async def one(keys: Any) -> tuple[int, int | None]:
            count, oldest = await asyncio.gather(
                command("ZCARD", keys.order, key=keys.state),
                command("ZRANGEBYLEX", keys.order, "(", "+", "LIMIT", 0, 1, key=keys.state),
            )
            if not oldest:
                return max(int(count) - 1, 0), None
            row = await command("HGET", keys.txns, int(oldest[0]), key=keys.state)
            # "state deadline started ...", as Coordinators reads it
            return int(count) - 1, int(row.split(b" ", 3)[2]) if row else None

        told = await asyncio.gather(*(one(each.keys) for each in self._coordinators))
        started = [at for _, at in told if at is not None]
        metrics.transactions_live.set(sum(count for count, _ in told))
        age_ms = self._clock.now_ms() - min(started) if started else 0
        metrics.transaction_oldest.set(max(age_ms, 0) / 1000)

    def _show_nodes(self, nodes: Sequence[NodeInfo]) -> None:
        def put(family: Family, value: Callable[[NodeInfo], float | None]) -> None:
            told = [((node.address,), value(node)) for node in nodes]
            family.put([(at, each) for at, each in told if each is not None])

        put(metrics.redis_memory_used, lambda n: n.used_memory_bytes)
        put(metrics.redis_memory_max, lambda n: n.maxmemory_bytes or None)
        put(metrics.redis_fragmentation, lambda n: n.fragmentation)
        put(metrics.redis_append_only, lambda n: -1 if n.appendonly is None else int(n.appendonly))

    async def _each(self, ask: Callable[[Any], asyncio.Future[Any]], subjects: Sequence[Any]) -> list[Any]:
        """The answers in order, AT_ONCE of them under way at a time."""
        answers: list[Any] = []
        for at in range(0, len(subjects), AT_ONCE):
            answers += await asyncio.gather(*map(ask, subjects[at : at + AT_ONCE]))
        return answers
