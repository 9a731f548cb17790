"""How many acknowledgements does the store take in a second?

A subscription has a million delivered messages.  This process acknowledges them in the store, 8 calls at a time:

    in_order   one range of 300 offsets a call; every call advances the mark-delete position, and nothing else is stored
    separate   every second offset, 300 ranges of one offset a call; each cuts a lease in two
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from bench.acks.delivered import Delivered, delivered
from bench.lab import Lab, without_gc
from bench.processes import Cpu
from redis_ledger.cursor.ranges import Range

RECORDS, RANGES, AT_ONCE = 1_000_000, 300, 8
GOAL = 300_000


async def measure(lab: Lab) -> None:
    count = int(RECORDS * lab.pace.scale)
    in_order = [[Range(at, min(at + RANGES, count) - 1)] for at in range(0, count, RANGES)]
    offsets = range(0, count, 2)
    separate = [[Range(at, at) for at in offsets[i : i + RANGES]] for i in range(0, len(offsets), RANGES)]
    for case, calls in (("in_order", in_order), ("separate", separate)):
        async with delivered(count) as ready:
            cpu = Cpu(None, ready.server.redis_pid)
            elapsed_s = await acknowledge(ready, calls)
            costs = {"measured_s": elapsed_s, **cpu.used()}
            acks = sum(last - first + 1 for ranges in calls for first, last in ranges)
            lab.note(case, "acks_per_s", acks / elapsed_s, "acks/s", "process", GOAL)
            lab.note_costs(case, costs, "process")


async def acknowledge(ready: Delivered, calls: Sequence[Sequence[Range]]) -> float:
    """Returns the seconds that the calls took."""
    following = iter(calls)

    async def consumer() -> None:
        for ranges in following:
            await ready.ack(ranges)

    with without_gc():
        began_s = time.perf_counter()
        await asyncio.gather(*(consumer() for _ in range(AT_ONCE)))
        return time.perf_counter() - began_s
