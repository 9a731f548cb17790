"""A look over everything: topics with their totals, who is held up by which transaction, who is behind.

One look serves every page for FRESH_S; it reads each partition once, AT_ONCE topics at a time, and stops at
PARTITIONS_MAX, which the pages then say.  While somebody looks at the console the ends of all logs are remembered every
few seconds, so the overview has a curve of what all brokers together take in; nobody looking, nothing is read.
"""

from __future__ import annotations

import asyncio
from collections import deque
from weakref import WeakKeyDictionary

import msgspec

from app.console.health import Behind, Held
from redis_ledger.broker.broker import Broker
from redis_ledger.broker.types import PartitionState, Topic, Transaction
from redis_ledger.errors import LedgerError, UnknownSubscription, UnknownTopic

FRESH_MS = 2_000
AT_ONCE = 16
PARTITIONS_MAX = 2_000
CURSORS_MAX = 500
SAMPLES_MAX = 360
TRANSACTIONS_MAX = 1_000


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
    at_ms: int
    appended: int


class Survey(msgspec.Struct):
    """memory: part of maxmemory that the fullest Redis uses, None without one."""

    at_ms: int
    topics: list[TopicTotals]
    held: list[Held]
    behind: list[Behind]
    transactions: int
    oldest: list[str]
    is_cut: bool
    unread: int
    memory: float | None


class Surveyor:
    """Of one broker.  samples: oldest first."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._last: Survey | None = None
        self._lock = asyncio.Lock()
        self.samples: deque[Sample] = deque(maxlen=SAMPLES_MAX)

    async def look(self) -> Survey:
        async with self._lock:
            now = self._broker.clock.now_ms()
            if self._last is None or now - self._last.at_ms >= FRESH_MS:
                self._last = await self._look(now)
                appended = sum(each.appended for each in self._last.topics)
                self.samples.append(Sample(now, appended))
            return self._last

    async def _look(self, now: int) -> Survey:
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
        behind: list[Behind] = []
        unread = 0
        for at in range(0, len(chosen), AT_ONCE):
            some = chosen[at : at + AT_ONCE]
            answers = await asyncio.gather(*(self._topic(each, by_id, now) for each in some), return_exceptions=True)
            for answer in answers:
                if isinstance(answer, UnknownTopic):
                    continue  # deleted meanwhile
                if isinstance(answer, LedgerError):
                    unread += 1
                elif isinstance(answer, BaseException):
                    raise answer
                else:
                    totals.append(answer[0])
                    held += answer[1]
        room = CURSORS_MAX
        for each in chosen:
            room -= each.partitions
            if room < 0:
                is_cut = True
                break
            behind += await self._behind(each.name)
        oldest = [str(each.id) for each in opened[:5]]
        nodes = await broker.store.node_info()
        used = [n.used_memory_bytes / n.maxmemory_bytes for n in nodes if n.used_memory_bytes and n.maxmemory_bytes]
        memory = max(used, default=None)
        return Survey(now, totals, held, behind, len(opened), oldest, is_cut, unread, memory)

    async def _topic(self, topic: Topic, opened: dict[str, Transaction], now: int) -> tuple[TopicTotals, list[Held]]:
        _, states = await self._broker.topics.describe(topic.name)
        totals = total(topic, states)
        await self._scheduled(totals)
        if not totals.held:
            return totals, []
        holders: dict[int, str] = {}
        for each in await self._broker.topics.holding(topic.name):
            holders.setdefault(each.partition, str(each.transaction))
        found = []
        for state in states:
            txn = opened.get(holders.get(state.partition, ""))
            if txn is not None and state.stable_offset < state.end_offset:
                records = state.end_offset - state.stable_offset
                since = max(now - txn.started_ms, 0)
                who = txn.principal or txn.owner
                found.append(Held(topic.name, state.partition, records, str(txn.id), who, since, txn.status))
        return totals, found

    async def _scheduled(self, totals: TopicTotals) -> None:
        delays = self._broker.delays
        totals.scheduled = await delays.pending(totals.name)
        if not totals.scheduled:
            return
        late = [each for each in await delays.counts(totals.name) if each.overdue]
        totals.overdue = sum(each.overdue for each in late)
        totals.overdue_ms = max((delays.now_ms() - each.first_due_ms for each in late), default=0)

    async def _behind(self, topic: str) -> list[Behind]:
        found = []
        try:
            for name, kind in await self._broker.subscriptions.list(topic):
                stats = await self._broker.subscriptions.stats(topic, name)
                found.append(Behind(topic, name, kind, sum(c.backlog for c in stats.cursors)))
        except (UnknownTopic, UnknownSubscription):
            return found  # deleted meanwhile
        return found


def total(topic: Topic, states: list[PartitionState]) -> TopicTotals:
    return TopicTotals(
        topic.name,
        len(states),
        sum(each.end_offset - each.start_offset for each in states),
        sum(each.bytes for each in states),
        sum(each.end_offset - each.stable_offset for each in states),
        sum(each.open_transactions for each in states),
        sum(each.end_offset for each in states),
    )


_surveyors: WeakKeyDictionary[Broker, Surveyor] = WeakKeyDictionary()


def surveyor(broker: Broker) -> Surveyor:
    found = _surveyors.get(broker)
    if found is None:
        found = _surveyors[broker] = Surveyor(broker)
    return found
