"""Collects the metrics of what is in Redis: offsets, lag, open transactions, memory.

    /metrics ─▶ show() ─▶ collect: catalog ─▶ partitions ─▶ first records held back ─▶ cursors ─▶ coordinators, nodes
                          at most once in FRESH_S; a scrape waits for at most WAIT_S, and then shows the previous values
                          for at most STALE_S; redis_ledger_overview_timestamp_seconds is the time of the values

Every step is one pipelined read per partition or cursor, AT_ONCE at a time: O(partitions), and other tasks run between.
No locks and no scripts: two numbers may be a few milliseconds apart.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence, Set
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
from redis_ledger.telemetry import metrics, transaction_metrics
from redis_ledger.telemetry.logs import RateLimitedLog
from redis_ledger.telemetry.series import OTHER, Family
from redis_ledger.txn.coordinator import Coordinators
from redis_ledger.txn.operations import Coordinator

FRESH_S, WAIT_S = 3.0, 1.0
STALE_S = 60.0  # older values are removed: another broker has newer ones
COORDINATORS_SHOWN = 64  # with their own series; the others share "other"
AT_ONCE = 128  # concurrent reads; Redis answers them in about a millisecond

_limited_log = RateLimitedLog()


class PartitionOffsets(NamedTuple):
    """held_since_ms: append time of the first record above the last stable offset.  open, committed, aborted:
    transactions that have written here."""

    topic: str
    number: int
    keys: PartitionKeys
    start: int = 0
    stable: int = 0
    end: int = 0
    held_since_ms: int | None = None
    open: int = 0
    committed: int = 0
    aborted: int = 0


class PartitionMetrics(NamedTuple):
    """Of a group or subscription on one partition.  unacked: delivered and not acknowledged.  pending: of these,
    acknowledged by open transactions."""

    lag: int
    unacked: int
    pending: int = 0


class CoordinatorMetrics(NamedTuple):
    """oldest_ms: age of the oldest open transaction; 0: none.  appends: entries that were ever added to the log."""

    live: int
    oldest_ms: int
    begun: int
    committed: int
    aborted: int
    timed_out: int
    appends: int
    entries: int

    def with_those_of(self, other: CoordinatorMetrics) -> CoordinatorMetrics:
        sums = CoordinatorMetrics(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))
        return sums._replace(oldest_ms=max(self.oldest_ms, other.oldest_ms))


def by_label(rows: Iterable[CoordinatorMetrics], most: int) -> dict[int | str, CoordinatorMetrics]:
    """The metrics of coordinators 0 and on, by label: those beyond `most` are added up."""
    shown: dict[int | str, CoordinatorMetrics] = {}
    for number, row in enumerate(rows):
        label = number if number < most else OTHER
        shown[label] = row if label not in shown else shown[label].with_those_of(row)
    return shown


def parse_cursor(row: Sequence[bytes | None], place: PartitionOffsets) -> PartitionMetrics | None:
    """row: kind, read, leased, held, offset, returned.  None: deleted, or a group without a commit here."""
    kind, read, leased, held, offset, returned = row
    if kind is None:
        return None
    if kind == b"kafka":
        at = int(offset or -1)
        return None if at < 0 else PartitionMetrics(max(place.end - max(at, place.start), 0), 0)
    pending = int(held or 0)
    unacked = int(leased or 0) + pending
    given_back = min(int(returned or 0), int(leased or 0))
    lag = unacked + max(place.stable - max(int(read or 0), place.start), 0)
    return PartitionMetrics(lag, unacked - given_back, pending)


class MetricsCollector:
    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        coordinators: Coordinators,
        live_brokers: LiveBrokers,
        config: Config,
        clock: Clock,
    ) -> None:
        self._store, self._catalog, self._coordinators = store, catalog, coordinators
        self._live_brokers, self._config, self._clock = live_brokers, config, clock
        self._loop = asyncio.get_running_loop()
        self._started_s = -FRESH_S
        self._collected_s = 0.0  # start of the last collection that succeeded
        self._keys: dict[tuple[str, int], PartitionKeys] = {}
        self._task: asyncio.Task[None] | None = None
        metrics.topics.most = config.metrics_topics_max

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def show(self) -> None:
        """Collects the metrics unless they are fresh; a collection longer than WAIT_S continues in the background."""
        transaction_metrics.coordinator_waiting.set(sum(each.waiting for each in self._coordinators))
        metrics.brokers_live.set(len(self._live_brokers.live))
        metrics.kafka_brokers_live.set(len(self._live_brokers.nodes()))
        metrics.brokers_open.set(len(self._live_brokers.unauthenticated))
        now = self._loop.time()
        if self._task is None or (self._task.done() and now - self._started_s >= FRESH_S):
            self._started_s = now
            self._task = self._loop.create_task(self._collect_quietly())
        await asyncio.wait({self._task}, timeout=WAIT_S)

    async def _collect_quietly(self) -> None:
        began = self._loop.time()
        try:
            await self.collect()
        except Exception as error:  # noqa: BLE001 - the previous values stay
            _limited_log.failed("metrics of Redis could not be collected; the previous values stay", error)
        else:
            self._collected_s = began
            metrics.overview_seconds.set(self._loop.time() - began)
            metrics.overview_shown.set(time.time())
        if began - self._collected_s > STALE_S:
            for family in (*metrics.IN_REDIS, *transaction_metrics.IN_REDIS):
                family.put(())

    async def collect(self) -> None:
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
        """Removes the series of deleted topics, so that other topics get series."""
        gone = [name for name in metrics.topics if name not in there and not self._catalog.known(name)]
        if gone:
            metrics.topics.forget(gone)
            self._catalog.count_anew()
            for name in gone:
                metrics.forget_scheduled(name)

    def _chosen(self, entries: Sequence[TopicEntry]) -> list[PartitionOffsets]:
        """The partitions with their own series: whole topics, up to metrics_partitions_max."""
        room, chosen = self._config.metrics_partitions_max, list[PartitionOffsets]()
        for entry in entries:
            if metrics.topics.admits(entry.name) and entry.partitions <= room - len(chosen):
                chosen += [
                    PartitionOffsets(entry.name, n, self._keys_of(entry.name, n)) for n in range(entry.partitions)
                ]
        self._keys = {(place.topic, place.number): place.keys for place in chosen}
        return chosen

    def _keys_of(self, topic: str, number: int) -> PartitionKeys:
        """Cached: building the keys of a thousand partitions takes longer than the reads."""
        return self._keys.get((topic, number)) or PartitionKeys(self._store.prefix, topic, number)

    async def _offsets(self, places: Sequence[PartitionOffsets]) -> list[PartitionOffsets]:
        """The partitions that still exist, with their offsets."""
        command = self._store.command
        rows = await self._each(
            lambda p: command(
                "HMGET", p.keys.state, "start", "stable", "next", "committed", "aborted", key=p.keys.state
            ),
            places,
        )
        found = [
            place._replace(
                start=int(row[0]),
                stable=int(row[1]),
                end=int(row[2]),
                committed=int(row[3] or 0),
                aborted=int(row[4] or 0),
            )
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
        counts = await self._each(lambda i: command("HLEN", found[i].keys.open, key=found[i].keys.state), held)
        for i, count in zip(held, counts, strict=True):
            found[i] = found[i]._replace(open=max(count - 1, 0))  # without the sentinel
        return found

    async def _show_offsets(self, places: Sequence[PartitionOffsets]) -> None:
        now_ms = self._clock.now_ms()
        shown: list[tuple[Family, Callable[[PartitionOffsets], float]]] = [
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
            await asyncio.sleep(0)  # let other tasks run
        open_of, ended_of = dict[tuple[str], int](), dict[tuple[str, str], int]()
        for p in places:
            open_of[p.topic,] = open_of.get((p.topic,), 0) + p.open
            for outcome, count in (("committed", p.committed), ("aborted", p.aborted)):
                ended_of[p.topic, outcome] = ended_of.get((p.topic, outcome), 0) + count
        transaction_metrics.topic_live.put(open_of.items())
        transaction_metrics.topic_ended.put(ended_of.items())

    async def _lags(self, places: Sequence[PartitionOffsets]) -> None:
        """Sums lag over partitions.  Partition 0 lists all groups and subscriptions.  Each is counted whole or not."""
        command, room = self._store.command, self._config.metrics_cursors_max
        firsts = [place for place in places if place.number == 0]
        rows = await self._each(lambda p: command("HKEYS", p.keys.subs, key=p.keys.state), firsts)
        of: dict[str, list[PartitionOffsets]] = {}
        for place in places:
            of.setdefault(place.topic, []).append(place)
        cursors, unshown = list[tuple[PartitionOffsets, str]](), 0
        for first, row in zip(firsts, rows, strict=True):
            theirs = of[first.topic]
            for name in [unquote(name.decode()) for name in row if name]:
                if len(theirs) <= room - len(cursors):
                    cursors += [(place, name) for place in theirs]
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
            cursors,
        )
        groups: dict[tuple[str, str], int] = {}
        subscriptions: dict[tuple[str, str], PartitionMetrics] = {}
        for (place, name), row in zip(cursors, rows, strict=True):
            found, at = parse_cursor(row, place), (place.topic, name)
            if found is None:
                continue
            if row[0] == b"kafka":
                groups[at] = groups.get(at, 0) + found.lag
            else:
                sums = zip(found, subscriptions.get(at, PartitionMetrics(0, 0)), strict=True)
                subscriptions[at] = PartitionMetrics(*map(sum, sums))
        metrics.group_lag.put(groups.items())
        metrics.subscription_lag.put([(at, each.lag) for at, each in subscriptions.items()])
        metrics.subscription_unacked.put([(at, each.unacked) for at, each in subscriptions.items()])
        transaction_metrics.pending_acks.put([(at, each.pending) for at, each in subscriptions.items()])

    async def _transactions(self) -> None:
        rows = await asyncio.gather(*map(self._coordinator_metrics, self._coordinators))
        shown = by_label(rows, COORDINATORS_SHOWN)
        families: list[tuple[Family, Callable[[CoordinatorMetrics], float]]] = [
            (transaction_metrics.transactions_live, lambda c: c.live),
            (transaction_metrics.transaction_oldest, lambda c: c.oldest_ms / 1000),
            (transaction_metrics.transactions_begun, lambda c: c.begun),
            (transaction_metrics.transactions_timed_out, lambda c: c.timed_out),
            (transaction_metrics.log_appends, lambda c: c.appends),
            (transaction_metrics.log_entries, lambda c: c.entries),
        ]
        for family, value in families:
            family.put([((label,), value(row)) for label, row in shown.items()])
        transaction_metrics.transactions_ended.put(
            [
                ((label, outcome), count)
                for label, row in shown.items()
                for outcome, count in (("committed", row.committed), ("aborted", row.aborted))
            ]
        )

    async def _coordinator_metrics(self, coordinator: Coordinator) -> CoordinatorMetrics:
        command, keys = self._store.command, coordinator.keys
        count, oldest, counts, info = await asyncio.gather(
            command("ZCARD", keys.order, key=keys.state),
            command("ZRANGEBYLEX", keys.order, "(", "+", "LIMIT", 0, 1, key=keys.state),
            command("HMGET", keys.state, "created", "committed", "aborted", "timeout", key=keys.state),
            command("XINFO", "STREAM", keys.log, key=keys.state),
        )
        row = await command("HGET", keys.txns, int(oldest[0]), key=keys.state) if oldest else None
        # "state deadline started ...", as Coordinators reads it
        age_ms = max(self._clock.now_ms() - int(row.split(b" ", 3)[2]), 0) if row else 0
        log = dict(zip(info[::2], info[1::2], strict=True))
        begun, committed, aborted, timed_out = (int(each or 0) for each in counts)
        appends, entries = int(log[b"entries-added"]), int(log[b"length"])
        live = max(int(count) - 1, 0)  # without the sentinel
        return CoordinatorMetrics(live, age_ms, begun, committed, aborted, timed_out, appends, entries)

    def _show_nodes(self, nodes: Sequence[NodeInfo]) -> None:
        def put(family: Family, value: Callable[[NodeInfo], float | None]) -> None:
            values = [((node.address,), value(node)) for node in nodes]
            family.put([(at, each) for at, each in values if each is not None])

        put(metrics.redis_memory_used, lambda n: n.used_memory_bytes)
        put(metrics.redis_memory_max, lambda n: n.maxmemory_bytes or None)
        put(metrics.redis_fragmentation, lambda n: n.fragmentation)
        put(metrics.redis_append_only, lambda n: -1 if n.appendonly is None else int(n.appendonly))

    async def _each(self, read: Callable[[Any], asyncio.Future[Any]], subjects: Sequence[Any]) -> list[Any]:
        """The results in order, AT_ONCE reads at a time."""
        answers: list[Any] = []
        for at in range(0, len(subjects), AT_ONCE):
            answers += await asyncio.gather(*map(read, subjects[at : at + AT_ONCE]))
        return answers
