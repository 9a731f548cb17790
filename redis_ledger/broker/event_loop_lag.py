"""Measures the lag of the event loop: how late a timer fires, four times a second."""

from __future__ import annotations

import asyncio

from redis_ledger.telemetry import metrics

PERIOD_S = 0.25


class EventLoopLag:
    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._loop = loop or asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._timer = self._loop.call_later(PERIOD_S, self._fire, self._loop.time() + PERIOD_S)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _fire(self, planned_s: float) -> None:
        metrics.event_loop_lag.observe(max(self._loop.time() - planned_s, 0.0))
        self.start()
