"""The comparison of two ways in turns, and percentiles."""

from __future__ import annotations

from array import array
from contextlib import nullcontext

import pytest

from bench.lab import Lab, Metrics, Pace
from bench.txn import rounds
from bench.txn.rounds import ROUNDS, compared
from bench.txn.sends_acks import percentile


async def test_a_machine_that_becomes_slower_does_not_change_the_ratio(monkeypatch):
    monkeypatch.setattr(rounds, "without_gc", nullcontext)  # it scans everything that the tests have imported
    # Given a first way that is twice as fast, on a machine that loses some of its speed with each run
    speed, runs = 1_000.0, []

    def way(name: str, factor: float):
        async def run(seconds: float) -> Metrics:
            nonlocal speed
            speed *= 0.999
            runs.append(name)
            return {"per_s": speed * factor}

        return run

    # When they are compared
    found = await compared(Lab("b", Pace()), way("a", 2), way("b", 1), "per_s")
    # Then the ratio is 2, each has warmed up once, and the order changes from round to round
    assert found.ratio == pytest.approx(2, rel=0.01)
    assert runs == ["a", "b", *["b", "a", "a", "b"] * (ROUNDS // 2)]


@pytest.mark.parametrize(
    ("values", "percent", "expected"), [([], 50, 0.0), ([3.0, 1.0, 2.0], 50, 2.0), ([1.0] * 99 + [9.0], 99, 9.0)]
)
def test_percentiles_are_values_that_were_measured(values, percent, expected):
    assert percentile(array("d", values), percent) == expected
