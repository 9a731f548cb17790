"""What happens when a million records are due in the same millisecond?

Each has an entry of its own, as if it had come alone.  They fire in chunks, in the order in which they were scheduled,
and those who produce to another partition must not notice much: `seconds` until all are in the log, and the latency
of the others until then.
"""

from __future__ import annotations

from functools import partial

from bench.delay.dues import at_once
from bench.delay.meanwhile import fired
from bench.lab import Lab

CASE, RECORDS = "1M_same_ms", 1_000_000
P99_GOAL = 100


async def measure(lab: Lab) -> None:
    count = int(RECORDS * lab.pace.scale)
    measured = await fired(lab.pace, count, partial(at_once, count=count))
    lab.note(CASE, "seconds", measured["seconds"], "s", "process")
    lab.note(CASE, "other_p50_ms", measured["other_p50_ms"], "ms", "process")
    lab.note(CASE, "other_p99_ms", measured["other_p99_ms"], "ms", "process", P99_GOAL)
    lab.note_costs(CASE, measured, "process")
