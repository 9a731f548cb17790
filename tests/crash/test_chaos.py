"""Workers over one Redis are killed with -9 and restarted at random: every input has exactly one output.

    in (4 partitions) ──receive──▶ worker ──execute──▶ out (4 partitions)     each worker process has its own broker
                                      ✗ kill -9, again and again

A worker has no state from before its start; a message whose worker died is redelivered after its lease has expired.
The seed, which is in the name of the test, determines the kills.  At full scale, which `scripts/check.py crash-slow`
runs, Redis is killed as well.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections import Counter

import pytest

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.types import NewRecord
from tests.support.broker import SHORT, backlog, eventually, live_transactions, one, outstanding, visible
from tests.support.processes import ROOT
from tests.support.redis_servers import Server, redis_server

PARTITIONS = 4

WORKER = """
import asyncio, sys
from redis_ledger.broker.types import ExecuteAcks, ExecuteRecords, NewRecord
from redis_ledger.errors import LedgerError
from tests.support.broker import one

async def work(broker, consumer):
    while True:
        try:
            some = await broker.subscriptions.receive(
                "in", "work", consumer, max_records=4, wait_ms=500, ack_timeout_ms=700
            )
            if some:
                await broker.execute.run(
                    [ExecuteAcks("in", "work", consumer, [m.id for m in some])],
                    [ExecuteRecords("out", [NewRecord(m.value, b"out of " + m.value) for m in some])],
                    timeout_ms=1_000,
                )
                await asyncio.sleep(0.01)
        except LedgerError:
            pass  # a lease that ran out, a transaction that expired: what was received is received again

async def main(url, prefix, name):
    async with one(url, prefix, name=name, redis_retry_ms=60_000) as broker:
        await asyncio.gather(*(work(broker, f"{name}-{n}") for n in range(3)))

asyncio.run(main(*sys.argv[1:]))
"""


class Worker:
    def __init__(self, url: str, prefix: str, number: int) -> None:
        self._arguments, self._number, self._lives = (url, prefix), number, 0
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        self._lives += 1
        name = f"w{self._number}.{self._lives}"
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", WORKER, *self._arguments, name, cwd=ROOT
        )

    def assert_lives(self) -> None:
        assert self._process is not None
        assert self._process.returncode is None, "a worker ended by itself"

    async def kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()


async def killed_at_work(
    broker: Broker, workers: list[Worker], chance: random.Random, most: int, server: Server | None
) -> int:
    """How many were killed until all kills were made or all work was done; only such as had come to work.  server: one
    kill in ten is its."""
    kills, before = 0, 0
    while kills < most and await backlog(broker, "in", "work"):
        await asyncio.sleep(chance.uniform(0.05, 0.6))
        for worker in workers:
            worker.assert_lives()
        done = sum(state.end_offset for state in (await broker.topics.describe("out"))[1])
        if done == before:
            continue
        before = done
        if server is not None and chance.random() < 0.1:
            server.kill()
            server.start()
            kills += 1
            continue
        doomed = workers if chance.random() < 0.3 else [chance.choice(workers)]
        await asyncio.gather(*(worker.kill() for worker in doomed))
        await asyncio.gather(*(worker.start() for worker in doomed))
        kills += len(doomed)
    return kills


@pytest.mark.parametrize(
    ("seed", "inputs", "kills"), [(1, 400, range(2, 4)), pytest.param(1, 2_400, range(5, 24), marks=pytest.mark.full)]
)
async def test_each_input_has_one_output_under_any_kills(redis_url, prefix, seed, inputs, kills):
    """CL-19, TC-17, AK-08, TS-11: the step `crash-slow` has 100 000 inputs and 200 kills, also of Redis."""
    await check_outputs(redis_url, prefix, seed, inputs=inputs, kills_min=kills.start, kills_max=kills.stop)


@pytest.mark.slow
@pytest.mark.timeout(3_600)
async def test_each_of_a_hundred_thousand_inputs_makes_one_output_under_two_hundred_kills(prefix):
    """Redis is among those that are killed."""
    with redis_server(appendonly="yes", appendfsync="always") as server:
        await check_outputs(server.url, prefix, 19, inputs=100_000, kills_min=200, kills_max=200, server=server)


async def check_outputs(
    url: str, prefix: str, seed: int, *, inputs: int, kills_min: int, kills_max: int, server: Server | None = None
) -> None:
    async with one(url, prefix, redis_retry_ms=60_000, **SHORT) as broker:  # a large Redis takes long to load its file
        # Given inputs on four partitions, and two brokers with three workers each
        for topic in ("in", "out"):
            await broker.topics.create(topic, PARTITIONS)
        await broker.subscriptions.create("in", "work")
        for first in range(0, inputs, 100):
            batch = [NewRecord(str(n).encode(), str(n).encode()) for n in range(first, first + 100)]
            await broker.records.produce("in", batch)
        workers = [Worker(url, prefix, n) for n in range(2)]
        try:
            await asyncio.gather(*(worker.start() for worker in workers))
            # When they are killed in the middle of their work, one or both
            kills = await killed_at_work(broker, workers, random.Random(seed), kills_max, server)
            left = await eventually(lambda: backlog(broker, "in", "work"), 0, 30 + inputs / 100)
        finally:
            await asyncio.gather(*(worker.kill() for worker in workers))
        # Then there is one output for every input, and no transaction is left
        assert left == 0
        assert kills >= kills_min, "the work was done before so many were killed"
        assert await eventually(lambda: live_transactions(broker), 0, 4) == 0
        seen = Counter(value for values in (await visible(broker, "out")).values() for value in values)
        assert {value: count for value, count in seen.items() if count != 1} == {}
        assert set(seen) == {f"out of {n}" for n in range(inputs)}
        assert await outstanding(broker, "out") == await outstanding(broker, "in") == 0
