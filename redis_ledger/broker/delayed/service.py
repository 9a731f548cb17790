"""Deliver later: when, firing it, and looking at what waits (`waiting`), cancelling and moving it.

    produce with a due time ─▶ due_of ─▶ ledger/partition: schedule ─▶ clockwork ─▶ log entry: every reader sees it
                                                                          ▲
                     list, get, cancel, reschedule, clear  ─▶ delay/index ┘

Source: PIP-195; requirements DD; docs/decisions/0012.
"""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Sequence

from redis_ledger.broker.cluster.live_brokers import LiveBrokers
from redis_ledger.broker.delayed.messages import ScheduledMessages
from redis_ledger.broker.delayed.metrics import DelayedMetrics
from redis_ledger.broker.delayed.recurring import RecurringRecords
from redis_ledger.broker.delayed.tracker import DelayedDeliveryTracker, ServerClock
from redis_ledger.broker.types import DelayStats, NewRecord, Placed, Scheduled
from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.decoding.budget import Charge, Decoding
from redis_ledger.delay import index_repair
from redis_ledger.delay.due import DUE_MAX, rule
from redis_ledger.delay.recurrence import Recurrence
from redis_ledger.errors import InvalidDelay, LedgerError, UnknownPartition, UnknownTopic
from redis_ledger.ids import ScheduledId
from redis_ledger.ledger.append_request import Scheduling
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.partition import Partition
from redis_ledger.records.split_by_due import DueOf
from redis_ledger.store.keys import CatalogKeys
from redis_ledger.store.store import Store
from redis_ledger.telemetry import metrics

LOOKED_AT_ONCE = 256  # partitions
JUMP_MS = 500  # Redis's clock has jumped when it is off by more than this from what went by here


class DelayedDelivery:
    def __init__(self, store: Store, catalog: Catalog, members: LiveBrokers, decoding: Decoding, clock: Clock) -> None:
        self._store, self._catalog, self._members = store, catalog, members
        self._clock, self._decoding = clock, decoding
        self._loop = asyncio.get_running_loop()
        self.server = ServerClock(self._loop)
        self._heard: tuple[int, float, float] | None = None  # Redis's time at the last heartbeat, and when that was
        self._clockworks: dict[tuple[str, int], DelayedDeliveryTracker] = {}
        self._channel = CatalogKeys(store.prefix).due
        self._brokers: frozenset[str] = frozenset()
        self._looking: asyncio.Task[None] | None = None
        self._is_open = False
        self.repeats = RecurringRecords(self)
        self.gauges = DelayedMetrics(lambda topic: self._all(topic, None))

    async def open(self) -> None:
        """Finds out what waits, and when the first of it is due."""
        self._is_open = True
        await self.learn_time()
        await self._store.subscribe(self._channel, self._told, self.look_again)
        await self.look_through()

    async def close(self) -> None:
        self._is_open = False
        if self._looking is not None:
            self._looking.cancel()
        self.gauges.close()
        await asyncio.gather(*(clockwork.close() for clockwork in builtins.list(self._clockworks.values())))

    # -- time --------------------------------------------------------------------------------------------------------

    async def learn_time(self) -> None:
        """Redis's time, of the primary that is ahead.  When it has jumped, the timers are set anew."""
        asked = self._loop.time()
        times = await self._store.everywhere("TIME")
        told, now = max(int(t[0]) * 1000 + int(t[1]) // 1000 for t in times), self._loop.time()
        self.server.learn(told, asked)
        told_before, asked_before, now_before = self._heard or (told, asked, now)
        self._heard = told, asked, now
        went_ms = told - told_before
        if not (asked - now_before) * 1000 - JUMP_MS <= went_ms <= (now - asked_before) * 1000 + JUMP_MS:
            for clockwork in builtins.list(self._clockworks.values()):
                clockwork.kick()

    def now_ms(self) -> int:
        return self.server.low_ms()

    def due_of(self, deliver_at_ms: int | None, deliver_after_ms: int | None, config: Config) -> int | None:
        """When a record is due; None: now.  deliver_after_ms counts from this call.  Raises as the rule does."""
        return self.rule(config)(deliver_at_ms, deliver_after_ms)

    def rule(self, config: Config) -> DueOf:
        """`due_of` for records that are received together.  config: as it is for their topic."""
        return rule(config, self.server.low_ms(), self.server.high_ms())

    # -- who fires ---------------------------------------------------------------------------------------------------

    def leads(self, partition: Partition) -> bool:
        leader = self._members.leader(partition.topic, partition.number)
        return leader in (-1, self._members.node_id)

    def clockwork(self, partition: Partition) -> DelayedDeliveryTracker:
        at = (partition.topic, partition.number)
        found = self._clockworks.get(at)
        if found is None or found.partition.topic_id != partition.topic_id:
            if found is not None:
                found.is_closed = True
            found = self._clockworks[at] = DelayedDeliveryTracker(self, self._store, partition, self._clock)
        found.partition = partition  # the catalog keeps the settings of those that it has open
        return found

    def forget(self, clockwork: DelayedDeliveryTracker) -> None:
        """Its topic is gone."""
        at = (clockwork.partition.topic, clockwork.partition.number)
        clockwork.is_closed = True
        if self._clockworks.get(at) is clockwork:
            del self._clockworks[at]

    def scheduled(self, partition: Partition, told: Scheduling) -> None:
        self.clockwork(partition).scheduled(told)

    def tell(self, partition: Partition, due_ms: int) -> None:
        """The other brokers: something is due earlier than they may think."""
        if len(self._brokers) > 1:
            message = f"{partition.topic} {partition.number} {due_ms}"
            sent = self._store.command("SPUBLISH", self._channel, message, key=self._channel)
            sent.add_done_callback(lambda done: done.cancelled() or done.exception())

    def _told(self, message: bytes) -> None:
        topic, number, due_ms = message.decode().split()
        clockwork = self._clockworks.get((topic, int(number)))
        if clockwork is not None:
            clockwork.due(int(due_ms))
        else:
            self.look_again()

    def look_again(self) -> None:
        """At all partitions: something may have been missed."""
        if self._is_open and (self._looking is None or self._looking.done()):
            self._looking = self._loop.create_task(self._look_quietly())

    async def _look_quietly(self) -> None:
        try:
            await self.look_through()
        except LedgerError:
            return  # Redis is away; the next look comes with its return

    async def look_through(self) -> None:
        """Wakes a clockwork for every partition that has something scheduled.  Cost: one read a partition."""
        found: builtins.list[Partition] = []
        for entry in await self._catalog.list():
            numbers = range(entry.partitions)
            for at in range(0, len(numbers), LOOKED_AT_ONCE):
                try:
                    some = [await self._catalog.partition(entry.name, n) for n in numbers[at : at + LOOKED_AT_ONCE]]
                except (UnknownTopic, UnknownPartition):
                    break  # deleted meanwhile
                ledgers = await asyncio.gather(
                    *(self._store.command("HGET", p.keys.delay.state, "ledger", key=p.keys.state) for p in some)
                )
                found += [p for p, ledger in zip(some, ledgers, strict=True) if ledger is not None]
        for partition in found:
            self.clockwork(partition).kick()

    async def beat(self, brokers: Sequence[str]) -> None:
        """With every heartbeat: the time, and who lives.  When somebody has gone, what it alone knew is looked for."""
        await self.learn_time()
        now = frozenset(brokers)
        if self._brokers - now:
            self.look_again()
        self._brokers = now

    async def tidy(self) -> None:
        """Now and then: snapshots left behind, buckets that could not be sealed or that are empty, the gauges."""
        for clockwork in builtins.list(self._clockworks.values()):
            clockwork.kick()
            try:
                await clockwork.index.sweep()
                await index_repair.prune(clockwork.index)
                await index_repair.forget_parts(clockwork.index)
            except UnknownTopic:
                self.forget(clockwork)
        await self.show()

    async def show(self) -> None:
        """Brings the metrics up to date: before they are shown, and now and then."""
        topics = {topic for topic, _ in self._clockworks}
        await self.gauges.show(sorted(filter(metrics.topics.admits, topics)))

    # -- transactions ------------------------------------------------------------------------------------------------

    async def transaction_ended(self, topic: str, topic_id: str, number: int) -> None:
        """It had scheduled something here: what is due already is seen when this returns, as far as that can be had."""
        try:
            partition = await self._catalog.partition(topic, number)
            if partition.topic_id == topic_id:
                await self.clockwork(partition).look()
        except LedgerError:
            return  # the clockworks of all brokers find it

    # -- looking at it and changing it -------------------------------------------------------------------------------

    async def waiting(self, topic: str, number: int, charge: Charge | None = None) -> ScheduledMessages:
        """charge: gets the bytes that are decoded for it.  Raises UnknownTopic, UnknownPartition."""
        clockwork = self.clockwork(await self._catalog.partition(topic, number))
        return ScheduledMessages(clockwork.partition, clockwork.index, self.now_ms, self._decoding, charge)

    async def _all(
        self, topic: str, partition: int | None, charge: Charge | None = None
    ) -> builtins.list[ScheduledMessages]:
        if partition is not None:
            return [await self.waiting(topic, partition, charge)]
        entry = await self._catalog.get(topic)
        return [await self.waiting(topic, number, charge) for number in range(entry.partitions)]

    async def get(self, topic: str, id: ScheduledId, *, charge: Charge | None = None) -> Scheduled:
        """Raises UnknownScheduled, AlreadyDelivered, AlreadyCancelled, UnknownTopic, UnknownPartition, DecodingBusy."""
        return await (await self.waiting(topic, id.partition, charge)).get(id)

    async def list(
        self,
        topic: str,
        *,
        partition: int | None = None,
        from_ms: int = 0,
        to_ms: int | None = None,
        key: bytes | None = None,
        limit: int = 100,
        after: str | None = None,
        charge: Charge | None = None,
    ) -> tuple[builtins.list[Scheduled], str | None]:
        """What is due from from_ms to to_ms (exclusive), by due time, and where the next page begins (None: nowhere).

        With a key a page may hold fewer than `limit` though more follow: a call looks at so many records only.
        Raises InvalidDelay for an `after` that is none.
        """
        parts = await self._all(topic, partition, charge)
        end = DUE_MAX if to_ms is None else to_ms
        start = ScheduledMessages.place(after)
        pages = await asyncio.gather(*(p.page(max(from_ms, 0), end, key, limit, start) for p in parts))
        found = sorted((each for page, _ in pages for each in page), key=ScheduledMessages.order)[:limit]
        stops = [stop for _, stop in pages if stop is not None]
        is_cut = len(found) < sum(len(page) for page, _ in pages)
        if not stops and not is_cut:
            return found, None
        # Up to here every partition has been looked through; what came later in the order is asked for again.
        stop = min([*stops, *([ScheduledMessages.order(found[-1])] if is_cut or len(found) == limit else [])])
        found = [each for each in found if ScheduledMessages.order(each) <= stop]
        return found, ScheduledMessages.place_text(stop)

    async def cancel(self, topic: str, ids: Sequence[ScheduledId]) -> builtins.list[LedgerError | None]:
        """Of each: None when it is cancelled (now or before), AlreadyDelivered, UnknownScheduled."""
        outcomes: dict[ScheduledId, LedgerError | None] = {}
        for number in dict.fromkeys(id.partition for id in ids):
            some = [id for id in ids if id.partition == number]
            outcomes.update(await (await self.waiting(topic, number)).cancel(some))
        return [outcomes[id] for id in ids]

    async def reschedule(
        self, topic: str, id: ScheduledId, *, deliver_at_ms: int | None = None, deliver_after_ms: int | None = None
    ) -> Placed:
        """The same id, another due time; a time that has passed means at once.  Raises as get, InvalidDelay,
        DelayTooLong."""
        waiting = await self.waiting(topic, id.partition)
        config = waiting.partition.config
        if deliver_at_ms is None and deliver_after_ms is None:
            raise InvalidDelay("Say when: give deliver_at or deliver_after.")
        due = self.due_of(deliver_at_ms, deliver_after_ms, config)
        due = self.server.low_ms() if due is None else due
        await waiting.move(id, due)
        clockwork = self.clockwork(waiting.partition)
        clockwork.due(due)
        self.tell(waiting.partition, due)
        return Placed(id, due)

    async def clear(self, topic: str, partition: int | None = None) -> int:
        """How many records were cancelled.  What open transactions hold stays theirs."""
        return sum([await waiting.clear() for waiting in await self._all(topic, partition)])

    async def counts(self, topic: str) -> builtins.list[DelayStats]:
        return builtins.list(await asyncio.gather(*(w.stats() for w in await self._all(topic, None))))

    async def pending(self, topic: str) -> int:
        """Records that are not due yet, or about to fire.  Cost: one read a partition."""
        entry = await self._catalog.get(topic)
        places = [(await self._catalog.partition(topic, number)).keys for number in range(entry.partitions)]
        reads = (self._store.command("HGET", k.delay.state, "records", key=k.state) for k in places)
        return sum(int(records or 0) for records in await asyncio.gather(*reads))

    async def histogram(
        self, topic: str, *, from_ms: int | None = None, to_ms: int | None = None, bins: int = 24
    ) -> builtins.list[tuple[int, int, int]]:
        """(from, to, records) of equal stretches of due time; by default from the first due time to the last."""
        parts = await self._all(topic, None)
        stats = [s for s in await asyncio.gather(*(w.stats() for w in parts)) if s.first_due_ms >= 0]
        begin = from_ms if from_ms is not None else min((s.first_due_ms for s in stats), default=self.now_ms())
        end = to_ms if to_ms is not None else max((s.last_due_ms for s in stats), default=begin) + 1
        width = max(1, -(-(end - begin) // max(bins, 1)))
        counts = [0] * max(0, -(-(end - begin) // width))
        for waiting in parts:
            await waiting.tally(begin, end, width, counts)
        return [(begin + i * width, min(begin + (i + 1) * width, end), n) for i, n in enumerate(counts)]

    async def rebuild(self, topic: str, partition: int | None = None) -> int:
        """Makes the index again from the delay ledgers; entries indexed."""
        total = 0
        for waiting in await self._all(topic, partition):
            total += await waiting.rebuild()
            self.clockwork(waiting.partition).kick()
        return total

    async def schedule_repeat(self, topic: str, record: NewRecord, repeat: Recurrence) -> Placed:
        return await self.repeats.schedule(topic, record, repeat)

    async def rearm(self, clockwork: DelayedDeliveryTracker) -> bool:
        return await self.repeats.rearm(clockwork)
