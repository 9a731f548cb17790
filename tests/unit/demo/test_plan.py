"""When the demo kills what."""

from __future__ import annotations

from collections import Counter

import pytest

from redis_ledger.app.tools.demo.plan import plan


@pytest.mark.parametrize("rounds", [1, 3, 7])
def test_each_process_is_killed_per_round_and_two_in_the_last(rounds: int) -> None:
    kills = plan(rounds)
    times = Counter(victim for kill in kills for victim in kill.victims)
    assert times == {"broker": rounds + 1, "worker": rounds, "redis": rounds}
    assert kills[-1].victims == ("broker", "redis")


def test_kills_are_spread_over_the_work() -> None:
    shares = [kill.at for kill in plan(3)]
    assert shares == sorted(shares)
    assert shares[0] >= 0.05
    assert shares[-1] < 0.95


def test_no_rounds_no_kills() -> None:
    assert plan(0) == []
