"""The gauges of delayed delivery, for each topic with a tracker on this broker.

    /metrics ─▶ show() ─▶ Redis      at most once in FRESH_S; a scrape waits for at most WAIT_S, and then shows the
                                     previous values for at most STALE_S;
                                     redis_ledger_delayed_shown_timestamp_seconds is the time of the values

A read takes some thirty calls per partition, so AT_ONCE topics are read at a time, and slow reads are less frequent:
they pause for REST_TIMES their duration, at most PAUSE_S_MAX.

Values are of the whole topic, so all brokers show the same ones: use one of them, not their sum.
Source: PIP-195, "metrics"; requirement DD-61.
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
PAUSE_S_MAX = 30.0  # alerts look at minutes
STALE_S = 60.0  # older values are removed: another broker may have newer ones
CURSORS_MAX = 1_000  # a topic with more (subscriptions × partitions) shows no backlog, as reading them costs too much
SAMPLES = 50  # members of a sorted set that MEMORY USAGE samples
SNAPSHOTS_MAX = 256  # per partition that are measured; the others count by their size
BACKLOG_ENTRIES = 100  # log entries read for a backlog; beyond them it is computed from offsets

_limited_log = RateLimitedLog()


class IndexSizes(NamedTuple):
    """Of one partition.  mutable: entries of the open bucket.  index_bytes: MEMORY USAGE of its keys; None if Redis
    does not permit it."""

    stats: DelayStats
    mutable: int
    index_bytes: int | None


class DelayedMetrics:
    """parts: the readers of a topic's partitions; raises UnknownTopic if it is deleted."""

    def __init__(self, parts: Callable[[str], Awaitable[Sequence[DelayIndexReader]]]) -> None:
        self._parts = parts
        self._shown: dict[str, float] = {}  # topic → when it was read
        self._asked_at = -FRESH_S
        self._took_s = 0.0
        self._room = asyncio.Semaphore(AT_ONCE)
        self._task: asyncio.Task[None] | None = None

    async def show(self, topics: Sequence[str]) -> None:
        """Reads the gauges unless they are fresh; a read longer than WAIT_S continues in the background."""
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
        await asyncio.gather(*map(self._show_quietly, topics))  # a topic that cannot be read delays no other
        self._took_s = time.monotonic() - self._asked_at

    async def _show_quietly(self, topic: str) -> None:
        try:
            async with self._room:
                await self._show_one(topic)
        except UnknownTopic:
            self._forget(topic)
        except Exception as error:  # noqa: BLE001 - an error of one topic must not hide others
            _limited_log.failed(
                "delayed-delivery metrics of a topic could not be read; the previous values stay", error, topic=topic
            )
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
        """Removes the series of a deleted topic, also so that a new topic of its name does not inherit them."""
        self._shown.pop(topic, None)
        metrics.forget_scheduled(topic)


async def sizes_of(part: DelayIndexReader) -> IndexSizes:
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
    return IndexSizes(stats, max(opened - 1, 0), index_bytes)


async def backlog_of(parts: Sequence[DelayIndexReader]) -> int | None:
    """Deliverable records that are not acknowledged, summed over subscriptions; None if there are too many to read."""
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
