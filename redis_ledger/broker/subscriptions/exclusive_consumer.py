"""The owner of an exclusive subscription: one consumer for all partitions, decided on partition 0.

    receive ─▶ enter() ─▶ epoch ─▶ every partition refuses an epoch below the highest it has received
    ack, nack, hold ─▶ extend_session()

A broker caches an epoch for a third of a session, so most calls need no call to Redis.  It also caches which
subscriptions are shared and have no owner.  The cache may be outdated: the partitions check the epoch.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import NamedTuple

from redis_ledger.clock import Clock
from redis_ledger.cursor import registration
from redis_ledger.ledger.partition import Partition
from redis_ledger.store.store import Store

REMEMBERED_MAX = 50_000  # evicting one costs a call


class ConsumerSession(NamedTuple):
    """epoch None: a shared subscription."""

    epoch: int | None
    at_s: float


class ExclusiveConsumers:
    def __init__(self, store: Store, clock: Clock, session_ms: int) -> None:
        self._store, self._clock, self._session_ms = store, clock, session_ms
        self._shared: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._entered: OrderedDict[tuple[str, str, str], ConsumerSession] = OrderedDict()

    def is_shared(self, topic_id: str, name: str) -> bool:
        """Whether the subscription is cached as a shared one."""
        return (topic_id, name) in self._shared

    async def enter(self, first: Partition, name: str, consumer: str) -> int | None:
        """Returns the epoch of the consumer's ownership, taking it if it is free; None for a shared subscription.
        first: partition 0.  Raises ConsumerBusy, UnknownSubscription, WrongSubscriptionKind, UnknownTopic."""
        if (first.topic_id, name) in self._shared:
            return None
        entered = self._entered.get((first.topic_id, name, consumer))
        if entered is not None and not self._is_old(entered):
            return entered.epoch
        return await self._own(first, name, consumer, take=True)

    async def extend_session(self, first: Partition, name: str, consumer: str) -> None:
        """Extends the consumer's session.  Raises ConsumerBusy if the consumer is not the owner."""
        if (first.topic_id, name) in self._shared:
            return
        entered = self._entered.get((first.topic_id, name, consumer))
        if entered is None or self._is_old(entered):
            await self._own(first, name, consumer, take=False)

    def forget_all(self) -> None:
        """Redis may have lost ownerships: the next call of each consumer claims its own again."""
        self._shared.clear()
        self._entered.clear()

    def forget(self, first: Partition, name: str, consumer: str) -> None:
        """Evicts a cached epoch that a partition has refused."""
        self._shared.pop((first.topic_id, name), None)
        self._entered.pop((first.topic_id, name, consumer), None)

    def _is_old(self, entered: ConsumerSession) -> bool:
        return time.monotonic() - entered.at_s > self._session_ms / 3000

    async def _own(self, first: Partition, name: str, consumer: str, *, take: bool) -> int | None:
        at_s = time.monotonic()
        epoch = await registration.claim(
            self._store, first.keys, first.topic_id, name, consumer,
            now_ms=self._clock.now_ms(), session_ms=self._session_ms, take=take,
        )  # fmt: skip
        if epoch is None:
            self._shared[first.topic_id, name] = None
            if len(self._shared) > REMEMBERED_MAX:
                self._shared.popitem(last=False)
        else:
            self._entered[first.topic_id, name, consumer] = ConsumerSession(epoch, at_s)
            if len(self._entered) > REMEMBERED_MAX:
                self._entered.popitem(last=False)
        return epoch
