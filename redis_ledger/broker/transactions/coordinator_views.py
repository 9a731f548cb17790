"""What operators see of the transaction coordinators: their statistics, their logs; and how to get more of them.

Coordinators have no owner.  Their state is in Redis, and every broker serves all of them at once, so there is nothing
to load, to move or to recover.  Their number can be raised while brokers run.  The other brokers notice at their next
heartbeat, within a second, or at the first transaction of a coordinator that they do not have yet.
Source: requirements OB-01 to OB-03, OB-14.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from redis_ledger.clock import Clock
from redis_ledger.errors import CoordinatorNotFound, InvalidRequest
from redis_ledger.ids import COORDINATORS_MAX, TxnId
from redis_ledger.store.store import Store
from redis_ledger.txn import coordinator_stats, log
from redis_ledger.txn.coordinator import Coordinators
from redis_ledger.txn.coordinator_stats import CoordinatorStats
from redis_ledger.txn.log import LoggedRecord

READ_AT_ONCE = 100  # coordinators


class LogPage(NamedTuple):
    """following: the entry at which the next page begins; None at the end."""

    records: list[LoggedRecord]
    following: int | None


class CoordinatorViews:
    def __init__(self, store: Store, coordinators: Coordinators, clock: Clock) -> None:
        self._store, self._coordinators, self._clock = store, coordinators, clock

    @property
    def count(self) -> int:
        return len(self._coordinators)

    async def page(self, first: int, limit: int) -> list[CoordinatorStats]:
        """Coordinators from number `first` on."""
        found: list[CoordinatorStats] = []
        numbers = range(first, min(first + limit, len(self._coordinators)))
        for at in range(0, len(numbers), READ_AT_ONCE):
            some = numbers[at : at + READ_AT_ONCE]
            found += await asyncio.gather(*(coordinator_stats.read(self._store, number) for number in some))
        return found

    async def stats(self, number: int) -> CoordinatorStats:
        """Raises CoordinatorNotFound."""
        await self._check(number)
        return await coordinator_stats.read(self._store, number)

    async def log(self, number: int, first: int, records_max: int, txn: TxnId | None = None) -> LogPage:
        """The log from entry `first` on.  Raises CoordinatorNotFound, InvalidRequest."""
        await self._check(number)
        if txn is not None and txn.coordinator != number:
            raise InvalidRequest(f"Transaction {txn} is in the log of coordinator {txn.coordinator}, not of {number}.")
        keys = self._coordinators.of(TxnId(number, 0)).keys
        return LogPage(*await log.shown(self._store, keys, first, records_max, None if txn is None else txn.serial))

    async def raise_count(self, count: int) -> int:
        """Creates coordinators until there are `count`; returns how many there are.  Raises InvalidRequest if there are
        more already: transactions and producer ids name their coordinators, so none can be removed."""
        await self._coordinators.refresh()
        if not len(self._coordinators) <= count <= COORDINATORS_MAX:
            raise InvalidRequest(
                f"There are {len(self._coordinators)} coordinators; the number can be raised to {COORDINATORS_MAX} at "
                f"most, and never lowered, so it cannot become {count}."
            )
        await self._coordinators.refresh(count)
        return len(self._coordinators)

    def age_ms(self, stats: CoordinatorStats) -> int | None:
        """The age of the oldest live transaction; None without one."""
        if stats.oldest_started_ms is None:
            return None
        return max(self._clock.now_ms() - stats.oldest_started_ms, 0)

    async def _check(self, number: int) -> None:
        if number >= len(self._coordinators):
            await self._coordinators.refresh()  # another broker may have created it
        if not 0 <= number < len(self._coordinators):
            raise CoordinatorNotFound(
                f"There is no coordinator {number}; there are 0 to {len(self._coordinators) - 1}."
            )
