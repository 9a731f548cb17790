"""The clocks: the only place that reads the time, so that tests can pass their own.

    Redis's TIME ──every heartbeat──▶ RedisClock ──▶ what a broker stores, compares, expires and deletes by time
    machine's clock ────compared────▶     └────────▶ is_doubted: they differ too much, and one of them is wrong

Brokers share one Redis, so its clock is the one that all of them agree on.  On a Redis Cluster it is the clock of the
node that has the catalog.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Protocol


class Clock(Protocol):
    def now_ms(self) -> int:
        """Milliseconds since 1970, UTC."""


class SystemClock:
    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000


class RedisClock:
    """Redis's time, at most one round trip behind and never ahead: its last reply and what has passed since.

    skew_ms_max   is_doubted if the clocks differ by more; 0: they are not compared
    machine       the clock that is compared with Redis's
    passed_s      a clock that no one sets, such as time.monotonic; `sent_s` below is a reading of it
    """

    def __init__(
        self, skew_ms_max: int = 0, machine: Clock | None = None, passed_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._skew_ms_max, self._machine, self._passed_s = skew_ms_max, machine or SystemClock(), passed_s
        self._ahead_ms: float | None = None  # of passed_s()
        self._skew_ms: int | None = None

    def learn(self, redis_ms: int, sent_s: float) -> None:
        """redis_ms: from the reply, which has arrived now, to a request that was sent at sent_s."""
        now_s = self._passed_s()
        # A reply that was delayed may be older than what is known.  A time above the latest possible one is wrong: the
        # clock of Redis was set back.
        is_old = self._ahead_ms is not None and redis_ms < self.now_ms() <= redis_ms + 1 + (now_s - sent_s) * 1000
        if not is_old:
            self._ahead_ms = redis_ms - now_s * 1000
        if self._skew_ms is not None:  # a time that has jumped is doubted before anything is decided by it
            self._skew_ms = max(self._skew_ms, self._skew([redis_ms], sent_s), key=abs)

    def compare(self, times_ms: Sequence[int], sent_s: float) -> None:
        """Compares the machine's clock with the replies of all primaries to a request that was sent at sent_s."""
        self._skew_ms = self._skew(times_ms, sent_s)

    def _skew(self, times_ms: Sequence[int], sent_s: float) -> int:
        took_ms, machine_ms = int((self._passed_s() - sent_s) * 1000) + 1, self._machine.now_ms()
        skews = (machine_ms - min(max(machine_ms, each), each + took_ms) for each in times_ms)
        return max(skews, key=abs)

    def now_ms(self) -> int:
        assert self._ahead_ms is not None, "the clock of Redis has not been read"
        return int(self._passed_s() * 1000 + self._ahead_ms)

    @property
    def skew_ms(self) -> int:
        """How far the machine's clock is ahead of Redis's, of the primary that differs most; negative: behind."""
        return self._skew_ms or 0

    def is_doubted(self) -> bool:
        """Whether nothing may be deleted or aborted because of its age: the clocks differ too much, or were not
        compared yet."""
        return self._skew_ms_max > 0 and (self._skew_ms is None or abs(self._skew_ms) > self._skew_ms_max)


class ShiftedClock:
    """Another clock, moved by a number of milliseconds.  For tests of a running broker; the setting is test_hooks."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.shift_ms = 0

    def now_ms(self) -> int:
        return self._clock.now_ms() + self.shift_ms

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
