"""Lazy items of a group commit: they wait for others, no longer than their delay, and until they are enough."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from redis_ledger.clock import ManualClock
from tests.support.group_commit import Other, turn


@pytest.fixture
async def clock(monkeypatch: pytest.MonkeyPatch) -> ManualClock:
    """The time of the event loop, which stands still unless a test moves it."""
    clock, loop = ManualClock(), asyncio.get_running_loop()
    began_s, began_ms = loop.time(), clock.now_ms()
    monkeypatch.setattr(loop, "time", lambda: began_s + (clock.now_ms() - began_ms) / 1_000)
    return clock


async def test_a_lazy_item_waits_for_others_as_long_as_the_delay(clock):
    """BW-02: 100 ms."""
    other = Other(lazy_ms=100)
    other.add("a", lazy=True)
    for passed_ms, batches in ((0, []), (90, []), (9, []), (1, ["a"]), (20, ["a"])):
        clock.advance(passed_ms)
        await turn()
        assert other.batches == batches
    await other.answer()
    assert other.group.is_idle
    # And the delay of the next one begins with it
    other.add("b", lazy=True)
    for passed_ms, batches in ((90, ["a"]), (30, ["a", "b"])):
        clock.advance(passed_ms)
        await turn()
        assert other.batches == batches


@pytest.mark.parametrize(
    ("limits", "size", "enough", "trigger"),
    [
        ({"items_max": 32}, 1, 32, "records"),
        ({"items_max": 512, "bytes_max": 256}, 4, 64, "bytes"),
        ({"items_max": 64, "bytes_max": 256}, 4, 64, "records"),
        ({"items_max": 512, "bytes_max": 256}, 300, 1, "alone"),
    ],
)
async def test_lazy_items_leave_in_one_call_as_soon_as_they_are_enough(clock, limits, size, enough, trigger):
    """BW-02: 32 records, or 64 of 4 bytes; the number is compared before the bytes, and one large item is enough."""
    flushed: list[tuple[int, int, str]] = []
    other = Other(**limits, lazy_ms=100, on_flush=lambda items, *flush: flushed.append((len(items), *flush)))
    for _ in range(enough - 1):
        other.add("a", size, lazy=True)
        await turn()
    assert (flushed, len(other.group)) == ([], enough - 1)
    other.add("a", size, lazy=True)
    await turn()
    assert flushed == [(enough, enough * size, trigger)]
    # Then the timer is gone with them, and the count begins again
    await other.answer()
    other.add("b", size // 4, lazy=True)
    clock.advance(99)
    await turn()
    assert (other.batches, len(other.group)) == (["a" * enough], 1)
    clock.advance(1)
    await turn()
    assert other.batches == ["a" * enough, "b"]


async def test_items_that_wait_for_a_slow_call_set_no_timer_and_those_that_wait_alone_share_one(clock, monkeypatch):
    """BW-04: a call of 1 s, in which 1 000 items without a waiter come, with a delay of 2 ms."""
    loop, timers = asyncio.get_running_loop(), list[float]()
    call_later = loop.call_later

    def counted(delay: float, *args: Any, **more: Any) -> asyncio.TimerHandle:
        timers.append(delay)
        return call_later(delay, *args, **more)

    monkeypatch.setattr(loop, "call_later", counted)
    other = Other(items_max=64, lazy_ms=2)
    # Given a call that is not answered, and the items that come meanwhile
    other.add("a")
    await turn()
    for _ in range(1_000):
        other.add("b", lazy=True)
        clock.advance(1)
        await turn()
    assert (timers, other.batches, len(other.group)) == ([], ["a"], 1_000)
    # When it is answered, then they leave at once
    while not other.group.is_idle:
        await other.answer()
    assert (timers, other.batches) == ([], ["a", *["b" * 64] * 15, "b" * 40])
    # And when nothing is under way, one timer of the delay serves all that come before it
    other.add("c", lazy=True)
    clock.advance(1)
    other.add("c" * 62, lazy=True)
    await turn()
    assert (timers, len(other.group)) == ([0.002], 63)
    clock.advance(1)
    await turn()
    assert (timers, other.batches[-1]) == ([0.002], "c" * 63)


async def test_a_lazy_item_rides_with_the_first_that_is_not():
    other = Other(lazy_ms=10_000)
    other.add("a", lazy=True)
    await turn()
    other.add("b")
    await turn()
    await other.answer()
    # and the timer that is left over does nothing
    other.add("c", lazy=True)
    await turn()
    assert other.batches == ["ab"]
    other.add("d")
    await turn()
    assert other.batches == ["ab", "cd"]


async def test_lazy_items_that_wait_for_a_call_leave_with_the_next():
    other = Other(lazy_ms=10_000)
    other.add("a")
    await turn()
    other.add("b", lazy=True)
    await other.answer()
    assert other.batches == ["a", "b"]
