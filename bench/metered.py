"""What do metrics cost a producer?

    one broker, its metrics of requests counted and not counted in turns    Kafka Produce, 16 connections
    10x100B   one batch of ten records of 100 bytes
    64x1KiB   one batch of 64 records of 1 KiB

Without metrics, the functions that observe latencies and count outcomes of requests do nothing.  Counters that are
plain attributes (records, bytes, calls) are counted in both.  Tracing is off, and no request is logged, as by default.
A turn is compared with its neighbours, as in security.py.  The goal of the whole is 3 % of a produce.

`python -m bench.metered` is the broker: SIGUSR1 counts, SIGUSR2 does not.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import statistics
from collections.abc import Callable
from functools import partial
from types import CodeType, FunctionType
from typing import Any, cast

from bench.lab import Lab
from bench.load import connected
from bench.processes import RunningBroker, broker, cpu_s
from bench.secured import KafkaLink, closed, kafka_links, produce_frame
from redis_ledger.app.cli.main import app
from redis_ledger.broker import broker as module
from redis_ledger.broker.security.service import Security
from redis_ledger.kafka.error_metrics import ErrorMetrics
from redis_ledger.telemetry.series import HistogramSeries

CASES = {"10x100B": (10, 100), "64x1KiB": (64, 1024)}
CONNECTIONS, TURNS, TURN_S, STARTS = 16, 40, 0.15, 2
CPU_GOAL = 1.03


async def measure(lab: Lab) -> None:
    is_short = lab.pace.runs == 1
    taken: dict[str, list[list[float]]] = {case: [] for case in CASES}
    for _ in range(1 if is_short else STARTS):
        async with broker("process", kafka=True, program="bench.metered") as served:
            async with connected(served, 1) as client:
                await client.call("POST", "/v1/topics", {"name": "t", "partitions": 1})
            async with kafka_links(served, CONNECTIONS) as links:
                for case, (records, record_bytes) in CASES.items():
                    frame = produce_frame(records, record_bytes)
                    await closed(links, frame, lab.pace.warm_up_s)
                    turns = [False, *[True, False] * (1 if is_short else TURNS)]
                    taken[case].append([await turn(served, links, frame, counts=each) for each in turns])
    for case, rows in taken.items():
        counted = [row[at] * 2 / (row[at - 1] + row[at + 1]) for row in rows for at in range(1, len(row), 2)]
        itself = [b / a for row in rows for a, b in itertools.pairwise(row[::2])]
        lab.note(case, "cpu_per_request", statistics.median(counted), "of uncounted", "process", CPU_GOAL)
        lab.note(case, "cpu_per_request_self", statistics.median(itself), "of uncounted", "process")


async def turn(served: RunningBroker, links: list[KafkaLink], frame: bytes, *, counts: bool) -> float:
    """Returns the broker's CPU seconds of one request."""
    os.kill(served.broker_pid, signal.SIGUSR1 if counts else signal.SIGUSR2)
    await closed(links, frame, 0.02)  # the signal is handled meanwhile
    began = cpu_s(served.broker_pid) or 0.0
    outcome = await closed(links, frame, TURN_S)
    return ((cpu_s(served.broker_pid) or 0.0) - began) / outcome.answers


# The broker ----------------------------------------------------------------------------------------------------------


def _observe(self: Any, value: float, times: int = 1) -> None: ...
def _answered(self: Any, answer: Any) -> None: ...


_SWITCHED: tuple[tuple[Callable[..., None], Callable[..., None]], ...] = (
    (HistogramSeries.observe, _observe),
    (ErrorMetrics.answered, _answered),
)
# Callers keep bound methods, so the code of a function is exchanged, not the attribute of its class.
_CODES = [
    (cast(FunctionType, of), cast(FunctionType, of).__code__, cast(FunctionType, no).__code__) for of, no in _SWITCHED
]


def switch(*, counts: bool) -> None:
    for function, real, nothing in _CODES:
        chosen: CodeType = real if counts else nothing
        function.__code__ = chosen


class Metered(Security):
    async def open(self) -> None:
        await super().open()
        loop = asyncio.get_running_loop()
        for number, counts in ((signal.SIGUSR1, True), (signal.SIGUSR2, False)):
            loop.add_signal_handler(number, partial(switch, counts=counts))


if __name__ == "__main__":
    module.Security = Metered  # type: ignore[attr-defined]  # the class that a broker creates
    app()
