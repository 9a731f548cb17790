"""The lag of the event loop, with a test clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from redis_ledger.broker.event_loop_lag import DOUBT_S, LONG_S, PERIOD_S, STALL_S, EventLoopLag
from redis_ledger.telemetry import exposition


class Loop:
    """An event loop with one timer, which the test fires."""

    def __init__(self) -> None:
        self.now = 100.0
        self.planned: tuple[float, Callable[..., None], tuple[Any, ...]] | None = None

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, call: Callable[..., None], *args: Any) -> Loop:
        self.planned = self.now + delay, call, args
        return self

    def cancel(self) -> None:
        self.planned = None

    def fire(self, late_s: float) -> None:
        assert self.planned is not None
        at, call, args = self.planned
        self.now = at + late_s
        call(*args)


def seen() -> dict[str, float]:
    """Observations up to each of some bounds, and their sum."""
    name = "redis_ledger_event_loop_lag_seconds"
    bounds = {at: exposition.REGISTRY.get_sample_value(f"{name}_bucket", {"le": at}) or 0.0 for at in ("0.25", "0.5")}
    return {**bounds, "sum": exposition.REGISTRY.get_sample_value(f"{name}_sum") or 0.0}


def test_a_timer_that_fires_late_shows_as_lag_and_the_next_one_is_planned_from_then():
    loop: Any = Loop()
    lag = EventLoopLag(loop)
    lag.start()
    before = seen()
    loop.fire(late_s=0.4)
    loop.fire(late_s=0.0)
    after = seen()
    assert {at: after[at] - before[at] for at in ("0.25", "0.5")} == {"0.25": 1, "0.5": 2}
    assert abs(after["sum"] - before["sum"] - 0.4) < 1e-6
    assert loop.planned[0] == 100.0 + PERIOD_S + 0.4 + PERIOD_S + PERIOD_S
    lag.close()
    assert loop.planned is None


def test_a_timer_that_fires_early_is_not_late():
    loop: Any = Loop()
    EventLoopLag(loop).start()
    before = seen()
    loop.fire(late_s=-0.001)
    assert seen()["sum"] == before["sum"]


@pytest.mark.parametrize("timer_first", [True, False])
@pytest.mark.parametrize(
    ("late_s", "doubtful", "stalls"),
    [(0.0, False, 0), (LONG_S - 0.01, False, 0), (LONG_S + 0.01, True, 0), (STALL_S + 0.01, True, 1)],
)
def test_requests_that_begin_after_a_pause_are_doubtful_whether_or_not_the_timer_fired_first(
    late_s, doubtful, stalls, timer_first
):
    loop, seen_stalls = Loop(), []
    lag = EventLoopLag(loop, lambda: loop.now)  # type: ignore[arg-type] # a loop of timers only
    lag.on_stall.append(lambda: seen_stalls.append(loop.now))
    lag.start()
    if timer_first:
        loop.fire(late_s)
        assert lag.is_doubtful(loop.now) == doubtful
    else:
        loop.now += PERIOD_S + late_s
        assert lag.is_doubtful(loop.now) == doubtful
        loop.fire(late_s)
    assert len(seen_stalls) == stalls
    for _ in range(int(DOUBT_S / PERIOD_S) + 1):
        loop.fire(0.0)
    assert not lag.is_doubtful(loop.now)


def test_a_loop_that_has_not_been_started_has_no_doubt():
    loop = Loop()
    assert not EventLoopLag(loop, lambda: loop.now).is_doubtful(loop.now)  # type: ignore[arg-type] # as above
