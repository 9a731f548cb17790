"""What does it cost to wait for replicas?

    produce   POST /v1/topics/t/records        10 records of 100 bytes, 16 connections
    txn_1     POST /v1/transactions:execute    one record of 100 bytes, 64 connections
    execute   POST /v1/transactions:execute    an acknowledgement and a record of 100 bytes, 64 connections

Three brokers run at once, each on a Redis of its own: durability `process`, `disk`, and `replicas` with a primary and
two replicas of which both have to confirm.  Every round measures the three in turn, so a ratio compares neighbours in
time.  `vs_process` is the median of these ratios.  All servers and the client share the two cores of the machine: the
replicas apply every write as well, which elsewhere is the work of other machines.
"""

from __future__ import annotations

import contextlib
import itertools
import statistics
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from bench.execute_http import steps
from bench.lab import Lab, Metrics, without_gc
from bench.load import Client, connected, request
from bench.processes import Cpu, Durability, broker, replicated

LEVELS: tuple[Durability, ...] = ("process", "disk", "replicas")
REPLICAS = 2
RECORD = {"text": "x" * 100}


class Level(NamedTuple):
    """A broker at one level, and the clients of the cases."""

    durability: Durability
    client: Client
    many: Client
    cpu: Cpu


Run = Callable[[Level, float, int], Awaitable[Metrics]]


async def measure(lab: Lab) -> None:
    async with contextlib.AsyncExitStack() as stack:
        levels = [await _level(stack, durability) for durability in LEVELS]
        for case, run in (("produce", _produce), ("txn_1", _one_record), ("execute", _execute)):
            await _case(lab, case, run, levels)


async def _level(stack: contextlib.AsyncExitStack, durability: Durability) -> Level:
    external, options = None, []
    if durability == "replicas":
        external = await stack.enter_async_context(replicated(REPLICAS))
        options = ["--set", f"min_insync_replicas={REPLICAS + 1}"]
    served = await stack.enter_async_context(broker(durability, external=external, options=options))
    client, many = [await stack.enter_async_context(connected(served, count)) for count in (16, 64)]
    for topic in ("t", "out"):
        await client.call("POST", "/v1/topics", {"name": topic, "partitions": 1})
    return Level(durability, client, many, Cpu(served.broker_pid, served.redis_pid))


async def _case(lab: Lab, case: str, run: Run, levels: list[Level]) -> None:
    taken: dict[Durability, list[Metrics]] = {level.durability: [] for level in levels}
    for number in range(lab.pace.runs + 1):
        for level in levels:
            with without_gc():
                metrics = await run(level, lab.pace.run_s if number else lab.pace.warm_up_s, number)
            if number:
                taken[level.durability].append(metrics)
    base = taken["process"]
    for durability, runs in taken.items():
        medians = {name: statistics.median(each[name] for each in runs) for name in runs[0]}
        lab.note(case, "requests_per_s", medians["requests_per_s"], "requests/s", durability)
        for percentile in ("p50_ms", "p99_ms"):
            lab.note(case, percentile, medians[percentile], "ms", durability)
        if durability != "process":
            ratios = [mine["requests_per_s"] / other["requests_per_s"] for mine, other in zip(runs, base, strict=True)]
            lab.note(case, "vs_process", statistics.median(ratios), "", durability)
        lab.note_costs(case, medians, durability)


async def _closed(client: Client, body: bytes, seconds: float, cpu: Cpu) -> Metrics:
    cpu.start()
    outcome = await client.closed(itertools.repeat(body), seconds)
    return {
        "requests_per_s": outcome.answers / outcome.seconds, "p50_ms": outcome.percentile_ms(50),
        "p99_ms": outcome.percentile_ms(99), "measured_s": outcome.seconds, **cpu.used(),
    }  # fmt: skip


async def _produce(level: Level, seconds: float, number: int) -> Metrics:
    body = request("POST", "/v1/topics/t/records", {"records": [RECORD] * 10})
    return await _closed(level.client, body, seconds, level.cpu)


async def _one_record(level: Level, seconds: float, number: int) -> Metrics:
    body = request("POST", "/v1/transactions:execute", {"records": [{"topic": "out", "records": [RECORD]}]})
    return await _closed(level.many, body, seconds, level.cpu)


async def _execute(level: Level, seconds: float, number: int) -> Metrics:
    measured = await steps(level.many, f"in-{number}", seconds, level.cpu)
    return {"requests_per_s": measured["transactions_per_s"], **measured}
