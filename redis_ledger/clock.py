"""The clock: the only place that reads the time, so that tests can pass their own."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    def now_ms(self) -> int:
        """Milliseconds since 1970, UTC."""


class SystemClock:
    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000


class ShiftedClock:
    """The system's clock, moved by a number of milliseconds.  For tests of a running broker; the setting is
    test_hooks."""

    def __init__(self) -> None:
        self.shift_ms = 0

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000 + self.shift_ms

    def set(self, now_ms: int) -> None:
        self.shift_ms += now_ms - self.now_ms()


class ManualClock:
    """Moves only with `advance`, for tests of deadlines."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        return self._now_ms

    def advance(self, ms: int) -> None:
        self._now_ms += ms
