"""The clock of a store: one timer for all calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from redis_ledger.store.pauses import Pauses


class Watch:
    """The store's coarse clock: on every tick it checks every link.

    timeout_ticks  longest one call may take; waits_ms: how long it waits at least, from the tick before it
    retry_ticks    how long a call that is safe to repeat waits for Redis to come back
    """

    def __init__(self, timeout_ms: int, retry_ms: int) -> None:
        self.interval_s = min(max(min(timeout_ms, retry_ms) / 20, 5), 250) / 1000
        self.timeout_ms, self.retry_ms = timeout_ms, retry_ms
        self.timeout_ticks = max(2, round(timeout_ms / 1000 / self.interval_s))
        self.waits_ms = int(self.timeout_ticks * self.interval_s * 1000)
        self.retry_ticks = max(1, round(retry_ms / 1000 / self.interval_s))
        self.tick = 1
        self.pauses = Pauses()
        self.watched: list[Callable[[], None]] = []
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(self.interval_s, self._strike)

    def _strike(self) -> None:
        # A late tick counts as one: if this process was stalled, Redis was not.
        self.tick += 1
        self._timer = self._loop.call_later(self.interval_s, self._strike)
        for look in tuple(self.watched):
            look()

    def stop(self) -> None:
        self._timer.cancel()
