"""How long does a broker take to start when Redis has many transactions?

200 000 finished transactions, 10 000 open ones with a participant each, and 1 000 that were decided and not ended, as a
killed broker leaves them.

    ready_s              from the start of the process to its `ready` line
    interpreter_s        the interpreter and the imports of `serve`, alone
    beyond_s             ready_s without interpreter_s; the goal is a second
    half_ended_done_s    from `ready` until the last of the 1 000 has ended
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from bench.lab import Lab
from bench.processes import ROOT, BenchFailed, redis
from bench.processes import broker as running_broker
from bench.txn.empty import cycles
from redis_ledger.broker.broker import Broker
from redis_ledger.broker.types import NewRecord
from redis_ledger.store.store import Store
from redis_ledger.telemetry import logs
from redis_ledger.txn.coordinator import Participant

FINISHED, OPEN, HALF_ENDED = 200_000, 10_000, 1_000
PARTITIONS = 16
AT_ONCE = 256
TIMEOUT_MS = 900_000
GOAL_S = 1.0
DONE_S_MAX = 30.0
IMPORTS = "import redis_ledger.app.cli.main, redis_ledger.app.cli.serve, redis_ledger.app.process.broker_process"
CASE = "200k_finished_10k_open_1k_half_ended"


async def measure(lab: Lab) -> None:
    logs.configure("error")  # the preparing broker warns when the measured one ends
    async with redis("process") as server:
        store = await Store.open(server.url)
        preparing = await Broker.open(store)
        await preparing.maintenance.close()  # it would end what is left half-ended
        await preparing.topics.create("t", PARTITIONS)
        await finished(preparing, int(FINISHED * lab.pace.scale))
        topic_id = (await preparing.catalog.get("t")).id
        await each(int(OPEN * lab.pace.scale), lambda n: opened(preparing, topic_id, n))
        taken = []
        for _ in range(lab.pace.runs):
            await each(int(HALF_ENDED * lab.pace.scale), lambda n: half_ended(preparing, n))
            assert await outstanding(preparing) == int(HALF_ENDED * lab.pace.scale), "some have ended already"
            interpreter_s = await imported()
            began_s = time.perf_counter()
            async with running_broker("process", external=server):
                ready_s = time.perf_counter() - began_s
                done_s = await ended(preparing)
            taken.append((ready_s, interpreter_s, ready_s - interpreter_s, done_s))
        ready_s, interpreter_s, beyond_s, done_s = map(statistics.median, zip(*taken, strict=True))
        lab.note(CASE, "ready_s", ready_s, "s", "process")
        lab.note(CASE, "interpreter_s", interpreter_s, "s", "process")
        lab.note(CASE, "beyond_s", beyond_s, "s", "process", GOAL_S)
        lab.note(CASE, "half_ended_done_s", done_s, "s", "process")
        await preparing.close()
        await store.close()


async def finished(broker: Broker, count: int) -> None:
    left = count
    while left > 0:
        measured = await cycles(broker.coordinators, AT_ONCE, 0.5)
        left -= int(measured["lifecycles_per_s"] * 0.5)


async def opened(broker: Broker, topic_id: str, n: int) -> None:
    participant = Participant("t", topic_id, n % PARTITIONS)
    await broker.coordinators.begin(TIMEOUT_MS, participants=[participant])


async def half_ended(broker: Broker, n: int) -> None:
    txn = (await broker.transactions.begin(TIMEOUT_MS)).id
    await broker.records.produce("t", [NewRecord(None, b"x", partition=n % PARTITIONS)], transaction=txn)
    await broker.coordinators.decide(txn, commit=True)


async def imported() -> float:
    began_s = time.perf_counter()
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", IMPORTS, cwd=ROOT)
    if await process.wait() != 0:
        raise BenchFailed("The imports of serve failed.")
    return time.perf_counter() - began_s


async def ended(broker: Broker) -> float:
    """Returns the seconds until no transaction is left that is decided and not ended."""
    began_s = time.perf_counter()
    while await outstanding(broker):
        if time.perf_counter() - began_s > DONE_S_MAX:
            raise BenchFailed("Half-ended transactions were not ended.")
        await asyncio.sleep(0.02)  # the figure's resolution
    return time.perf_counter() - began_s


async def outstanding(broker: Broker) -> int:
    """Transactions whose records no reader can pass: only those that were half-ended have records."""
    sizes = [
        await broker.store.command("HLEN", partition.keys.open, key=partition.keys.state)
        for partition in [await broker.catalog.partition("t", number) for number in range(PARTITIONS)]
    ]
    return sum(int(size) - 1 for size in sizes)  # one field is the sentinel


async def each(count: int, act: Callable[[int], Awaitable[Any]]) -> None:
    for first in range(0, count, AT_ONCE):
        await asyncio.gather(*(act(n) for n in range(first, min(first + AT_ONCE, count))))
