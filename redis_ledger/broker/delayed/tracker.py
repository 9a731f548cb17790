"""Fires the delayed records of one partition when they are due, woken by a timer.

    timer ─▶ fire a chunk ─▶ more is due: fire again, at a bounded rate
                          ─▶ the next segment is near: load it     ─▶ a transaction has ended: settle its batches
                          ─▶ nothing is due: set the timer to the first due time, by Redis's clock

A tracker outlives the request that created or woke it, so its timers and tasks run in an empty context.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context

from redis_ledger.broker.delayed.rearm import rearm
from redis_ledger.broker.delayed.server_clock import ServerClock
from redis_ledger.clock import Clock
from redis_ledger.delay.bucket_metrics import BucketMetrics
from redis_ledger.delay.index import DelayIndex
from redis_ledger.delay.scripts import Fired
from redis_ledger.errors import UnknownTopic
from redis_ledger.ledger.append_request import Scheduling
from redis_ledger.ledger.partition import Partition
from redis_ledger.store.store import Store
from redis_ledger.telemetry import metrics
from redis_ledger.telemetry.logs import RateLimitedLog

STAGGER_S = 0.25  # a broker that does not lead the partition wakes later by this
RETRY_S = 0.25
TIMER_S_MAX = 3_600.0  # timers are set again after this, because clocks may be adjusted
FIRE_WAIT_S = 0.1  # that a commit waits at most for the records it has scheduled and that are due already
PAUSE_SHARE = 0.25  # of the time a chunk took: left to other work before the next chunk

_limited_log = RateLimitedLog()


class DelayedDeliveryTracker:
    """next_due_ms: when this broker expects the next work; None: no work.

    leads      whether this broker leads the partition
    announce   publishes an earlier due time to the other brokers
    remove     called when the topic is gone
    """

    def __init__(
        self,
        store: Store,
        partition: Partition,
        server_clock: ServerClock,
        clock: Clock,
        *,
        leads: Callable[[Partition], bool],
        announce: Callable[[Partition, int], None],
        remove: Callable[[DelayedDeliveryTracker], None],
    ) -> None:
        self.partition, self._server_clock = partition, server_clock
        self._leads, self._announce, self._remove = leads, announce, remove
        self.index = DelayIndex(
            store, partition.keys, partition.topic, partition.topic_id, lambda: self.partition.config, clock,
            BucketMetrics(partition.topic),
        )  # fmt: skip
        self.next_due_ms: int | None = None
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._work: asyncio.Task[None] | None = None
        self._again = False
        self._maintenance: asyncio.Task[None] | None = None
        self._loading: asyncio.Task[None] | None = None
        self._fired_at = 0.0
        self.is_closed = False

    # -- timer -------------------------------------------------------------------------------------------------------

    def wake_at(self, due_ms: int) -> None:
        """Sets the timer to due_ms, unless it is set to an earlier time."""
        if self.next_due_ms is None or due_ms < self.next_due_ms:
            self.next_due_ms = due_ms
            self._set_timer(due_ms)

    def _set_timer(self, due_ms: int, *, lead: bool = False) -> None:
        wait_s = (due_ms - self._server_clock.low_ms()) / 1000
        if not lead and not self._leads(self.partition):
            wait_s += STAGGER_S
        tick_s = self.partition.config.delayed_delivery_tick_time_ms / 1000
        at = self._loop.time() + min(max(wait_s, 0.0), TIMER_S_MAX)
        at = max(at, self._fired_at + tick_s)
        if self._timer is not None:
            if self._timer_at <= at and not self._timer.cancelled():
                return
            self._timer.cancel()
        self._timer, self._timer_at = self._loop.call_at(at, self.wake, context=Context()), at

    def wake(self) -> None:
        """Fires what is due now; if that is under way, once more afterwards."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.is_closed:
            return
        if self._work is not None and not self._work.done():
            self._again = True
        else:
            self._work = self._loop.create_task(self._run(), context=Context())

    async def fire_due(self) -> None:
        """Wakes the tracker and waits until what is due has fired, at most FIRE_WAIT_S."""
        self.wake()
        if self._work is not None:
            await asyncio.wait({self._work}, timeout=FIRE_WAIT_S)

    async def close(self) -> None:
        self.is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        for task in (self._work, self._maintenance, self._loading):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def _run(self) -> None:
        try:
            self._again = True
            while self._again and not self.is_closed:
                self._again = False
                await self._fire_all()
        except UnknownTopic:
            self._remove(self)
        except Exception as error:  # noqa: BLE001 - records that are due stay due
            self._failed("delayed records could not be fired yet", error)
            if not self.is_closed:
                self._timer_at = self._loop.time() + RETRY_S
                self._timer = self._loop.call_at(self._timer_at, self.wake, context=Context())

    def _failed(self, event: str, error: Exception) -> None:
        _limited_log.failed(event, error, topic=self.partition.topic, partition=self.partition.number)

    # -- work --------------------------------------------------------------------------------------------------------

    async def _fire_all(self) -> None:
        """Fires until nothing is due, then sets the timer."""
        partition = self.partition
        while True:
            config = partition.config
            begun = self._loop.time()
            fired = await self.index.scripts.fire(config.delayed_delivery_fire_chunk)
            self._fired_at = self._loop.time()
            self._server_clock.learn(fired.now_ms, begun)
            if not fired.ledger:  # no record was ever scheduled here
                self.next_due_ms = None
                return
            if fired.records:
                topic = metrics.topics.label(partition.topic)
                metrics.delayed_fired.labels(topic).inc(fired.records)
                metrics.delayed_lateness.of(topic).observe(fired.lateness_ms / fired.entries / 1000, fired.records)
            has_more = False
            for txn in fired.decided:
                has_more = await self.index.scripts.settle_all(txn) or has_more
            if fired.owed:
                has_more = await rearm(self.index, self._server_clock.high_ms()) or has_more
            self._maintain_buckets(fired)
            if await self._load(fired) or has_more:
                continue
            if 0 <= fired.first_due_ms <= fired.now_ms and not self._is_blocked(fired):
                await asyncio.sleep(self._pause_s(fired, begun))
                continue
            break
        nexts = [fired.first_due_ms] if fired.first_due_ms >= 0 else []
        if fired.horizon_ms >= 0:
            nexts.append(max(fired.horizon_ms - config.delayed_delivery_load_ahead_ms, fired.now_ms + 50))
            nexts.append(fired.horizon_ms)
        self.next_due_ms = None
        if nexts:
            self.next_due_ms = min(nexts)
            self._set_timer(self.next_due_ms)

    def _is_blocked(self, fired: Fired) -> bool:
        return 0 <= fired.horizon_ms <= fired.first_due_ms

    def _pause_s(self, fired: Fired, begun: float) -> float:
        took = self._loop.time() - begun
        least = fired.taken / self.partition.config.delayed_delivery_fire_per_s_max
        return max(least - took, took * PAUSE_SHARE)

    async def _load(self, fired: Fired) -> bool:
        """Loads a segment that firing needs; one that is near and has room is loaded in the background.

        Returns whether firing has to run again.
        """
        if fired.horizon_ms < 0:
            return False
        is_needed = fired.horizon_ms <= fired.now_ms and (fired.first_due_ms < 0 or self._is_blocked(fired))
        is_near = fired.horizon_ms - self.partition.config.delayed_delivery_load_ahead_ms <= fired.now_ms
        most = self.partition.config.delayed_delivery_max_indexes_per_segment
        has_room = most < 0 or fired.queued + most <= most * max(fired.buckets, 1)
        loading = self._loading if self._loading is not None and not self._loading.done() else None
        if is_needed and loading is not None:
            await asyncio.wait({loading})
        elif is_needed:
            await self.index.load(fired.horizon)
        elif is_near and has_room and loading is None:
            horizon = fired.horizon
            self._loading = self._loop.create_task(self._quietly(lambda: self.index.load(horizon)))
        return is_needed

    def scheduled(self, scheduling: Scheduling) -> None:
        """Called when this broker has stored delayed records here."""
        if self.next_due_ms is None or scheduling.first_due_ms < self.next_due_ms:
            self.next_due_ms = scheduling.first_due_ms
            self._set_timer(scheduling.first_due_ms, lead=True)
            self._announce(self.partition, scheduling.first_due_ms)
        config, now_ms = self.partition.config, self._server_clock.low_ms()
        is_full = scheduling.ledger_bytes >= config.ledger_bytes_max
        is_old = now_ms - scheduling.ledger_created_ms >= config.ledger_age_ms_max
        if scheduling.entries >= config.delayed_delivery_min_index_count_per_bucket or is_full or is_old:
            self._maintain(lambda: self._roll(is_full or is_old))

    # -- buckets -----------------------------------------------------------------------------------------------------

    def _maintain_buckets(self, fired: Fired) -> None:
        config = self.partition.config
        if fired.closing:
            closing = fired.closing
            self._maintain(lambda: self.index.finish_seal(closing))
        elif fired.open_entries >= config.delayed_delivery_min_index_count_per_bucket:
            self._maintain(lambda: self._roll(False))
        elif config.delayed_delivery_max_num_buckets > 0 and fired.buckets > config.delayed_delivery_max_num_buckets:
            self._maintain(self.index.merge)

    def _maintain(self, act: Callable[[], Awaitable[object]]) -> None:
        """Starts a maintenance step unless one runs; the next firing or scheduling starts what was skipped."""
        if self._maintenance is None or self._maintenance.done():
            self._maintenance = self._loop.create_task(self._quietly(act))

    async def _roll(self, ledger_is_full: bool) -> None:
        config, state = self.partition.config, await self.index.scripts.state()
        if state is None:
            return
        step = config.delayed_delivery_ledger_step_per_bucket
        spans = state.first - state.ledger + 1
        close = state.open_entries >= config.delayed_delivery_min_index_count_per_bucket or 0 < step <= spans
        if not close and not ledger_is_full:
            return
        if state.closing:
            await self.index.finish_seal(state.closing)
        await self.index.seal(state.ledger, close=close)
        while await self.index.merge():
            pass

    async def _quietly(self, act: Callable[[], Awaitable[object]]) -> None:
        try:
            await act()
            self.wake()
        except UnknownTopic:
            self._remove(self)
        except Exception as error:  # noqa: BLE001 - the next firing or scheduling tries again
            self._failed("maintenance of delayed records failed, trying again", error)
