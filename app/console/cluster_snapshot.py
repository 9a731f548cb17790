"""A snapshot of the cluster: totals of topics, partitions blocked by transactions, and consumer lag.

A snapshot is shared by all requests for FRESH_MS.  It costs two reads per partition, one per topic and one per cursor,
AT_ONCE topics at a time.  It stops at PARTITIONS_MAX and CURSORS_MAX, and the pages state that it is incomplete; the
lists of topics, subscriptions and groups are complete, because they read only the rows of one page.  The log end
offsets of successive snapshots give the chart of records per second; nothing is read while no page is open.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar
from weakref import WeakKeyDictionary

import msgspec

from redis_ledger.app.console.health import BlockedPartition, ConsumerLag
from redis_ledger.broker.broker import Broker
from redis_ledger.broker.groups.lag import NONE, Reader
from redis_ledger.broker.types import Topic, Transaction
from redis_ledger.errors import LedgerError, UnknownSubscription, UnknownTopic
from redis_ledger.ledger.partition_offsets import PartitionHead

FRESH_MS = 2_000
AT_ONCE = 32
PARTITIONS_MAX = 2_000
CURSORS_MAX = 500
SAMPLES_MAX = 360
TRANSACTIONS_MAX = 1_000

T = TypeVar("T")
R = TypeVar("R")


class TopicTotals(msgspec.Struct):
    """Totals of a topic.

    records     between log start and log end offset
    held        above the last stable offset
    appended    sum of the log end offsets
    overdue     number of overdue scheduled records
    overdue_ms  delay of the most overdue one
    """

    name: str
    partitions: int
    records: int
    bytes: int
    held: int
    open_transactions: int
    appended: int
    scheduled: int = 0
    overdue: int = 0
    overdue_ms: int = 0


class Sample(msgspec.Struct):
    """appended: a running count of records and markers; only the difference of two samples is meaningful."""

    at_ms: int
    appended: int


class ClusterSnapshot(msgspec.Struct):
    """memory: used part of maxmemory on the fullest Redis primary; None without maxmemory."""

    at_ms: int
    topics: list[TopicTotals]
    held: list[BlockedPartition]
    behind: list[ConsumerLag]
    transactions: int
    is_cut: bool
    unread: int
    memory: float | None


class SnapshotCollector:
    """Collects the snapshots of one broker.  samples: oldest first."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._last: ClusterSnapshot | None = None
        self._lock = asyncio.Lock()
        self._ends: dict[str, int] = {}  # log end offsets per topic in the last snapshot
        self.samples: deque[Sample] = deque(maxlen=SAMPLES_MAX)

    async def look(self) -> ClusterSnapshot:
        async with self._lock:
            now = self._broker.clock.now_ms()
            if self._last is None or now - self._last.at_ms >= FRESH_MS:
                self._last = await self._look(now)
                self._add_sample(self._last)
            return self._last

    def _add_sample(self, snapshot: ClusterSnapshot) -> None:
        """An unreadable topic keeps its last count; a deleted topic does not reduce the total."""
        ends = {each.name: each.appended for each in snapshot.topics}
        grown = sum(max(end - self._ends.get(name, 0), 0) for name, end in ends.items())
        self._ends = {**self._ends, **ends} if snapshot.unread else ends
        before = self.samples[-1].appended if self.samples else 0
        self.samples.append(Sample(snapshot.at_ms, before + grown))

    async def _look(self, now: int) -> ClusterSnapshot:
        broker = self._broker
        room, chosen, is_cut = PARTITIONS_MAX, [], False
        for topic in await broker.topics.list():
            room -= topic.partitions
            if room < 0:
                is_cut = True
                break
            chosen.append(topic)
        live, _ = await broker.transactions.latest(TRANSACTIONS_MAX, 0)
        is_cut |= len(live) == TRANSACTIONS_MAX
        by_id = {str(each.id): each for each in live}
        opened = [each for each in live if each.status == "open"]
        totals: list[TopicTotals] = []
        held: list[BlockedPartition] = []
        unread = 0

        heads: dict[str, Sequence[PartitionHead]] = {}

        async def one(topic: Topic) -> tuple[TopicTotals, list[BlockedPartition]] | None:
            try:
                heads[topic.name] = await broker.topics.heads(topic)
                return await _topic(broker, topic, heads[topic.name], by_id, now)
            except UnknownTopic:
                raise
            except LedgerError:
                return None

        for answer in await _each(one, chosen):
            if answer is None:
                unread += 1
            else:
                totals.append(answer[0])
                held += answer[1]
        behind, is_cut_there = await self._consumer_lag(chosen, heads)
        nodes = await broker.store.node_info()
        used = [n.used_memory_bytes / n.maxmemory_bytes for n in nodes if n.used_memory_bytes and n.maxmemory_bytes]
        memory = max(used, default=None)
        return ClusterSnapshot(now, totals, held, behind, len(opened), is_cut or is_cut_there, unread, memory)

    async def _consumer_lag(
        self, topics: Sequence[Topic], heads: Mapping[str, Sequence[PartitionHead]]
    ) -> tuple[list[ConsumerLag], bool]:
        """The lags, and whether there are more than CURSORS_MAX cursors."""
        room, chosen = CURSORS_MAX, []
        for topic, reader in await readers(self._broker, topics):
            room -= topic.partitions
            if room < 0:
                break
            chosen.append(reader)
        return await lags(self._broker, chosen, heads), room < 0


async def readers(broker: Broker, topics: Sequence[Topic]) -> list[tuple[Topic, Reader]]:
    """All subscriptions and groups of the topics.  Cost: one read per topic."""

    async def one(topic: Topic) -> list[tuple[Topic, Reader]]:
        return [(topic, Reader(topic.name, *each)) for each in await broker.subscriptions.list(topic.name)]

    return [each for some in await _each(one, topics) for each in some]


async def lags(
    broker: Broker, chosen: Sequence[Reader], heads: Mapping[str, Sequence[PartitionHead]] = NONE
) -> list[ConsumerLag]:
    """The lags of the given readers.  For heads and cost see `Lags.of`."""
    return [
        ConsumerLag(*each.reader, each.records, each.is_exact) for each in await broker.lag_reader.of(chosen, heads)
    ]


async def scheduled_counts(broker: Broker, topics: Sequence[Topic]) -> list[tuple[str, int]]:
    """Scheduled records of each topic.  Cost: one read per partition."""

    async def one(topic: Topic) -> tuple[str, int]:
        return topic.name, await broker.delayed.pending(topic.name)

    return await _each(one, topics)


async def totals(broker: Broker, topics: Sequence[Topic]) -> list[TopicTotals]:
    """Cost: two reads per partition."""

    async def one(topic: Topic) -> TopicTotals:
        return (await _topic(broker, topic, await broker.topics.heads(topic), {}, 0))[0]

    return await _each(one, topics)


async def _topic(
    broker: Broker, topic: Topic, heads: Sequence[PartitionHead], live: Mapping[str, Transaction], now: int
) -> tuple[TopicTotals, list[BlockedPartition]]:
    found = total(topic, heads)
    await _scheduled(broker, found)
    if not found.held:  # an open transaction blocks at least its own records
        return found, []
    holding = await broker.topics.open_transactions(topic.name)
    found.open_transactions = len(holding)
    first: dict[int, str] = {}
    for each in holding:
        if each.holds_readers:
            first.setdefault(each.partition, str(each.transaction))
    held = []
    for number, head in enumerate(heads):
        txn = live.get(first.get(number, ""))
        if txn is not None and head.stable_offset < head.end_offset:
            records, who = head.end_offset - head.stable_offset, txn.principal or txn.owner
            since = max(now - txn.started_ms, 0)
            held.append(BlockedPartition(topic.name, number, records, str(txn.id), who, since, txn.status))
    return found, held


async def _scheduled(broker: Broker, found: TopicTotals) -> None:
    found.scheduled = await broker.delayed.pending(found.name)
    if not found.scheduled:
        return
    late = [each for each in await broker.delayed.counts(found.name) if each.overdue]
    found.overdue = sum(each.overdue for each in late)
    found.overdue_ms = max((broker.delayed.now_ms() - each.first_due_ms for each in late), default=0)


def total(topic: Topic, heads: Sequence[PartitionHead]) -> TopicTotals:
    return TopicTotals(
        topic.name,
        len(heads),
        sum(each.end_offset - each.start_offset for each in heads),
        sum(each.bytes for each in heads),
        sum(each.end_offset - each.stable_offset for each in heads),
        0,
        sum(each.end_offset for each in heads),
    )


async def _each(ask: Callable[[T], Awaitable[R]], subjects: Sequence[T]) -> list[R]:
    """Awaits AT_ONCE calls at a time and keeps the order; leaves out deleted topics and subscriptions."""
    found: list[R] = []
    for at in range(0, len(subjects), AT_ONCE):
        for answer in await asyncio.gather(*map(ask, subjects[at : at + AT_ONCE]), return_exceptions=True):
            if isinstance(answer, BaseException):
                if not isinstance(answer, UnknownTopic | UnknownSubscription):
                    raise answer
            else:
                found.append(answer)
    return found


_collectors: WeakKeyDictionary[Broker, SnapshotCollector] = WeakKeyDictionary()


def snapshot_collector(broker: Broker) -> SnapshotCollector:
    found = _collectors.get(broker)
    if found is None:
        found = _collectors[broker] = SnapshotCollector(broker)
    return found
