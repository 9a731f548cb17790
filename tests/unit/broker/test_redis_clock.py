"""The clock of a broker: Redis's time, and how far the machine's clock is away from it."""

from __future__ import annotations

import pytest

from redis_ledger.clock import ManualClock, RedisClock

T = 1_700_000_000_000
DAY_MS = 86_400_000


class World:
    """A Redis, a machine and the time that passes; all clocks are right at first."""

    def __init__(self, skew_ms_max: int = 10_000) -> None:
        self.passed_s, self.machine = 1_000.0, ManualClock(T)
        self.clock = RedisClock(skew_ms_max, self.machine, lambda: self.passed_s)

    def passes(self, ms: int) -> None:
        self.passed_s += ms / 1000
        self.machine.advance(ms)

    def learn(self, redis_ms: int, took_ms: int = 0) -> None:
        sent_s = self.passed_s
        self.passes(took_ms)
        self.clock.learn(redis_ms, sent_s)

    def compare(self, *times_ms: int, took_ms: int = 0) -> None:
        sent_s = self.passed_s
        self.passes(took_ms)
        self.clock.compare(times_ms, sent_s)


def test_time_goes_on_from_the_last_reply_whatever_the_machine_says():
    world = World()
    world.learn(T)
    world.passes(1_500)
    world.machine.advance(8 * DAY_MS)
    assert world.clock.now_ms() == T + 1_500
    world.machine.advance(-16 * DAY_MS)
    assert world.clock.now_ms() == T + 1_500


@pytest.mark.parametrize(
    ("redis_ms", "took_ms", "now_ms"),
    [
        (T + 5_000, 0, T + 5_000),
        (T + 5_500, 500, T + 5_500),  # answered at the end of the round trip
        (T + 5_000, 500, T + 5_500),  # answered at its beginning: what is known is nearer
        (T + 5_000 + DAY_MS, 0, T + 5_000 + DAY_MS),  # Redis's clock has jumped ahead
        (T + 5_000 - DAY_MS, 500, T + 5_000 - DAY_MS),  # and back
        (T + 4_900, 0, T + 4_900),
    ],
)
def test_a_reply_five_seconds_later_sets_the_time_unless_it_only_was_slow(redis_ms, took_ms, now_ms):
    world = World()
    world.learn(T)
    world.passes(5_000)
    world.learn(redis_ms, took_ms)
    assert world.clock.now_ms() == now_ms


@pytest.mark.parametrize(
    ("times_ms", "took_ms", "skew_ms"),
    [
        ((T,), 0, 0),
        ((T - 8_000,), 0, 7_999),
        ((T - DAY_MS,), 0, DAY_MS - 1),  # the machine is a day ahead
        ((T + DAY_MS,), 0, -DAY_MS),
        ((T,), 60_000, 0),  # the reply waited for a minute: it may be right
        ((T, T - 20_000, T + 30_000), 0, -30_000),  # the primary that differs most
    ],
)
def test_the_skew_is_that_of_the_primary_that_differs_most(times_ms, took_ms, skew_ms):
    world = World()
    world.compare(*times_ms, took_ms=took_ms)
    assert world.clock.skew_ms == skew_ms
    assert world.clock.is_doubted() is (abs(skew_ms) > 10_000)


def test_the_time_is_doubted_until_the_clocks_were_compared():
    world = World()
    world.learn(T)
    assert world.clock.is_doubted()
    world.compare(T)
    assert not world.clock.is_doubted()


def test_a_time_that_jumps_is_doubted_at_once_and_until_all_primaries_agree():
    world = World()
    world.compare(T)
    world.learn(T + DAY_MS)
    assert world.clock.is_doubted()
    world.learn(T)
    assert world.clock.is_doubted()
    world.compare(T)
    assert not world.clock.is_doubted()


def test_clocks_that_are_not_compared_are_not_doubted():
    world = World(skew_ms_max=0)
    assert not world.clock.is_doubted()
    world.compare(T + DAY_MS)
    assert not world.clock.is_doubted()
