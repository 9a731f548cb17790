"""Measuring: a warm-up that does not count, then a few short runs, and the median of each metric.

Two cores carry client, broker and Redis at once, so each run also reports the CPU seconds of the three: a client that
uses a whole core would be measuring itself.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from bench.figures import Figure
from bench.processes import Cpu


@dataclass(frozen=True)
class Pace:
    """scale: the fraction of records to prepare, where a number of records determines the duration."""

    warm_up_s: float = 1.0
    run_s: float = 3.0
    runs: int = 3
    scale: float = 1.0

    @classmethod
    def of(cls, scale: float) -> Pace:
        """The full size for 1, else short runs."""
        return cls() if scale == 1 else cls(warm_up_s=0.2, run_s=0.5, runs=1, scale=scale)


QUICK = Pace.of(0.05)  # checks that a bench works, measures nothing

Metrics = dict[str, float]


@dataclass
class Lab:
    """The tools of one bench, and its figures."""

    bench: str
    pace: Pace
    figures: list[Figure] = field(default_factory=list)

    def note(
        self, case: str, metric: str, value: float | None, unit: str, durability: str, goal: float | None = None
    ) -> None:
        """value None: not available on this machine; the line is left out.  Goals are set for `process` alone."""
        if value is not None:
            judged = goal if durability == "process" else None
            self.figures.append(Figure(self.bench, case, metric, round(value, 3), unit, judged, durability))

    def note_costs(self, case: str, measured: Metrics, durability: str) -> None:
        for metric in ("client_cpu_s", "broker_cpu_s", "redis_cpu_s", "measured_s"):
            self.note(case, metric, measured.get(metric), "s", durability)

    async def medians(self, cpu: Cpu, run: Callable[[float], Awaitable[Metrics]]) -> Metrics:
        """Returns medians of the results of `run(seconds)`, and of the CPU used."""
        await run(self.pace.warm_up_s)
        taken = []
        for _ in range(self.pace.runs):
            with without_gc():
                cpu.start()
                began_s = time.perf_counter()
                metrics = await run(self.pace.run_s)
                elapsed_s = time.perf_counter() - began_s
                # A run with a preparation returns its own time and CPU of the measured part.
                taken.append({"measured_s": elapsed_s, **cpu.used(), **metrics})
        return {name: statistics.median(run[name] for run in taken) for name in taken[0]}


@contextmanager
def without_gc() -> Iterator[None]:
    """Disables the collector, which would scan the prepared objects repeatedly."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
