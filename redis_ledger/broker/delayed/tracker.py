"""Firing what is due: one clockwork for each partition that has scheduled records, woken by a timer.

    timer ─▶ fire a chunk ─▶ more is due: again, at a bounded rate
                          ─▶ the next segment is near: load it      ─▶ a transaction has ended: settle its batches
                          ─▶ nothing is due: set the timer to the first due time, by Redis's clock

Every broker has one for every such partition, and any may fire: the script decides what is due and gives each entry to
one caller.  The partition's leader wakes at the due time itself, the others a little later, to find it done.  A broker
that schedules something earlier than what it knew to be first tells the others; those that missed it, and those that
come new, look through all partitions.  Whatever set a timer, what it does belongs to no request: hence the contexts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import TYPE_CHECKING

from redis_ledger.clock import Clock
from redis_ledger.delay.bucket_metrics import BucketMetrics
from redis_ledger.delay.index import DelayIndex
from redis_ledger.delay.scripts import Fired
from redis_ledger.errors import UnknownTopic
from redis_ledger.ledger.append_request import Scheduling
from redis_ledger.ledger.partition import Partition
from redis_ledger.store.store import Store
from redis_ledger.telemetry import metrics
from redis_ledger.telemetry.logs import Seldom

if TYPE_CHECKING:
    from redis_ledger.broker.delayed.service import DelayedDelivery

STAGGER_S = 0.25  # by which a broker that does not lead the partition wakes later
FAILED_S = 0.25  # until something is tried again
FAR_S = 3_600.0  # timers are set again after this, for a clock may be put right meanwhile
LOOK_S = 0.1  # the longest a commit waits for what it has scheduled and is due already
REST = 0.25  # of the time a chunk took: left to others before the next one

_seldom = Seldom()


class ServerClock:
    """Redis's clock as this broker knows it: never ahead of it (`low_ms`), never behind it (`high_ms`)."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._low = self._high = (0, 0.0)

    def learn(self, server_ms: int, asked_s: float) -> None:
        """The server said server_ms at some time between asked_s (this loop's time) and now."""
        self._low, self._high = (server_ms, self._loop.time()), (server_ms + 1, asked_s)

    def low_ms(self) -> int:
        server_ms, at = self._low
        return server_ms + int((self._loop.time() - at) * 1000)

    def high_ms(self) -> int:
        server_ms, at = self._high
        return server_ms + int((self._loop.time() - at) * 1000) + 1


class DelayedDeliveryTracker:
    """Of one partition.  known_ms: when the next thing is due, as far as this broker knows; None: not at all."""

    def __init__(self, owner: DelayedDelivery, store: Store, partition: Partition, clock: Clock) -> None:
        self.partition, self._owner = partition, owner
        self.index = DelayIndex(
            store, partition.keys, partition.topic, partition.topic_id, lambda: self.partition.config, clock,
            BucketMetrics(partition.topic),
        )  # fmt: skip
        self.known_ms: int | None = None
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._work: asyncio.Task[None] | None = None
        self._again = False
        self._upkeep: asyncio.Task[None] | None = None
        self._loading: asyncio.Task[None] | None = None
        self._fired_at = 0.0
        self.is_closed = False

    # -- timer -------------------------------------------------------------------------------------------------------

    def due(self, due_ms: int) -> None:
        """Something is due then."""
        if self.known_ms is None or due_ms < self.known_ms:
            self.known_ms = due_ms
            self._set_timer(due_ms)

    def _set_timer(self, due_ms: int, *, lead: bool = False) -> None:
        wait_s = (due_ms - self._owner.server.low_ms()) / 1000
        if not lead and not self._owner.leads(self.partition):
            wait_s += STAGGER_S
        tick_s = self.partition.config.delayed_delivery_tick_time_ms / 1000
        at = self._loop.time() + min(max(wait_s, 0.0), FAR_S)
        at = max(at, self._fired_at + tick_s)
        if self._timer is not None:
            if self._timer_at <= at and not self._timer.cancelled():
                return
            self._timer.cancel()
        self._timer, self._timer_at = self._loop.call_at(at, self.kick, context=Context()), at

    def kick(self) -> None:
        """Looks now; again afterwards, if it is looking already."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.is_closed:
            return
        if self._work is not None and not self._work.done():
            self._again = True
        else:
            self._work = self._loop.create_task(self._run(), context=Context())

    async def look(self) -> None:
        """Looks now, and returns when what is due has been fired, or after LOOK_S at most."""
        self.kick()
        if self._work is not None:
            await asyncio.wait({self._work}, timeout=LOOK_S)

    async def close(self) -> None:
        self.is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        for task in (self._work, self._upkeep, self._loading):
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
            self._owner.forget(self)
        except Exception as error:  # noqa: BLE001 - whatever it was, what is due stays due
            self._failed("scheduled records could not be fired yet", error)
            if not self.is_closed:
                self._timer_at = self._loop.time() + FAILED_S
                self._timer = self._loop.call_at(self._timer_at, self.kick, context=Context())

    def _failed(self, event: str, error: Exception) -> None:
        _seldom.failed(event, error, topic=self.partition.topic, partition=self.partition.number)

    # -- work --------------------------------------------------------------------------------------------------------

    async def _fire_all(self) -> None:
        """Until nothing is due: then the timer is set."""
        partition = self.partition
        while True:
            config = partition.config
            begun = self._loop.time()
            fired = await self.index.fire(config.delayed_delivery_fire_chunk)
            self._fired_at = self._loop.time()
            self._owner.server.learn(fired.now_ms, begun)
            if not fired.ledger:  # nothing was ever scheduled here
                self.known_ms = None
                return
            if fired.records:
                topic = metrics.topics.label(partition.topic)
                metrics.delayed_fired.labels(topic).inc(fired.records)
                metrics.delayed_lateness.of(topic).observe(fired.lateness_ms / fired.entries / 1000, fired.records)
            has_more = False
            for txn in fired.decided:
                has_more = await self.index.settle_all(txn) or has_more
            if fired.owed:
                has_more = await self._owner.rearm(self) or has_more
            self._look_after(fired)
            if await self._load(fired) or has_more:
                continue
            if 0 <= fired.first_due_ms <= fired.now_ms and not self._is_blocked(fired):
                await asyncio.sleep(self._rest_s(fired, begun))
                continue
            break
        nexts = [fired.first_due_ms] if fired.first_due_ms >= 0 else []
        if fired.horizon_ms >= 0:
            nexts.append(max(fired.horizon_ms - config.delayed_delivery_load_ahead_ms, fired.now_ms + 50))
            nexts.append(fired.horizon_ms)
        self.known_ms = None
        if nexts:
            self.known_ms = min(nexts)
            self._set_timer(self.known_ms)

    def _is_blocked(self, fired: Fired) -> bool:
        return 0 <= fired.horizon_ms <= fired.first_due_ms

    def _rest_s(self, fired: Fired, begun: float) -> float:
        took = self._loop.time() - begun
        least = fired.taken / self.partition.config.delayed_delivery_fire_per_s_max
        return max(least - took, took * REST)

    async def _load(self, fired: Fired) -> bool:
        """Loads a segment when what is due waits for it; when one is near and its bucket has room for it, that is done
        beside firing.  Whether firing has to look again."""
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

    def scheduled(self, told: Scheduling) -> None:
        """By this broker, just now."""
        is_first = self.known_ms is None or told.first_due_ms < self.known_ms
        if is_first:
            self.known_ms = told.first_due_ms
            self._set_timer(told.first_due_ms, lead=True)
            self._owner.tell(self.partition, told.first_due_ms)
        config, now_ms = self.partition.config, self._owner.now_ms()
        is_full = told.ledger_bytes >= config.ledger_bytes_max
        is_old = now_ms - told.ledger_created_ms >= config.ledger_age_ms_max
        if told.entries >= config.delayed_delivery_min_index_count_per_bucket or is_full or is_old:
            self._maintain(lambda: self._roll(is_full or is_old))

    # -- buckets -----------------------------------------------------------------------------------------------------

    def _look_after(self, fired: Fired) -> None:
        config = self.partition.config
        if fired.closing:
            closing = fired.closing
            self._maintain(lambda: self.index.finish_seal(closing))
        elif fired.open_entries >= config.delayed_delivery_min_index_count_per_bucket:
            self._maintain(lambda: self._roll(False))
        elif config.delayed_delivery_max_num_buckets > 0 and fired.buckets > config.delayed_delivery_max_num_buckets:
            self._maintain(self.index.merge)

    def _maintain(self, act: Callable[[], Awaitable[object]]) -> None:
        """One thing at a time; what is left out now comes up again with the next firing or scheduling."""
        if self._upkeep is None or self._upkeep.done():
            self._upkeep = self._loop.create_task(self._quietly(act))

    async def _roll(self, ledger_is_full: bool) -> None:
        config, state = self.partition.config, await self.index.state()
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
            self.kick()
        except UnknownTopic:
            self._owner.forget(self)
        except Exception as error:  # noqa: BLE001 - it comes up again with the next firing or scheduling
            self._failed("upkeep of scheduled records failed, it comes again", error)
