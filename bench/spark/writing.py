"""How fast does Spark write a topic exactly once, and what does that cost a small batch?

`spark_write` `transactional`: a million rows of 100 bytes with a key each, from Parquet into four partitions, in one
transaction a task, committed together.  This includes reading the Parquet files; `scan_rows_per_s` is the rate of that
alone.  `transactional_1KiB`: the same with fewer rows of 1 KiB.

`batch_overhead_ms`: a stream of one record a batch, its median batch (`triggerExecution`) with our sink minus that of
the same stream into Spark's sink noop: begin, write a record, commit, and Spark's Python workers for it.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path
from typing import NamedTuple

from bench.lab import Lab
from bench.processes import BenchFailed, RunningBroker
from bench.spark.engine import ROLES, Costs, Engine
from bench.spark.filling import create
from bench.spark.reading import DURABILITY
from redis_ledger.client import AsyncClient

PARTITIONS = 4
RUNS = 3
ROWS_PER_S, OVERHEAD_MS = 100_000, 50  # the goals
BATCHES = 40


class Load(NamedTuple):
    case: str
    rows: int
    bytes_each: int
    goal: float | None


LOADS = (Load("transactional", 1_000_000, 100, ROWS_PER_S), Load("transactional_1KiB", 400_000, 1024, None))


async def measure(lab: Lab, served: RunningBroker, engine: Engine, url: str) -> None:
    for load in LOADS:
        await _written(lab, served, engine, url, load)
    await _overhead(lab, served, engine, url)


async def _written(lab: Lab, served: RunningBroker, engine: Engine, url: str, load: Load) -> None:
    rows = max(1_000, int(load.rows * lab.pace.scale))
    costs = Costs(engine, served)
    with tempfile.TemporaryDirectory(prefix="redis-ledger-bench-") as folder:
        home = str(Path(folder) / "rows")
        await engine.ask("prepare", records=rows, bytes_each=load.bytes_each, home=home)
        await engine.ask("scan", home=home)
        scan_s = (await engine.ask("scan", home=home))["seconds"]
        runs = []
        for number in range(1 + (RUNS if lab.pace.runs > 1 else 1)):
            topic = f"{load.case}-{number}"
            await create(served, topic, PARTITIONS)
            costs.start()
            seconds = (await engine.ask("write", url=url, topic=topic, home=home, options={}))["seconds"]
            runs.append((seconds, costs.used()))
            await _check(url, topic, rows)
            await costs.rest()
    runs = runs[1:]  # the first one is a warm-up
    lab.note(load.case, "rows_per_s", rows / statistics.median(run[0] for run in runs), "rows/s", DURABILITY, load.goal)
    lab.note(load.case, "scan_rows_per_s", rows / scan_s, "rows/s", DURABILITY)
    for role in ROLES:
        share = statistics.median(100 * used[role] / seconds for seconds, used in runs)
        lab.note(load.case, f"cpu_share_{role}", share, "% of a core", DURABILITY)
    whole = statistics.median(sum(used.values()) for _, used in runs)
    lab.note(load.case, "cpu_us_per_row", 1e6 * whole / rows, "µs", DURABILITY)


async def _check(url: str, topic: str, rows: int) -> None:
    """Checks that everything is visible.  A partition ends with the markers of its transactions, which have offsets."""
    async with AsyncClient(url) as client:
        states = (await client.topics.describe(topic)).partition_states
    offsets = sum(state.stable_offset for state in states)
    if any(state.stable_offset != state.end_offset for state in states) or not rows < offsets <= rows + 64:
        raise BenchFailed(f"{rows} rows were written, but the topic has {states}")


async def _overhead(lab: Lab, served: RunningBroker, engine: Engine, url: str) -> None:
    batches = BATCHES if lab.pace.runs > 1 else 4
    await create(served, "one-by-one", 1)
    without = (await engine.ask("stream", url=url, topic="", batches=batches))["batches"]
    with_ours = (await engine.ask("stream", url=url, topic="one-by-one", batches=batches))["batches"]
    ours, none = (_median(taken, "triggerExecution") for taken in (with_ours, without))
    lab.note("transactional", "batch_overhead_ms", ours - none, "ms", DURABILITY, OVERHEAD_MS)
    lab.note("transactional", "batch_ms", ours, "ms", DURABILITY)
    lab.note("transactional", "batch_noop_ms", none, "ms", DURABILITY)


def _median(batches: list[dict[str, int]], phase: str) -> float:
    return statistics.median(each.get(phase, 0) for each in batches)
