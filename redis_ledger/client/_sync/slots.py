"""Slots: how many requests of one client may be under way at once.  Callers that wait are served in order.

Without this limit a thousand concurrent calls would queue inside httpx's connection pool, which searches all of them
for each answer, and which gives up on those that wait longest.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from redis_ledger.client.concurrency import Condition, Mutex


class Slots:
    def __init__(self, count: int) -> None:
        self._count = self._free = count
        self._mutex = Mutex()
        self._queue: dict[Condition, None] = {}  # one condition for each caller that waits, oldest first

    def anew(self) -> Slots:
        return Slots(self._count)

    @contextmanager
    def taken(self, until_s: float) -> Iterator[bool]:
        """Holds a slot.  Yields False, without a slot, if none became free before until_s (monotonic)."""
        is_held = self._take(until_s)
        try:
            yield is_held
        finally:
            if is_held:
                self._give_back()

    def _take(self, until_s: float) -> bool:
        with self._mutex:
            if self._free:
                self._free -= 1
                return True
            turn = Condition(self._mutex)
            self._queue[turn] = None
            try:
                turn.wait(max(until_s - monotonic(), 0.0))
            except BaseException:
                if turn not in self._queue:  # the slot was handed over, and is not going to be used
                    self._give_back()
                raise
            finally:
                is_waiting = turn in self._queue
                self._queue.pop(turn, None)
            return not is_waiting

    def _give_back(self) -> None:
        """Hands the slot to the caller that has waited longest, so that no newcomer overtakes it."""
        with self._mutex:
            if self._queue:
                turn = next(iter(self._queue))
                del self._queue[turn]
                turn.notify()
            else:
                self._free += 1
