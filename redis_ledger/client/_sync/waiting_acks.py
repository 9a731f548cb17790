"""Acknowledgements that wait in transactions: when each transaction has to begin, so that none outlasts its lease.

    txn.ack ─→ add(txn, due)  ─┬─ commit, abort ──────────────────────→ forget
                               ├─ due: half of the lease is over ─────→ txn.hurry, which begins it
                               └─ its consumer returns what it has ───→ txn.hurry, before that

One worker for all transactions of a client.  It runs while there is something to wait for.
"""

from __future__ import annotations

from time import monotonic
from typing import Protocol, TypeAlias

from redis_ledger.client.concurrency import Condition, Mutex, Worker

AckSource: TypeAlias = tuple[str, str, str]  # topic, subscription, consumer


class Acking(Protocol):
    """A transaction whose acknowledgements wait."""

    def acknowledges(self, source: AckSource) -> bool: ...

    def hurry(self) -> None:
        """Begins it, which sends them.  Raises nothing."""


class WaitingAcks:
    def __init__(self) -> None:
        self._mutex = Mutex()
        self._changed = Condition(self._mutex)
        self._due_s: dict[Acking, float] = {}
        self._worker: Worker | None = None
        self._wakes_s = 0.0
        self._is_closed = False

    def add(self, txn: Acking, due_s: float) -> None:
        """due_s: monotonic time at which the transaction begins; an earlier one of the same transaction stands."""
        with self._mutex:
            if self._is_closed:
                return
            self._due_s[txn] = due_s = min(due_s, self._due_s.get(txn, due_s))
            if self._worker is None:
                self._wakes_s = due_s
                self._worker = Worker(self._run, "redis-ledger acknowledgements")
            elif due_s < self._wakes_s:
                self._changed.notify()

    def forget(self, txn: Acking) -> None:
        with self._mutex:
            self._due_s.pop(txn, None)

    def send(self, source: AckSource) -> None:
        """Sends those of a consumer, which is about to return the messages that it has not acknowledged."""
        with self._mutex:
            txns = [txn for txn in self._due_s if txn.acknowledges(source)]
        for txn in txns:
            txn.hurry()

    def close(self) -> None:
        """Nothing is held any more."""
        with self._mutex:
            self._is_closed = True
            self._due_s.clear()
            worker = self._worker
            self._changed.notify_all()
        if worker is not None:
            worker.join()

    def _run(self) -> None:
        while True:
            with self._mutex:
                now_s = monotonic()
                due = [txn for txn, due_s in self._due_s.items() if due_s <= now_s]
                for txn in due:
                    del self._due_s[txn]
                    Worker(txn.hurry, "redis-ledger begin")
                if not self._due_s:
                    self._worker = None
                    return
                self._wakes_s = min(self._due_s.values())
                self._changed.wait(self._wakes_s - now_s)
