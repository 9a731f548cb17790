"""How many records a second become visible in one partition, and how does that affect other producers?

500 000 records, due at random ms of five seconds, so that 100 000 are due in every second.  Each has its own entry, and
they were scheduled in random order: records that are due together come from all buckets.  100 000 is twice the goal, so
that delivery soon falls behind and the rate is its maximum: records / seconds from the first due time until all are in
the log.
"""

from __future__ import annotations

from functools import partial

from bench.delay.dues import scattered
from bench.delay.meanwhile import fired
from bench.lab import Lab

CASE, RECORDS, PER_S = "one_partition", 500_000, 100_000
RATE_GOAL, P99_GOAL = 50_000, 20


async def measure(lab: Lab) -> None:
    count = int(RECORDS * lab.pace.scale)
    measured = await fired(lab.pace, count, partial(scattered, seconds=count / PER_S, count=count))
    lab.note(CASE, "records_per_s", count / measured["seconds"], "records/s", "process", RATE_GOAL)
    lab.note(CASE, "other_p50_ms", measured["other_p50_ms"], "ms", "process")
    lab.note(CASE, "other_p99_ms", measured["other_p99_ms"], "ms", "process", P99_GOAL)
    lab.note_costs(CASE, measured, "process")
