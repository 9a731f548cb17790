"""What does an unacknowledged message among acknowledged ones cost in Redis's memory, and an acknowledgement at random?

    one_in_a_million  every millionth message is left, of four million
    every_second      every second message of a million is left
    random_half       a random half of a million is acknowledged, in random order, 100 a call

`bytes_per_hole` is the memory of the key that has the acknowledged offsets, `leases_bytes_per_hole` that of the leases:
each hole is a lease of its own, since it may be delivered again by itself.  `us_per_ack` is the time of Redis.
`min_equal_after_restart` is 1 if all keys of the subscription are the same after Redis has read its append-only file.
"""

from __future__ import annotations

import random

from bench.acks.ack_batch import RANGES, acknowledge
from bench.acks.delivered import Delivered, delivered
from bench.lab import Lab
from bench.processes import Cpu
from redis_ledger.cursor.ranges import Range

MILLION, PER_ACK, SEED = 1_000_000, 100, 11
BYTES_PER_HOLE, BYTES_PER_ACK = 100, 0.35


async def measure(lab: Lab) -> None:
    million = max(int(MILLION * lab.pace.scale), 20_000)
    whole = [[Range(at + 1, at + million - 1)] for at in range(0, 4 * million, million)]
    second = [Range(at, at) for at in range(1, million, 2)]
    shuffled = list(range(million))
    random.Random(SEED).shuffle(shuffled)
    half = [sorted(shuffled[at : at + PER_ACK]) for at in range(0, million // 2, PER_ACK)]
    cases = {
        "one_in_a_million": (4 * million, whole, 4),
        "every_second": (million, [second[at : at + RANGES] for at in range(0, len(second), RANGES)], million // 2),
        "random_half": (million, [[Range(at, at) for at in group] for group in half], None),
    }
    for case, (records, calls, holes) in cases.items():
        async with delivered(records) as ready:
            before = await ready.occupied()
            cpu = Cpu(None, ready.server.redis_pid)
            elapsed_s = await acknowledge(ready, calls)
            costs = {"measured_s": elapsed_s, **cpu.used()}
            after = await ready.occupied()
            acked = sum(last - first + 1 for ranges in calls for first, last in ranges)
            acks, others = after["acks"] - before["acks"], sum(after.values()) - sum(before.values())
            if holes is not None:
                goal = BYTES_PER_HOLE if case == "one_in_a_million" else None
                lab.note(case, "bytes_per_hole", acks / holes, "B", "process", goal)
                lab.note(case, "leases_bytes_per_hole", (others - acks) / holes, "B", "process")
            else:
                lab.note(case, "bytes_per_ack", acks / acked, "B", "process", BYTES_PER_ACK)
                lab.note(case, "leases_bytes_per_ack", (others - acks) / acked, "B", "process")
                lab.note(case, "us_per_ack", 1e6 * costs["redis_cpu_s"] / acked, "µs", "process")
            lab.note(case, "min_equal_after_restart", float(await is_equal_after_restart(ready)), "", "process", 1)
            lab.note_costs(case, costs, "process")


async def is_equal_after_restart(ready: Delivered) -> bool:
    before = await stored(ready)
    await ready.restart()
    return before == await stored(ready)


async def stored(ready: Delivered) -> list[object]:
    """The serialized hashes and sorted sets, in the order of their members."""
    sub = ready.sub
    found: list[object] = []
    for key in (sub.cursor, sub.acks, sub.leases, sub.pending):
        found.append(await ready.command("HGETALL", key))
    for key in (sub.spans, sub.due):
        found.append(await ready.command("ZRANGE", key, 0, -1, "WITHSCORES"))
    return [sorted(pairs(each)) if n < 4 else each for n, each in enumerate(found)]


def pairs(reply: object) -> list[tuple[bytes, bytes]]:
    assert isinstance(reply, list)
    return list(zip(reply[::2], reply[1::2], strict=True))
