"""How fast does Spark read a topic, and which processes use the CPU?

`spark_read` `2M`: two million records of 1 KiB in four partitions, all columns, into the JVM, where they are dropped
(Spark's sink noop).  Every run reads all records; the first, which is not timed, also counts and checks them.  The
shares are fractions of one core: two cores carry all processes, so 200 is the maximum.
"""

from __future__ import annotations

import statistics
from typing import Any, Literal

from bench.lab import Lab
from bench.processes import BenchFailed, RunningBroker
from bench.spark.engine import ROLES, Costs, Engine
from bench.spark.filling import BATCH_RECORDS, VALUE_BYTES, batches, fill

DURABILITY: Literal["process"] = "process"
TOPIC, PARTITIONS, RECORDS = "read", 4, 2_000_000
RUNS = 3
MB_PER_S = 200  # the goal
UNIT_RECORDS = PARTITIONS * BATCH_RECORDS


def scaled(records: int, scale: float) -> int:
    """Returns that fraction of the records, in whole batches for every partition."""
    return max(1, round(records * scale / UNIT_RECORDS)) * UNIT_RECORDS


async def measure(lab: Lab, served: RunningBroker, engine: Engine, url: str) -> int:
    """Fills the topic and reads it; returns the number of records."""
    records = scaled(RECORDS, lab.pace.scale)
    made = batches()
    seconds = await fill(served, TOPIC, PARTITIONS, records, made)
    lab.note("2M", "fill_mb_per_s", megabytes(records) / seconds, "MB/s", DURABILITY)
    costs = Costs(engine, served)
    await costs.rest()
    await timed(lab, "2M", engine, costs, records, {"url": url, "topic": TOPIC}, goal=MB_PER_S)
    return records


async def timed(
    lab: Lab, case: str, engine: Engine, costs: Costs, records: int, topic: dict[str, Any], goal: float | None
) -> None:
    """Reads the topic RUNS times, after checking every record once."""
    options: dict[str, str] = {}
    seen = await engine.ask("check", options=options, **topic)
    if (seen["rows"], seen["bytes"]) != (records, records * VALUE_BYTES):
        raise BenchFailed(f"{records} records were written, but Spark read {seen}")
    runs = []
    for _ in range(RUNS if lab.pace.runs > 1 else 1):
        costs.start()
        seconds = (await engine.ask("read", options=options, **topic))["seconds"]
        runs.append((seconds, costs.used()))
    seconds = statistics.median(run[0] for run in runs)
    lab.note(case, "mb_per_s", megabytes(records) / seconds, "MB/s", DURABILITY, goal)
    lab.note(case, "rows_per_s", records / seconds, "rows/s", DURABILITY)
    note_shares(lab, case, records, runs)


def note_shares(lab: Lab, case: str, records: int, runs: list[tuple[float, dict[str, float]]]) -> None:
    """runs: the duration of each, and the CPU seconds of each role."""
    for role in ROLES:
        share = statistics.median(100 * used[role] / seconds for seconds, used in runs)
        lab.note(case, f"cpu_share_{role}", share, "% of a core", DURABILITY)
    whole = statistics.median(sum(used.values()) for _, used in runs)
    lab.note(case, "cpu_ms_per_mb", 1000 * whole / megabytes(records), "ms/MB", DURABILITY)


def megabytes(records: int) -> float:
    """Megabytes of the values alone."""
    return records * VALUE_BYTES / 1e6
