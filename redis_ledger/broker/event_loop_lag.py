"""Measures the lag of the event loop: how late a timer fires, four times a second.

    timer    ·  ·  ·  ·                         ·  ·  ·
    loop     ─────────────── paused ────────────────────
                                                └ stall: requests in the sockets may be old, their clients gone

A pause of the process (SIGSTOP, a suspended machine, swapping) is a lag, too.  Requests that were sent before it are
read after it, possibly before the timer fires; `is_doubtful` compares the clock itself.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from redis_ledger.telemetry import metrics

PERIOD_S = 0.25
LONG_S = 1.0  # shorter lags are those of a busy machine, and no client gives up a request so early
LATE_S = PERIOD_S + LONG_S  # between two readings of the clock
STALL_S = 3.0  # shorter than clients wait for a response, and than other brokers wait for a heartbeat
DOUBT_S = 1.0  # after a long lag: the time in which the requests that arrived during it begin


class EventLoopLag:
    """on_stall: called after a lag of STALL_S or more."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop | None = None, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._loop = loop or asyncio.get_running_loop()
        self._now_s = now_s
        self._timer: asyncio.TimerHandle | None = None
        self._seen_s = self._doubt_until_s = 0.0
        self.on_stall: list[Callable[[], None]] = []

    def start(self) -> None:
        self._seen_s = self._now_s()
        self._plan()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._seen_s = 0.0

    def is_doubtful(self, now_s: float) -> bool:
        """Whether a request that begins now may have waited for the event loop."""
        if self._seen_s and now_s - self._seen_s > LATE_S:
            self._look(now_s)
        return now_s < self._doubt_until_s

    def _plan(self) -> None:
        self._timer = self._loop.call_later(PERIOD_S, self._fire, self._loop.time() + PERIOD_S)

    def _fire(self, planned_s: float) -> None:
        metrics.event_loop_lag.observe(max(self._loop.time() - planned_s, 0.0))
        self._look(self._now_s())
        self._plan()

    def _look(self, now_s: float) -> None:
        lag_s, self._seen_s = now_s - self._seen_s - PERIOD_S, now_s
        if lag_s >= LONG_S:
            self._doubt_until_s = now_s + DOUBT_S
        if lag_s >= STALL_S:
            for call in self.on_stall:
                call()
