"""Delayed delivery: keeps the trackers awake, and lists, reads and changes the records that are not due yet.

    produce with a due time ─▶ rule ─▶ ledger/partition: schedule ─▶ tracker ─▶ log entry: every reader sees it
                                                                        ▲
              list, get, cancel, reschedule, clear  ─▶ delay/index ─────┘

Brokers that missed an announcement, and new ones, scan all partitions for delayed records.
Source: PIP-195; requirements DD; docs/decisions/0012.
"""

from __future__ import annotations

import asyncio
import builtins
import time
from collections.abc import Sequence

from redis_ledger.broker.delayed.index_reader import DelayIndexReader, encode_position, parse_position, position_of
from redis_ledger.broker.delayed.messages import ScheduledMessages
from redis_ledger.broker.delayed.metrics import DelayedMetrics
from redis_ledger.broker.delayed.server_clock import ServerClock
from redis_ledger.broker.delayed.trackers import Trackers
from redis_ledger.broker.types import DelayStats, Scheduled, ScheduledRef
from redis_ledger.clock import RedisClock
from redis_ledger.config import Config
from redis_ledger.decoding.budget import Charge, Decoding
from redis_ledger.delay.due import DUE_MAX, rule
from redis_ledger.errors import InvalidDelay, LedgerError, UnknownPartition, UnknownTopic
from redis_ledger.ids import ScheduledId
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.partition import Partition
from redis_ledger.records.split_by_due import DueOf
from redis_ledger.store.store import Store
from redis_ledger.telemetry import metrics

PARTITIONS_AT_ONCE = 256  # read by a scan
JUMP_MS = 500  # Redis's clock has jumped if it differs by more than this from the time that passed here


class DelayedDelivery:
    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        trackers: Trackers,
        server_clock: ServerClock,
        redis_clock: RedisClock,
        decoding: Decoding,
    ) -> None:
        self._store, self._catalog, self._decoding = store, catalog, decoding
        self.trackers, self.server_clock, self._redis_clock = trackers, server_clock, redis_clock
        self._loop = asyncio.get_running_loop()
        self._last_time: tuple[int, float, float] | None = None  # Redis's time at the last heartbeat: sent, received
        self._scanning: asyncio.Task[None] | None = None
        self._scan_wanted = False
        self._is_open = False
        self.metrics = DelayedMetrics(lambda topic: self._readers(topic, None))

    async def open(self) -> None:
        """Starts a tracker for every partition with delayed records."""
        self._is_open = True
        await self.learn_time()
        await self._store.subscribe(self.trackers.channel, self._on_announcement, self.start_scan)
        await self.scan()

    async def close(self) -> None:
        self._is_open = False
        if self._scanning is not None:
            self._scanning.cancel()
        self.metrics.close()
        await asyncio.gather(*(tracker.close() for tracker in self.trackers.all()))

    # -- time --------------------------------------------------------------------------------------------------------

    async def learn_time(self) -> None:
        """Reads Redis's time, of the primary that is ahead.  If it has jumped, all timers are set again."""
        sent, sent_s = self._loop.time(), time.monotonic()
        times = [int(t[0]) * 1000 + int(t[1]) // 1000 for t in await self._store.everywhere("TIME")]
        self._redis_clock.compare(times, sent_s)
        server_ms, now = max(times), self._loop.time()
        self.server_clock.learn(server_ms, sent)
        server_before, sent_before, now_before = self._last_time or (server_ms, sent, now)
        self._last_time = server_ms, sent, now
        passed_ms = server_ms - server_before
        if not (sent - now_before) * 1000 - JUMP_MS <= passed_ms <= (now - sent_before) * 1000 + JUMP_MS:
            for tracker in self.trackers.all():
                tracker.wake()

    def now_ms(self) -> int:
        return self.server_clock.low_ms()

    def rule(self, config: Config) -> DueOf:
        """Computes the due times of records that are received together, by the settings of their topic."""
        return rule(config, self.server_clock.low_ms(), self.server_clock.high_ms())

    # -- maintenance -------------------------------------------------------------------------------------------------

    async def heartbeat(self, brokers: Sequence[str]) -> None:
        """If a broker has gone, scans for records that only that broker expected."""
        await self.learn_time()
        if self.trackers.update_brokers(brokers):
            self.start_scan()

    async def maintain(self) -> None:
        """Deletes unlisted snapshots, unless the time is in doubt; repairs and prunes buckets, updates the metrics."""
        for tracker in self.trackers.all():
            tracker.wake()
            try:
                if not self._redis_clock.is_doubted():
                    await tracker.index.sweep()
                await tracker.index.repairs.prune()
                await tracker.index.repairs.forget_parts()
            except UnknownTopic:
                self.trackers.remove(tracker)
        await self.update_metrics()

    async def update_metrics(self) -> None:
        topics = {topic for topic, _ in self.trackers.by_partition}
        await self.metrics.show(sorted(filter(metrics.topics.admits, topics)))

    def _on_announcement(self, message: bytes) -> None:
        if not self.trackers.announced(message):
            self.start_scan()

    def start_scan(self) -> None:
        """Scans in the background.  If a scan is under way, another one follows: the first may have passed the news."""
        self._scan_wanted = True
        if self._is_open and (self._scanning is None or self._scanning.done()):
            self._scanning = self._loop.create_task(self._scan_quietly())

    async def _scan_quietly(self) -> None:
        while self._scan_wanted:
            self._scan_wanted = False
            try:
                await self.scan()
            except LedgerError:
                return  # Redis is unavailable; the next scan starts when it returns

    async def scan(self) -> None:
        """Wakes a tracker for every partition with delayed records.  Cost: one read per partition."""
        found: builtins.list[Partition] = []
        for entry in await self._catalog.list():
            numbers = range(entry.partitions)
            for at in range(0, len(numbers), PARTITIONS_AT_ONCE):
                try:
                    some = [await self._catalog.partition(entry.name, n) for n in numbers[at : at + PARTITIONS_AT_ONCE]]
                except (UnknownTopic, UnknownPartition):
                    break  # deleted meanwhile
                ledgers = await asyncio.gather(
                    *(self._store.command("HGET", p.keys.delay.state, "ledger", key=p.keys.state) for p in some)
                )
                found += [p for p, ledger in zip(some, ledgers, strict=True) if ledger is not None]
        for partition in found:
            self.trackers.get(partition).wake()

    async def transaction_ended(self, topic: str, topic_id: str, number: int) -> None:
        """Fires what a transaction scheduled here and is due, so that it is visible when this returns, if possible."""
        try:
            partition = await self._catalog.partition(topic, number)
            if partition.topic_id == topic_id:
                await self.trackers.get(partition).fire_due()
        except LedgerError:
            return  # the trackers of all brokers find it

    # -- reading and changing ----------------------------------------------------------------------------------------

    async def messages(self, topic: str, number: int, charge: Charge | None = None) -> ScheduledMessages:
        """charge: gets the bytes that are decoded.  Raises UnknownTopic, UnknownPartition."""
        tracker = self.trackers.get(await self._catalog.partition(topic, number))
        return ScheduledMessages(tracker.partition, tracker.index, self.now_ms, self._decoding, charge)

    async def _reader(self, topic: str, number: int, charge: Charge | None) -> DelayIndexReader:
        tracker = self.trackers.get(await self._catalog.partition(topic, number))
        return DelayIndexReader(tracker.partition, tracker.index, self.now_ms, self._decoding, charge)

    async def _readers(
        self, topic: str, partition: int | None, charge: Charge | None = None
    ) -> builtins.list[DelayIndexReader]:
        return [await self._reader(topic, number, charge) for number in await self._numbers(topic, partition)]

    async def _numbers(self, topic: str, partition: int | None) -> Sequence[int]:
        return range((await self._catalog.get(topic)).partitions) if partition is None else (partition,)

    async def get(self, topic: str, id: ScheduledId, *, charge: Charge | None = None) -> Scheduled:
        """Raises UnknownScheduled, AlreadyDelivered, AlreadyCancelled, UnknownTopic, UnknownPartition, DecodingBusy."""
        return await (await self.messages(topic, id.partition, charge)).get(id)

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
        """Records due from from_ms to to_ms (exclusive) by due time, and the position of the next page (None: the end).

        With a key, a page may hold fewer than `limit` records though more follow: a call reads a bounded number.
        Raises InvalidDelay if `after` is not a position.
        """
        readers = await self._readers(topic, partition, charge)
        end = DUE_MAX if to_ms is None else to_ms
        start = parse_position(after)
        pages = await asyncio.gather(*(reader.page(max(from_ms, 0), end, key, limit, start) for reader in readers))
        found = sorted((each for page, _ in pages for each in page), key=position_of)[:limit]
        stops = [stop for _, stop in pages if stop is not None]
        is_cut = len(found) < sum(len(page) for page, _ in pages)
        if not stops and not is_cut:
            return found, None
        # Every partition was read up to this position; the next page reads again what lies behind it.
        stop = min([*stops, *([position_of(found[-1])] if is_cut or len(found) == limit else [])])
        found = [each for each in found if position_of(each) <= stop]
        return found, encode_position(stop)

    async def cancel(self, topic: str, ids: Sequence[ScheduledId]) -> builtins.list[LedgerError | None]:
        """For each id: None if it is cancelled (now or before), else AlreadyDelivered or UnknownScheduled."""
        outcomes: dict[ScheduledId, LedgerError | None] = {}
        for number in dict.fromkeys(id.partition for id in ids):
            some = [id for id in ids if id.partition == number]
            outcomes.update(await (await self.messages(topic, number)).cancel(some))
        return [outcomes[id] for id in ids]

    async def reschedule(
        self, topic: str, id: ScheduledId, *, deliver_at_ms: int | None = None, deliver_after_ms: int | None = None
    ) -> ScheduledRef:
        """Changes the due time; one that has passed means now.  Raises as `get`, and InvalidDelay, DelayTooLong."""
        messages = await self.messages(topic, id.partition)
        if deliver_at_ms is None and deliver_after_ms is None:
            raise InvalidDelay("Give deliver_at or deliver_after.")
        due = self.rule(messages.partition.config)(deliver_at_ms, deliver_after_ms)
        due = self.now_ms() if due is None else due
        await messages.move(id, due)
        self.trackers.rescheduled(messages.partition, due)
        return ScheduledRef(id, due)

    async def clear(self, topic: str, partition: int | None = None) -> int:
        """Cancels all records but those of open transactions; returns how many."""
        numbers = await self._numbers(topic, partition)
        return sum([await (await self.messages(topic, number)).clear() for number in numbers])

    async def counts(self, topic: str) -> builtins.list[DelayStats]:
        return builtins.list(await asyncio.gather(*(r.stats() for r in await self._readers(topic, None))))

    async def pending(self, topic: str) -> int:
        """The number of records that have not fired.  Cost: one read per partition."""
        entry = await self._catalog.get(topic)
        keys = [(await self._catalog.partition(topic, number)).keys for number in range(entry.partitions)]
        reads = (self._store.command("HGET", k.delay.state, "records", key=k.state) for k in keys)
        return sum(int(records or 0) for records in await asyncio.gather(*reads))

    async def histogram(
        self, topic: str, *, from_ms: int | None = None, to_ms: int | None = None, bins: int = 24
    ) -> builtins.list[tuple[int, int, int]]:
        """(from, to, records) of `bins` equal ranges of due time, by default from the first due time to the last."""
        readers = await self._readers(topic, None)
        stats = [s for s in await asyncio.gather(*(r.stats() for r in readers)) if s.first_due_ms >= 0]
        begin = from_ms if from_ms is not None else min((s.first_due_ms for s in stats), default=self.now_ms())
        end = to_ms if to_ms is not None else max((s.last_due_ms for s in stats), default=begin) + 1
        width = max(1, -(-(end - begin) // max(bins, 1)))
        counts = [0] * max(0, -(-(end - begin) // width))
        for reader in readers:
            await reader.add_histogram(begin, end, width, counts)
        return [(begin + i * width, min(begin + (i + 1) * width, end), n) for i, n in enumerate(counts)]

    async def rebuild(self, topic: str, partition: int | None = None) -> int:
        """Rebuilds the index from the delay ledgers; returns the number of entries."""
        total = 0
        for number in await self._numbers(topic, partition):
            messages = await self.messages(topic, number)
            total += await messages.rebuild()
            self.trackers.get(messages.partition).wake()
        return total
