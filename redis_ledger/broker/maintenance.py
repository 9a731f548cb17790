"""Background work: overdue transactions, the catalog, heartbeats, retention, expiry.

All of it is idempotent, so any broker may do it, and several may do it concurrently.

    partitions                       mostly their leader, the others rarely (maintenance_turns.py)
    offsets, transactional ids,
    function libraries               the broker that the job is assigned to; the others one time in RARELY
    transactions                     every broker

The sweep of transactions sleeps until the earliest known deadline, at most sweep_interval_ms, or twice that with
several brokers.  So an expired transaction is aborted, and the end that a killed broker left incomplete is completed,
well within two seconds.
Source: docs/architecture.md "what a killed broker leaves"; TS-11 to TS-13.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any

import structlog

from redis_ledger.broker.cluster.live_brokers import BEAT_MS, LiveBrokers
from redis_ledger.broker.cluster.unused_libraries import UnusedLibraries
from redis_ledger.broker.delayed.service import DelayedDelivery
from redis_ledger.broker.groups.offsets import Offsets
from redis_ledger.broker.topics.retention import TopicRetention
from redis_ledger.broker.transactions.aborted_payload import TICK_S, AbortedPayload
from redis_ledger.broker.transactions.buffer_snapshots import LOOK_S, BufferSnapshots
from redis_ledger.broker.transactions.hanging import HangingTransactions
from redis_ledger.broker.transactions.producers import Producers
from redis_ledger.broker.transactions.service import Transactions
from redis_ledger.clock import Clock, RedisClock
from redis_ledger.config import Config
from redis_ledger.errors import LedgerError
from redis_ledger.ids import TxnId
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.store.keys import CatalogKeys
from redis_ledger.store.store import Store
from redis_ledger.telemetry import metrics
from redis_ledger.telemetry.logs import RateLimitedLog
from redis_ledger.txn.coordinator import Coordinators
from redis_ledger.txn.operations import Coordinator

RETENTION_S = 30.0
ENDED_S = 30.0
IDLE_S = 600.0
DELAYS_S = 10.0
LIBRARIES_S = 600.0
SCAN_S = 300.0  # finds partitions with delayed records whose announcement this broker missed
HANGING_S = 60.0
RARELY = 6
DOUBTED_S = 1.0  # until a job that was skipped is tried again
RETRY_S, REMIND_S = 0.5, 30.0  # after a failed job: until its next attempt, its next log line
BROKER_GONE_MS = 600_000
ENDING_MAX = 256  # overdue transactions that are ended concurrently

log = structlog.get_logger(__name__)


class Maintenance:
    """swept: overdue transactions that this broker has decided."""

    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        coordinators: Coordinators,
        transactions: Transactions,
        live_brokers: LiveBrokers,
        offsets: Offsets,
        producers: Producers,
        delayed: DelayedDelivery,
        retention: TopicRetention,
        hanging: HangingTransactions,
        buffer_snapshots: BufferSnapshots,
        aborted_payload: AbortedPayload,
        config: Config,
        clock: Clock,
        redis_clock: RedisClock,
    ) -> None:
        self._store, self._catalog, self._coordinators = store, catalog, coordinators
        self._transactions, self._config, self._clock = transactions, config, clock
        self._redis_clock, self._was_doubted = redis_clock, False
        self._live_brokers, self._offsets, self._producers, self._delayed = live_brokers, offsets, producers, delayed
        self._retention, self._hanging, self._buffer_snapshots = retention, hanging, buffer_snapshots
        self._aborted_payload = aborted_payload
        self._keys = CatalogKeys(store.prefix)
        self._libraries = UnusedLibraries(store, live_brokers)
        self._tasks: list[asyncio.Task[None]] = []
        self._ending: dict[TxnId, asyncio.Task[None]] = {}
        self._limited_log = RateLimitedLog(REMIND_S)
        self.swept = 0

    async def start(self) -> None:
        await self.heartbeat()
        loop = asyncio.get_running_loop()
        self._tasks = [
            loop.create_task(self._repeat("sweep", self._by_time(self.sweep), lambda: 0.0)),
            loop.create_task(self._repeat("heartbeat", self.heartbeat, lambda: BEAT_MS / 1000)),
            loop.create_task(self._repeat("retention", self._retain, lambda: spread_s(RETENTION_S))),
            loop.create_task(
                self._repeat(
                    "outcomes", self._by_time(self._in_turn("outcomes", self.forget_ended)), lambda: spread_s(ENDED_S)
                )
            ),
            loop.create_task(
                self._repeat("offsets", self._by_time(self._in_turn("offsets", self.expire_offsets)), lambda: IDLE_S)
            ),
            loop.create_task(self._repeat("delayed", self._delayed.maintain, lambda: spread_s(DELAYS_S))),
            loop.create_task(self._repeat("schedules", self._scan, lambda: spread_s(SCAN_S))),
            loop.create_task(self._repeat("hanging", self._by_time(self._end_hanging), lambda: HANGING_S)),
            loop.create_task(self._repeat("snapshots", self._buffer_snapshots.take_due, lambda: LOOK_S)),
            loop.create_task(self._repeat("aborted", self._aborted_payload.reclaim_due, lambda: TICK_S)),
            loop.create_task(
                self._repeat("libraries", self._in_turn("libraries", self._libraries.remove), lambda: LIBRARIES_S)
            ),
            loop.create_task(
                self._repeat("ids", self._by_time(self._in_turn("ids", self.expire_transactional_ids)), lambda: IDLE_S)
            ),
        ]

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        for task in self._ending.values():
            task.cancel()  # the next sweep of any broker takes it up again
        await asyncio.gather(*self._tasks, *self._ending.values(), return_exceptions=True)
        try:
            await self._forget_broker(self._live_brokers.name)
        except LedgerError:
            return  # the heartbeat expires

    async def _repeat(self, job: str, act: Callable[[], Awaitable[Any]], pause_s: Callable[[], float]) -> None:
        """Runs a job for ever.  A failure is logged when its reason changes, and every REMIND_S."""
        logged, logged_s = "", 0.0
        while True:
            try:
                pause = pause_s() + (await act() or 0.0)
                logged = ""
                await asyncio.sleep(pause)
            except LedgerError as error:
                now_s = asyncio.get_running_loop().time()
                if str(error) != logged or now_s - logged_s >= REMIND_S:
                    logged, logged_s = str(error), now_s
                    log.warning("maintenance failed, trying again", job=job, error=logged)
                await asyncio.sleep(RETRY_S)
            except Exception:
                log.exception("maintenance failed, trying again", job=job)
                await asyncio.sleep(1.0)

    # -- transactions ------------------------------------------------------------------------------------------------

    async def sweep(self) -> float:
        """Ends overdue transactions; returns the seconds until the next sweep."""
        nexts = await asyncio.gather(*(self._sweep_one(c) for c in self._coordinators))
        now = self._clock.now_ms()
        longest = self._config.sweep_interval_ms * min(max(len(self._live_brokers.live), 1), 2)
        soonest = min((due for due in nexts if due is not None), default=now + longest)
        return max(10, min(soonest - now, longest)) / 1000

    async def _sweep_one(self, coordinator: Coordinator) -> int | None:
        due, following = await self._coordinators.due(coordinator)
        for txn in due:
            if txn not in self._ending and len(self._ending) < ENDING_MAX:
                self._ending[txn] = asyncio.get_running_loop().create_task(self._end_overdue(txn))
        return following

    async def _end_overdue(self, txn: TxnId) -> None:
        """One task per transaction, so that an unreachable participant delays no other transaction (TC-14)."""
        try:
            decision = await self._coordinators.expire(txn)
            if decision is not None and decision.state.is_ending:
                self.swept += 1
                await self._transactions.finish(decision)
        except LedgerError as error:
            self._limited_log.failed("an overdue transaction could not be ended yet", error, txn=str(txn))
        finally:
            del self._ending[txn]

    # -- brokers and catalog -----------------------------------------------------------------------------------------

    async def heartbeat(self) -> None:
        k, sent_s = self._keys, time.monotonic()
        now = await self._live_brokers.send_heartbeat()
        self._redis_clock.learn(now, sent_s)
        await asyncio.gather(self._catalog.refresh(), self._coordinators.refresh())
        await self._delayed.heartbeat(self._live_brokers.live)
        self._report_skew()
        gone = await self._store.command("ZRANGEBYSCORE", k.brokers, 0, now - BROKER_GONE_MS, key=k.brokers)
        for name in gone:
            await self._forget_broker(name)

    def _report_skew(self) -> None:
        skew_ms, is_doubted = self._redis_clock.skew_ms, self._redis_clock.is_doubted()
        metrics.clock_skew.set(skew_ms / 1000)
        if is_doubted and not self._was_doubted:
            log.warning("a clock is wrong; nothing is deleted or aborted by its age", reason=skew_detail(skew_ms))
        elif self._was_doubted and not is_doubted:
            log.info("the clocks agree again", skew_ms=skew_ms)
        self._was_doubted = is_doubted

    async def _forget_broker(self, name: str | bytes) -> None:
        """Removes the broker's heartbeat last, so that another broker can finish this."""
        k, command = self._keys, self._store.command
        await asyncio.gather(*(command("HDEL", c.keys.calls, name, key=c.keys.state) for c in self._coordinators))
        await command("HDEL", k.addresses, name, key=k.brokers)
        await command("ZREM", k.brokers, name, key=k.brokers)

    # -- retention and expiry ------------------------------------------------------------------------------------------

    def _by_time(self, act: Callable[[], Awaitable[float | None]]) -> Callable[[], Awaitable[float | None]]:
        """Skips a job that decides by the time while that is in doubt."""

        async def one() -> float | None:
            return DOUBTED_S if self._redis_clock.is_doubted() else await act()

        return one

    def _in_turn(self, job: str, act: Callable[[], Awaitable[object]]) -> Callable[[], Awaitable[None]]:
        """Runs the job if it is assigned to this broker, else one time in RARELY."""
        rounds = random.randrange(RARELY)

        async def one() -> None:
            nonlocal rounds
            rounds += 1
            if self._live_brokers.runs(job) or rounds % RARELY == 0:
                await act()

        return one

    async def retain(self) -> None:
        """Seals, trims and expires in every partition, by its topic's settings."""
        await self._retention.retain()

    async def forget_ended(self) -> None:
        """Deletes the outcomes of transactions whose retention has passed."""
        for coordinator in self._coordinators:
            await coordinator.forget(self._clock.now_ms())

    async def _retain(self) -> None:
        await self._retention.retain(due_only=True)

    async def _end_hanging(self) -> None:
        await self._hanging.look(due_only=True)

    async def _scan(self) -> None:
        await self._delayed.scan()

    async def expire_offsets(self) -> None:
        """Deletes the offsets of Kafka groups without members or commits for offsets_retention_ms."""
        await self._offsets.expire(self._live_brokers.is_live)

    async def expire_transactional_ids(self) -> None:
        """Deletes transactional ids and commit_all numbers that were not used for transactional_id_expiration_ms."""
        now = self._clock.now_ms()
        await self._producers.forget_idle(now)
        for coordinator in self._coordinators:
            before = now - self._config.transactional_id_expiration_ms
            await self._transactions.together.forget_unused(coordinator, before)


def skew_detail(skew_ms: int) -> str:
    return (
        f"The clock of this machine is {abs(skew_ms) / 1000:.1f} s {'ahead of' if skew_ms > 0 else 'behind'} that of "
        "Redis, more than clock_skew_ms_max. Set both by NTP; until then this broker neither deletes nor aborts "
        "anything because of its age."
    )


def spread_s(period_s: float) -> float:
    """A random pause of about this length, so that brokers do not run the same job at once."""
    return period_s * random.uniform(0.7, 1.3)
