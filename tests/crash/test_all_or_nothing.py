"""Transactions over four partitions while brokers and Redis are killed: each is visible as a whole or not at all.

    worker ── begin, 4 × produce, commit or abort ──▶ broker in its own process ──▶ Redis (appendfsync always)
       ✗                                                                              ✗

A worker writes what it is about to do and what it was answered into a file, so it is known after its death which ends
were confirmed.  An end that was not answered may have either outcome.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from redis_ledger.ledger.settings import BUFFERS, TXN_BUFFER
from tests.support.broker import eventually, live_transactions, one, outstanding, visible
from tests.support.processes import ROOT
from tests.support.redis_servers import redis_server
from tests.support.sidecar import all_buffered

PARTITIONS = 4

WORKER = """
import asyncio, random, sys
from redis_ledger.broker.types import NewRecord
from redis_ledger.errors import LedgerError
from tests.support.broker import one

async def work(broker, name, said, chance):
    for n in range(1_000_000):
        value, commit = f"{name}.{n}", chance.random() < 0.7
        try:
            txn = (await broker.transactions.begin(2_000)).id
            said.write(f"tried {value}\\n")
            record = [NewRecord(None, value.encode())]
            for number in chance.sample(range(4), 4):
                await broker.records.produce("out", record, partition=number, transaction=txn)
            await (broker.transactions.commit if commit else broker.transactions.abort)(txn)
            said.write(f"{'committed' if commit else 'aborted'} {value}\\n")
        except LedgerError:
            await asyncio.sleep(0.01)

async def main(url, prefix, name, path):
    with open(path, "a", buffering=1) as said:
        while True:
            try:
                async with one(url, prefix, name=name, redis_retry_ms=2_000) as broker:
                    chance = random.Random(name)
                    await asyncio.gather(*(work(broker, f"{name}.{n}", said, chance) for n in range(4)))
            except LedgerError:
                await asyncio.sleep(0.05)

asyncio.run(main(*sys.argv[1:]))
"""


class Worker:
    def __init__(self, url: str, prefix: str, number: int, path: Path) -> None:
        self._url, self._prefix, self._number, self._path, self._lives = url, prefix, number, path, 0
        self._process: asyncio.subprocess.Process | None = None

    @property
    def name(self) -> str:
        return f"w{self._number}.{self._lives}"

    async def start(self) -> None:
        self._lives += 1
        arguments = ("-c", WORKER, self._url, self._prefix, self.name, str(self._path))
        self._process = await asyncio.create_subprocess_exec(sys.executable, *arguments, cwd=ROOT)

    async def kill(self) -> None:
        if self._process is not None:
            assert self._process.returncode is None, "a worker ended by itself"
            self._process.kill()
            await self._process.wait()
            self._process = None


def events(path: Path) -> dict[str, set[str]]:
    """Values by event of the workers: tried, committed, aborted.  A line cut short by a kill is left out."""
    found = defaultdict[str, set[str]](set)
    for line in path.read_text().split("\n")[:-1]:
        word, _, value = line.partition(" ")
        found[word].add(value)
    return found


def cut_short(path: Path, workers: Sequence[Worker]) -> set[str]:
    """Transactions of workers that were killed before they knew of an end."""
    noted, alive = events(path), tuple(f"{worker.name}." for worker in workers)
    return {v for v in noted["tried"] - noted["committed"] - noted["aborted"] if not v.startswith(alive)}


@dataclass(frozen=True)
class Size:
    """redis_every: which of the kills are of Redis."""

    transactions: int
    workers: int
    kills: int
    redis_every: int


@pytest.mark.parametrize(
    "size",
    [
        pytest.param(Size(60, workers=2, kills=3, redis_every=2), id="small"),
        pytest.param(Size(1_000, workers=3, kills=12, redis_every=5), id="large", marks=pytest.mark.full),
    ],
)
@pytest.mark.parametrize("buffer", BUFFERS)
@pytest.mark.timeout(600)
async def test_under_kills_of_brokers_and_redis_a_transaction_is_seen_on_all_of_its_partitions_or_on_none(
    prefix, tmp_path, buffer, size
):
    """TC-20, SC-05, SC-06"""
    path, chance = tmp_path / "events", random.Random(20)
    path.touch()
    with redis_server(appendonly="yes", appendfsync="always") as server:
        async with one(server.url, prefix) as broker:
            await broker.topics.create("out", PARTITIONS, settings={TXN_BUFFER: BUFFERS[buffer]})
        workers = [Worker(server.url, prefix, number, path) for number in range(size.workers)]
        try:
            for worker in workers:
                await worker.start()
            # When brokers and Redis are killed in turn, until so many transactions were tried and one was cut short
            kills, before = 0, 0
            async with asyncio.timeout(400):
                while (
                    kills < size.kills or len(events(path)["tried"]) < size.transactions or not cut_short(path, workers)
                ):
                    await asyncio.sleep(chance.uniform(0.1, 0.7))
                    done = len(events(path)["committed"])
                    if done == before:
                        continue  # no transaction has committed since the last kill
                    before, kills = done, kills + 1
                    if kills % size.redis_every == 0:
                        server.kill()
                        await asyncio.sleep(0.1)
                        server.start()
                    else:
                        doomed = chance.choice(workers)
                        await doomed.kill()
                        await doomed.start()
        finally:
            for worker in workers:
                await worker.kill()
        # Then a broker that comes finishes what they left
        async with one(server.url, prefix) as broker:
            assert await eventually(lambda: live_transactions(broker), 0, 20) == 0
            assert await outstanding(broker, "out") == 0
            assert await all_buffered(broker, ["out"]) == 0
            where = defaultdict[str, list[int]](list)
            for partition, values in (await visible(broker, "out")).items():
                for value in values:
                    where[value].append(partition)
    noted = events(path)
    assert {value: at for value, at in where.items() if sorted(at) != list(range(PARTITIONS))} == {}
    assert noted["committed"] - where.keys() == set()
    assert noted["aborted"] & where.keys() == set()
    assert len(noted["tried"]) >= size.transactions
    assert noted["tried"] - noted["committed"] - noted["aborted"], "no transaction was cut short"
