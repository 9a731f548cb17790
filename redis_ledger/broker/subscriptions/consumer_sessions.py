"""The active consumer of a subscription: one for all partitions, decided on partition 0.

    receive ─▶ enter() ─▶ epoch ─▶ every partition refuses an epoch below the highest it has received
                  │
                  └─▶ ConsumerStandby (failover) ─▶ wait_turn() ─▶ enter() ...
    ack, nack, hold ─▶ extend_session()

An exclusive subscription refuses other consumers; a failover subscription keeps them as stand-bys, in the order in
which they joined.  A stand-by waits until the active consumer closes (a wake-up) or until its session ends.

A broker caches an epoch for a third of a session, so most calls need no call to Redis.  It also caches which
subscriptions are shared or key_shared and have no owner.  The cache may be outdated: the partitions check the epoch.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from typing import NamedTuple

from redis_ledger.clock import Clock
from redis_ledger.cursor import registration
from redis_ledger.cursor.registration import Claim
from redis_ledger.cursor.scripts import Kind
from redis_ledger.errors import LedgerError
from redis_ledger.ledger.partition import Partition
from redis_ledger.ledger.waiters import Waiters
from redis_ledger.store.store import Store

REMEMBERED_MAX = 50_000  # evicting one costs a call
AGAIN_S = 0.05  # least time between two attempts of a stand-by


class ConsumerSession(NamedTuple):
    epoch: int
    at_s: float


class ConsumerStandby(Exception):
    """Another consumer of the failover subscription is active, for left_ms more unless it extends its session."""

    def __init__(self, owner: str, left_ms: int) -> None:
        super().__init__(owner, left_ms)
        self.owner, self.left_ms = owner, left_ms


class ConsumerSessions:
    def __init__(self, store: Store, clock: Clock, session_ms: int, waiters: Waiters) -> None:
        self._store, self._clock, self._session_ms, self._waiters = store, clock, session_ms, waiters
        self._shared: OrderedDict[tuple[str, str], Kind] = OrderedDict()  # without owner
        self._entered: OrderedDict[tuple[str, str, str], ConsumerSession] = OrderedDict()

    def is_shared(self, topic_id: str, name: str) -> bool:
        """Whether the subscription is cached as a shared one."""
        return self._shared.get((topic_id, name)) == "shared"

    def is_key_shared(self, topic_id: str, name: str) -> bool:
        """Whether the subscription is cached as a key_shared one."""
        return self._shared.get((topic_id, name)) == "key_shared"

    async def enter(self, first: Partition, name: str, consumer: str) -> int | None:
        """Returns the epoch of the consumer's ownership, taking it if it is free; None for a shared subscription.
        first: partition 0.  Raises ConsumerStandby, ConsumerBusy, UnknownSubscription, WrongSubscriptionKind,
        UnknownTopic."""
        if (first.topic_id, name) in self._shared:
            return None
        entered = self._entered.get((first.topic_id, name, consumer))
        if entered is not None and not self._is_old(entered):
            return entered.epoch
        claimed = await self._claim(first, name, consumer, take=True)
        if claimed is None:
            return None
        if claimed.epoch is None:
            raise ConsumerStandby(claimed.owner, claimed.left_ms)
        return claimed.epoch

    async def wait_turn(self, first: Partition, name: str, consumer: str, deadline_s: float) -> bool:
        """Waits until a stand-by is the active consumer; False at the deadline, or when the broker closes.
        Raises as enter."""
        loop = asyncio.get_running_loop()
        async with self._waiters.listen([first.keys], committed=None) as listener:
            while not listener.is_closed:
                tried_s = loop.time()
                try:
                    await self.enter(first, name, consumer)
                    return True
                except ConsumerStandby as standing:
                    left_s = deadline_s - loop.time()
                    if left_s <= 0:
                        return False
                    turn_s = min(standing.left_ms / 1000 + 0.002, self._session_ms / 3000)
                    await listener.wait(min(turn_s, left_s))
                    await asyncio.sleep(min(tried_s + AGAIN_S - loop.time(), left_s))  # messages are returned often
        return False

    @contextlib.asynccontextmanager
    async def kept(self, first: Partition, name: str, consumer: str) -> AsyncIterator[None]:
        """Extends the session of a consumer that has entered, as long as its request waits."""
        if (first.topic_id, name) in self._shared:
            yield
            return
        task = asyncio.create_task(self._keep(first, name, consumer))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def extend_session(self, first: Partition, name: str, consumer: str) -> None:
        """Extends the consumer's session.  Raises ConsumerBusy if the consumer is not the owner of an exclusive
        subscription."""
        if (first.topic_id, name) in self._shared:
            return
        entered = self._entered.get((first.topic_id, name, consumer))
        if entered is None or self._is_old(entered):
            await self._claim(first, name, consumer, take=False)

    def forget_all(self) -> None:
        """Redis may have lost ownerships: the next call of each consumer claims its own again."""
        self._shared.clear()
        self._entered.clear()

    def end(self, first: Partition, name: str, consumer: str) -> None:
        """Evicts the cached epoch of a consumer that closes."""
        self._entered.pop((first.topic_id, name, consumer), None)

    def forget(self, first: Partition, name: str, consumer: str) -> None:
        """Evicts a cached epoch or kind that a partition has refused."""
        self._shared.pop((first.topic_id, name), None)
        self._entered.pop((first.topic_id, name, consumer), None)

    def _is_old(self, entered: ConsumerSession) -> bool:
        return time.monotonic() - entered.at_s > self._session_ms / 3000

    async def _keep(self, first: Partition, name: str, consumer: str) -> None:
        while True:
            await asyncio.sleep(self._session_ms / 3000)
            with contextlib.suppress(LedgerError):
                await self._claim(first, name, consumer, take=False)

    async def _claim(self, first: Partition, name: str, consumer: str, *, take: bool) -> Claim | None:
        at_s = time.monotonic()
        claimed = await registration.claim(
            self._store, first.keys, first.topic_id, name, consumer,
            now_ms=self._clock.now_ms(), session_ms=self._session_ms, take=take,
        )  # fmt: skip
        if not isinstance(claimed, Claim):
            self._shared[first.topic_id, name] = claimed
            if len(self._shared) > REMEMBERED_MAX:
                self._shared.popitem(last=False)
            return None
        if claimed.epoch is None:
            self._entered.pop((first.topic_id, name, consumer), None)
        else:
            self._entered[first.topic_id, name, consumer] = ConsumerSession(claimed.epoch, at_s)
            if len(self._entered) > REMEMBERED_MAX:
                self._entered.popitem(last=False)
        return claimed
