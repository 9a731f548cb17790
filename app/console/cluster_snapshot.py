"""A look over everything: topics with their totals, who is held up by which transaction, who is behind.

One look serves all visitors for FRESH_MS.  It costs two reads a partition, one a topic and one a cursor, AT_ONCE topics
at a time, and stops at PARTITIONS_MAX and CURSORS_MAX, which the pages then say; a list of topics, subscriptions or
groups looks at those that it shows, and has all of them.  While somebody looks at the overview the ends of all logs are
remembered every few seconds, so it has a curve of what all brokers together take in; nobody looking, nothing is read.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar
from weakref import WeakKeyDictionary

import msgspec

from redis_ledger.app.console.health import Behind, Held
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
    """records: between log start and end.  held: behind the stable position.  overdue: scheduled records that are late,
    and by how much the latest."""

    name: str
    partitions: int
    records: int
    bytes: int
    held: int
    open_transactions: int
    appended: int  # sum of the log ends: grows by one for each record, and for each marker
    scheduled: int = 0
    overdue: int = 0
    overdue_ms: int = 0


class Sample(msgspec.Struct):
    """appended: since the first look, and what there was before; only the difference of two counts."""

    at_ms: int
    appended: int


class ClusterSnapshot(msgspec.Struct):
    """memory: part of maxmemory that the fullest Redis uses, None without one."""

    at_ms: int
    topics: list[TopicTotals]
    held: list[Held]
    behind: list[Behind]
    transactions: int
    is_cut: bool
    unread: int
    memory: float | None


class SnapshotCollector:
    """Of one broker.  samples: oldest first."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._last: ClusterSnapshot | None = None
        self._lock = asyncio.Lock()
        self._ends: dict[str, int] = {}  # of topics at the last look, as far as they could be read
        self.samples: deque[Sample] = deque(maxlen=SAMPLES_MAX)

    async def look(self) -> ClusterSnapshot:
        async with self._lock:
            now = self._broker.clock.now_ms()
            if self._last is None or now - self._last.at_ms >= FRESH_MS:
                self._last = await self._look(now)
                self._note(self._last)
            return self._last

    def _note(self, survey: ClusterSnapshot) -> None:
        """A topic that could not be read this time has lost nothing; one that was deleted takes nothing back."""
        ends = {each.name: each.appended for each in survey.topics}
        grown = sum(max(end - self._ends.get(name, 0), 0) for name, end in ends.items())
        self._ends = {**self._ends, **ends} if survey.unread else ends
        before = self.samples[-1].appended if self.samples else 0
        self.samples.append(Sample(survey.at_ms, before + grown))

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
        held: list[Held] = []
        unread = 0

        heads: dict[str, Sequence[PartitionHead]] = {}

        async def one(topic: Topic) -> tuple[TopicTotals, list[Held]] | None:
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
        behind, is_cut_there = await self._behind(chosen, heads)
        nodes = await broker.store.node_info()
        used = [n.used_memory_bytes / n.maxmemory_bytes for n in nodes if n.used_memory_bytes and n.maxmemory_bytes]
        memory = max(used, default=None)
        return ClusterSnapshot(now, totals, held, behind, len(opened), is_cut or is_cut_there, unread, memory)

    async def _behind(
        self, topics: Sequence[Topic], heads: Mapping[str, Sequence[PartitionHead]]
    ) -> tuple[list[Behind], bool]:
        """And whether there are more than CURSORS_MAX of them."""
        room, chosen = CURSORS_MAX, []
        for topic, reader in await readers(self._broker, topics):
            room -= topic.partitions
            if room < 0:
                break
            chosen.append(reader)
        return await lags(self._broker, chosen, heads), room < 0


async def readers(broker: Broker, topics: Sequence[Topic]) -> list[tuple[Topic, Reader]]:
    """Each subscription and group.  Cost: one read a topic."""

    async def one(topic: Topic) -> list[tuple[Topic, Reader]]:
        return [(topic, Reader(topic.name, *each)) for each in await broker.subscriptions.list(topic.name)]

    return [each for some in await _each(one, topics) for each in some]


async def lags(
    broker: Broker, chosen: Sequence[Reader], heads: Mapping[str, Sequence[PartitionHead]] = NONE
) -> list[Behind]:
    """How far behind those are.  heads, cost: as Lags.of has them."""
    return [Behind(*each.reader, each.records, each.is_exact) for each in await broker.lag_reader.of(chosen, heads)]


async def waiting(broker: Broker, topics: Sequence[Topic]) -> list[tuple[str, int]]:
    """How many scheduled records each topic has.  Cost: one read a partition."""

    async def one(topic: Topic) -> tuple[str, int]:
        return topic.name, await broker.delayed.pending(topic.name)

    return await _each(one, topics)


async def totals(broker: Broker, topics: Sequence[Topic]) -> list[TopicTotals]:
    """Cost: two reads a partition."""

    async def one(topic: Topic) -> TopicTotals:
        return (await _topic(broker, topic, await broker.topics.heads(topic), {}, 0))[0]

    return await _each(one, topics)


async def _topic(
    broker: Broker, topic: Topic, heads: Sequence[PartitionHead], live: Mapping[str, Transaction], now: int
) -> tuple[TopicTotals, list[Held]]:
    found = total(topic, heads)
    await _scheduled(broker, found)
    if not found.held:  # an open transaction holds up what it wrote itself
        return found, []
    holding = await broker.topics.holding(topic.name)
    found.open_transactions = len(holding)
    first: dict[int, str] = {}
    for each in holding:
        first.setdefault(each.partition, str(each.transaction))
    held = []
    for number, head in enumerate(heads):
        txn = live.get(first.get(number, ""))
        if txn is not None and head.stable_offset < head.end_offset:
            records, who = head.end_offset - head.stable_offset, txn.principal or txn.owner
            since = max(now - txn.started_ms, 0)
            held.append(Held(topic.name, number, records, str(txn.id), who, since, txn.status))
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
    """Answers in order, AT_ONCE of them under way at a time; what was deleted meanwhile is left out."""
    found: list[R] = []
    for at in range(0, len(subjects), AT_ONCE):
        for answer in await asyncio.gather(*map(ask, subjects[at : at + AT_ONCE]), return_exceptions=True):
            if isinstance(answer, BaseException):
                if not isinstance(answer, UnknownTopic | UnknownSubscription):
                    raise answer
            else:
                found.append(answer)
    return found


_surveyors: WeakKeyDictionary[Broker, SnapshotCollector] = WeakKeyDictionary()


def surveyor(broker: Broker) -> SnapshotCollector:
    found = _surveyors.get(broker)
    if found is None:
        found = _surveyors[broker] = SnapshotCollector(broker)
    return found
