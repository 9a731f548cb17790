"""How late the event loop is: a timer every quarter of a second, and by how much it misses its time."""

from __future__ import annotations

import asyncio

from redis_ledger.telemetry import metrics

EVERY_S = 0.25


class EventLoopLag:
    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._loop = loop or asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._timer = self._loop.call_later(EVERY_S, self._strike, self._loop.time() + EVERY_S)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _strike(self, planned_s: float) -> None:
        metrics.event_loop_lag.observe(max(self._loop.time() - planned_s, 0.0))
        self.start()
