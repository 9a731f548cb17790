"""The gauges of delayed delivery, for each topic that this broker knows to have something scheduled.

    /metrics ─▶ show() ─▶ Redis      at most once in FRESH_S, and waiting for WAIT_S at most
                                     what Redis does not tell in time keeps its last value for STALE_S, and
                                     redis_ledger_delayed_shown_timestamp_seconds says of when that is

A look asks some thirty questions a partition, so AT_ONCE topics are looked at at a time, and when all of it takes long
it is done more seldom: for a REST_TIMES-th of the time, and every PAUSE_S_MAX.

They tell of the whole topic, all partitions, whoever leads them: brokers show the same values, and one of them is to be
taken, not their sum.  Source: PIP-195, "metrics"; requirement DD-61.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from prometheus_client import Gauge

from redis_ledger.broker.delayed.index_reader import DelayIndexReader
from redis_ledger.broker.types import DelayStats
from redis_ledger.cursor import scripts as cursors
from redis_ledger.errors import UnknownSubscription, UnknownTopic
from redis_ledger.store.store import ReplyError
from redis_ledger.telemetry import metrics
from redis_ledger.telemetry.logs import RateLimitedLog

FRESH_S = 1.0
WAIT_S = 1.0
AT_ONCE, REST_TIMES = 8, 20
PAUSE_S_MAX = 30.0  # alerts are about minutes
STALE_S = 60.0  # what is older is not shown: another broker may know better
CURSORS_MAX = 1_000  # a topic with more of them (subscriptions by partitions) shows no backlog: asking costs too much
SAMPLES = 50  # members of a sorted set that are measured
SNAPSHOTS_MAX = 256  # of a partition, measured; the others count with their bytes
BACKLOG_ENTRIES = 100  # log entries looked at for a backlog; beyond them it is counted by offsets

_limited_log = RateLimitedLog()


class Sizes(NamedTuple):
    """Of one partition.  mutable: entries of the open bucket.  index_bytes: what Redis says its keys take; None: it may
    not be asked."""

    stats: DelayStats
    mutable: int
    index_bytes: int | None


class DelayedMetrics:
    """parts: a topic's partitions; UnknownTopic when it is gone."""

    def __init__(self, parts: Callable[[str], Awaitable[Sequence[DelayIndexReader]]]) -> None:
        self._parts = parts
        self._shown: dict[str, float] = {}  # topic → when it was read
        self._asked_at = -FRESH_S
        self._took_s = 0.0
        self._room = asyncio.Semaphore(AT_ONCE)
        self._task: asyncio.Task[None] | None = None

    async def show(self, topics: Sequence[str]) -> None:
        """Brings the gauges up to date, unless they are; when that takes too long, it goes on by itself."""
        now = time.monotonic()
        if self._task is None or (self._task.done() and now - self._asked_at >= self._pause_s()):
            self._asked_at = now
            self._task = asyncio.get_running_loop().create_task(self._show_all(topics))
        await asyncio.wait({self._task}, timeout=WAIT_S)

    def _pause_s(self) -> float:
        return max(FRESH_S, min(REST_TIMES * self._took_s, PAUSE_S_MAX))

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _show_all(self, topics: Sequence[str]) -> None:
        for topic in self._shown.keys() - set(topics):
            self._forget(topic)
        await asyncio.gather(*map(self._show_quietly, topics))  # one that cannot be read holds up no other
        self._took_s = time.monotonic() - self._asked_at

    async def _show_quietly(self, topic: str) -> None:
        try:
            async with self._room:
                await self._show_one(topic)
        except UnknownTopic:
            self._forget(topic)
        except Exception as error:  # noqa: BLE001 - a mistake of ours with one topic hides no other
            _limited_log.failed("the gauges of a topic are as they were", error, topic=topic)
            if time.monotonic() - self._shown.get(topic, 0.0) > STALE_S:
                for gauge in metrics.SCHEDULED:
                    gauge.remove(topic)

    async def _show_one(self, topic: str) -> None:
        parts = await self._parts(topic)
        sizes = await asyncio.gather(*(sizes_of(part) for part in parts))
        backlog = await backlog_of(parts)
        stats = [each.stats for each in sizes]
        waiting, index_bytes = sum(each.records for each in stats), [each.index_bytes for each in sizes]
        firsts = [each.first_due_ms for each in stats if each.first_due_ms >= 0]
        self._shown[topic] = time.monotonic()
        values: list[tuple[Gauge, float | None]] = [
            (metrics.delayed_buckets, sum(each.buckets for each in stats)),
            (metrics.delayed_loaded, sum(each.loaded for each in stats)),
            (metrics.delayed_mutable, sum(each.mutable for each in sizes)),
            (metrics.delayed_snapshot_bytes, sum(each.snapshot_bytes for each in stats)),
            (metrics.delayed_index_bytes, None if None in index_bytes else sum(filter(None, index_bytes))),
            (metrics.delayed_records, waiting),
            (metrics.delayed_held, sum(each.held for each in stats)),
            (metrics.delayed_first_due, min(firsts) / 1000 if firsts else 0),
            (metrics.delayed_last_due, max(each.last_due_ms for each in stats) / 1000 if waiting else 0),
            (metrics.subscription_delayed, waiting),
            (metrics.back_log_no_delayed, backlog),
            (metrics.delayed_shown, time.time()),
        ]
        for gauge, value in values:
            if value is not None:
                gauge.labels(topic).set(value)

    def _forget(self, topic: str) -> None:
        """A topic that is gone has no series, and neither does its successor inherit any."""
        self._shown.pop(topic, None)
        metrics.forget_scheduled(topic)


async def sizes_of(part: DelayIndexReader) -> Sizes:
    """Cost: a few reads, and MEMORY USAGE (by samples) of ten keys and of the snapshots."""
    keys, store = part.partition.keys, part.index.scripts.store
    stats, opened, buckets = await asyncio.gather(
        part.stats(), store.command("ZCARD", keys.delay.open, key=keys.state), part.index.storage.buckets()
    )
    measured = [(key, SAMPLES) for key in keys.delay.all()]
    measured += [(keys.delay.snapshot(bucket.snapshot), 0) for bucket in buckets[:SNAPSHOTS_MAX]]  # 0: all of it
    others = sum(bucket.size for bucket in buckets[SNAPSHOTS_MAX:])
    asked = (store.command("MEMORY", "USAGE", key, "SAMPLES", samples, key=keys.state) for key, samples in measured)
    try:
        index_bytes = sum(size or 0 for size in await asyncio.gather(*asked)) + others
    except ReplyError:
        index_bytes = None
    return Sizes(stats, max(opened - 1, 0), index_bytes)


async def backlog_of(parts: Sequence[DelayIndexReader]) -> int | None:
    """Deliverable records that are not acknowledged, summed over subscriptions; None: too many of them to ask."""
    first = parts[0]
    keys, store = first.partition.keys, first.index.scripts.store
    names = [unquote(n.decode()) for n in await store.command("HKEYS", keys.subs, key=keys.state) if n]
    if len(names) * len(parts) > CURSORS_MAX:
        return None
    return sum(await asyncio.gather(*(_backlog(part, name) for part in parts for name in names)))


async def _backlog(part: DelayIndexReader, name: str) -> int:
    p, store = part.partition, part.index.scripts.store
    try:
        return (await cursors.stats(store, p.keys, p.topic_id, name, entries_max=BACKLOG_ENTRIES)).backlog
    except UnknownSubscription:  # not used in this partition yet, or deleted meanwhile
        return 0
