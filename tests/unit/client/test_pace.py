from __future__ import annotations

import pytest

from redis_ledger.client.pace import Pace

MOST, ACK_TIMEOUT_MS = 500, 30_000


def handled(seconds_each: float, messages: int, at_once: int = 1) -> tuple[Pace, float]:
    """The pace of a consumer that takes messages, and the time at which it has taken the last."""
    pace, now_s = Pace(), 100.0
    for _ in range(messages):
        pace = pace.take(now_s, at_once)
        now_s += seconds_each * at_once
    return pace.take(now_s, at_once), now_s


# seconds a message, times, messages at a time: fetched ahead, counted with the next one
TABLE = {
    "nothing was handled": (1.0, 0, 1, 0, 0),
    "jobs of ten seconds": (10.0, 50, 1, 0, 0),
    "jobs of a second and more": (1.1, 50, 1, 0, 0),
    "jobs of 100 ms": (0.1, 100, 1, 9, 0),
    "jobs of a millisecond": (0.001, 10_000, 1, 500, 99),
    "the rate grows with what is handled": (0.001, 10, 1, 9, 0),
    "jobs of 100 ms, taken by the hundred": (0.1, 20, 100, 10, 1),
    "a hundred in 10 ms": (0.0001, 1_000, 100, 500, 999),
}


@pytest.mark.parametrize("name", TABLE)
def test_what_is_fetched_ahead_and_counted_early_follows_the_rate(name):
    seconds_each, times, at_once, ahead, soon = TABLE[name]
    pace, now_s = handled(seconds_each, times, at_once)
    assert (pace.ahead(now_s, MOST, ACK_TIMEOUT_MS), pace.soon(now_s)) == (ahead, soon)


def test_what_was_taken_counts_when_the_application_comes_back():
    pace = Pace().take(100.0, 400)
    assert pace.ahead(100.0, MOST, ACK_TIMEOUT_MS) == 0
    assert pace.take(100.1, 1).ahead(100.1, MOST, ACK_TIMEOUT_MS) == 380


def test_a_short_ack_timeout_allows_less():
    pace, now_s = handled(0.01, 1_000)
    assert pace.ahead(now_s, MOST, 300) == 9


def test_an_application_that_does_not_come_back_is_slow():
    pace, now_s = handled(0.001, 10_000)
    assert pace.ahead(now_s + 10, MOST, ACK_TIMEOUT_MS) == 0
