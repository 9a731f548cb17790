"""What happens when a million records are due in the same millisecond?

Each has its own entry, as if appended alone.  They are delivered in chunks, in the order in which they were scheduled,
and producers to another partition should hardly notice: `seconds` until all are in the log, and the latency of the
others until then.
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
