"""Batches the transactional acks of one subscription on one partition.

    arrivals   t1  t2 t3  t4       one call in flight; later acks are sent with the next
    calls      |t1| |t2,t3,t4|     if one is not simple: t2, t3 and t4 one by one, each with its own result

Source: docs/decisions/0007.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from time import perf_counter
from typing import NamedTuple

from redis_ledger.clock import Clock
from redis_ledger.cursor import scripts
from redis_ledger.cursor.ranges import Range, size
from redis_ledger.errors import LedgerError, StoreUnavailable
from redis_ledger.ids import TxnId
from redis_ledger.store.group_commit import GroupCommit, Thresholds, Trigger
from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.store import Store
from redis_ledger.telemetry.transaction_metrics import LOGS

ACK_BYTES, RANGE_BYTES = 64, 24  # what an acknowledgement and each of its ranges count for in the size of a call
_log = LOGS["pending_acks"]


class PendingAck(NamedTuple):
    consumer: str
    txn: TxnId
    ranges: Sequence[Range]
    future: asyncio.Future[int]
    added_s: float


class PendingAcks:
    def __init__(
        self, store: Store, keys: PartitionKeys, topic_id: str, name: str, thresholds: Thresholds, clock: Clock
    ) -> None:
        self._store, self._keys, self._topic_id, self._name = store, keys, topic_id, name
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._group: GroupCommit[PendingAck] = GroupCommit(
            self._send, self._settle, turnstile=partial(store.turnstile, keys.state), on_flush=_count_batch
        )
        self._group.limit(thresholds)
        self.limit = self._group.limit

    def add(self, consumer: str, txn: TxnId, ranges: Sequence[Range]) -> asyncio.Future[int]:
        """Returns a future of the number of offsets that the transaction holds.  Raises as scripts.pending_ack."""
        future: asyncio.Future[int] = self._loop.create_future()
        size = ACK_BYTES + RANGE_BYTES * len(ranges)
        self._group.add(PendingAck(consumer, txn, ranges, future, perf_counter()), size)
        return future

    @property
    def is_idle(self) -> bool:
        return self._group.is_idle

    def _send(self, holds: list[PendingAck]) -> asyncio.Future[list[int | LedgerError]]:
        return self._loop.create_task(self._carry(holds))

    async def _carry(self, holds: list[PendingAck]) -> list[int | LedgerError]:
        if len(holds) > 1 and len({hold.txn for hold in holds}) == len(holds):
            together = [(hold.consumer, hold.txn, hold.ranges) for hold in holds]
            where = (self._store, self._keys, self._topic_id, self._name)
            if await scripts.pending_ack_many(*where, together, now_ms=self._clock.now_ms()):
                return [size(hold.ranges) for hold in holds]
        return [await self._one(hold) for hold in holds]

    async def _one(self, hold: PendingAck) -> int | LedgerError:
        try:
            return await scripts.pending_ack(
                self._store, self._keys, self._topic_id, self._name, hold.consumer, hold.txn, hold.ranges,
                now_ms=self._clock.now_ms(),
            )  # fmt: skip
        except LedgerError as error:
            return error

    def _settle(self, holds: list[PendingAck], done: asyncio.Future[list[int | LedgerError]]) -> None:
        error = done.exception() if not done.cancelled() else StoreUnavailable()
        for i, hold in enumerate(holds):
            if hold.future.done():
                continue
            outcome = error or done.result()[i]
            if isinstance(outcome, BaseException):
                hold.future.set_exception(outcome)
            else:
                hold.future.set_result(outcome)


def _count_batch(holds: list[PendingAck], size: int, trigger: Trigger) -> None:
    _log.flushed(len(holds), size, perf_counter() - holds[0].added_s, trigger)
