"""Extends the leases of what a consumer has handed out, while the application works on it.

    keep(messages) ─▶ [ held ] ── every third of the ack timeout ─▶ `:extend` ─▶ those that are lost are forgotten
                        └─ forget(ids): acknowledged, or returned

One worker, which ends when nothing is held.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import monotonic
from typing import Protocol

from redis_ledger.client.concurrency import AsyncCondition, AsyncMutex, AsyncWorker
from redis_ledger.client.held_leases import HeldLeases
from redis_ledger.client.models import Message
from redis_ledger.errors import ClientClosed, LedgerError
from redis_ledger.ids import MessageId


class AsyncExtend(Protocol):
    async def __call__(self, ids: Sequence[MessageId]) -> list[MessageId]:
        """Returns the ids that the consumer does not have any more."""


class AsyncLeaseKeeper:
    """lease_max_ms 0: extends nothing."""

    def __init__(self, extend: AsyncExtend, ack_timeout_ms: int, lease_max_ms: int) -> None:
        self._extend, self._is_off = extend, lease_max_ms == 0
        self._every_s = ack_timeout_ms / 3000
        self._held = HeldLeases(ack_timeout_ms / 1000, lease_max_ms / 1000)
        self._mutex = AsyncMutex()
        self._ended = AsyncCondition(self._mutex)
        self._worker: AsyncWorker | None = None
        self._is_closed = False

    def keep(self, messages: Sequence[Message]) -> None:
        with self._mutex:
            if self._is_off or self._is_closed or not messages:
                return
            self._held.add(messages, monotonic())
            if self._worker is None:
                self._worker = AsyncWorker(self._run, "redis-ledger leases")

    def forget(self, ids: Iterable[MessageId]) -> None:
        with self._mutex:
            self._held.forget(ids)

    def forget_upto(self, last: MessageId) -> None:
        with self._mutex:
            self._held.forget_upto(last)

    def forget_all(self) -> None:
        with self._mutex:
            self._held.clear()

    def close(self) -> None:
        with self._mutex:
            self._is_closed = True
            self._held.clear()
            self._ended.notify_all()

    async def _run(self) -> None:
        while True:
            with self._mutex:
                if not self._is_closed:
                    await self._ended.wait(self._every_s)
                if not len(self._held):
                    self._worker = None
                    return
                began_s = monotonic()
                due = self._held.due(began_s)
            if not due:
                continue
            try:
                lost = await self._extend(due)
            except ClientClosed:
                self.close()
                continue
            except LedgerError:
                continue  # the next turn tries again
            with self._mutex:
                self._held.extend(due, began_s)
                self._held.forget(lost)
