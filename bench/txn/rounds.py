"""Comparing two ways of doing the same thing, in turns within one run.

The speed of the machine changes from minute to minute.  So each round runs both ways, the order changes from round to
round, and the ratio is the median of the ratios within a round.  Two runs of the same way differ by a few percent: a
goal of "not slower" is 0.95.
"""

from __future__ import annotations

import statistics
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from bench.lab import Lab, Metrics, without_gc

NOT_SLOWER = 0.95
ROUNDS = 6
Run = Callable[[float], Awaitable[Metrics]]


class Compared(NamedTuple):
    """Medians of both ways, and how many times faster the first is."""

    first: Metrics
    second: Metrics
    ratio: float


async def compared(lab: Lab, first: Run, second: Run, metric: str) -> Compared:
    """metric: of both, more is better."""
    rounds = ROUNDS if lab.pace.runs > 1 else 2
    seconds = lab.pace.run_s * lab.pace.runs / rounds
    taken: list[tuple[Metrics, Metrics]] = []
    for run in (first, second):
        await run(lab.pace.warm_up_s / 2)
    for number in range(rounds):
        measured: dict[Run, Metrics] = {}
        for run in (first, second) if number % 2 else (second, first):
            with without_gc():
                measured[run] = await run(seconds)
        taken.append((measured[first], measured[second]))
    return Compared(
        medians([mine for mine, _ in taken]),
        medians([other for _, other in taken]),
        statistics.median(mine[metric] / other[metric] for mine, other in taken),
    )


def medians(taken: list[Metrics]) -> Metrics:
    return {name: statistics.median(each[name] for each in taken) for name in taken[0]}
