"""How many transactions without work can be begun and ended in a second?

    begin ─▶ add partition ─▶ decide ─▶ complete        each step awaits the one before: four replies of Redis

`1`, `16` and `128` independent transactions at a time drive the coordinators of one broker, which runs in this process.
128 are faster by group commit: a script call carries the steps of many transactions and writes one log entry for all of
them.  With one at a time every step is a round trip, so the figure is the inverse of Redis's latency.  At 128 Redis is
busy with the script most of the time that the broker does not spend on futures and bytes, one core each.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial

from bench.lab import Lab, Metrics
from bench.processes import DURABILITIES, Cpu, Durability, redis
from redis_ledger.broker.broker import Broker
from redis_ledger.store.store import Store
from redis_ledger.txn.coordinator import Coordinators, Participant

CONCURRENT = (1, 16, 128)
GOALS = {128: 40_000}
TIMEOUT_MS = 60_000
PARTICIPANTS = [Participant("bench", "0" * 32, 0)]


async def measure(lab: Lab) -> None:
    for durability in DURABILITIES:
        await at(lab, durability)


async def at(lab: Lab, durability: Durability) -> None:
    async with redis(durability) as server:
        store = await Store.open(server.url)
        broker = await Broker.open(store)
        cpu = Cpu(None, server.redis_pid)
        for concurrent in CONCURRENT:
            measured = await lab.medians(cpu, partial(cycles, broker.coordinators, concurrent))
            case = str(concurrent)
            lab.note(
                case,
                "lifecycles_per_s",
                measured["lifecycles_per_s"],
                "lifecycles/s",
                durability,
                GOALS.get(concurrent),
            )
            lab.note_costs(case, measured, durability)
        await broker.close()
        await store.close()


async def cycles(coordinators: Coordinators, concurrent: int, seconds: float) -> Metrics:
    async def cycle() -> None:
        txn, _ = await coordinators.begin(TIMEOUT_MS)
        await coordinators.add(txn, PARTICIPANTS)
        await coordinators.decide(txn, commit=True)
        await coordinators.done(txn, lazy=False)

    return await repeated(cycle, concurrent, seconds)


async def repeated(cycle: Callable[[], Awaitable[None]], concurrent: int, seconds: float) -> Metrics:
    """Life cycles a second of so many callers, each of which awaits one after the other."""
    ended = 0
    began_s = time.perf_counter()
    until_s = began_s + seconds

    async def transactions() -> None:
        nonlocal ended
        while time.perf_counter() < until_s:
            await cycle()
            ended += 1

    await asyncio.gather(*(transactions() for _ in range(concurrent)))
    return {"lifecycles_per_s": ended / (time.perf_counter() - began_s)}
