"""Compares the CPU of brokers of several source trees for each Kafka request.

    .venv/bin/python -m bench.paired before=/tmp/before after=. again=/tmp/before

Each tree gets a broker of its own with an embedded Redis.  All run at once, and the same load goes to one after the
other for SLICE_S, in turns, so that other work on the machine affects all of them.  A ratio is the median of the
ratios to the first tree within a turn: of the CPU of broker and Redis, and of the time.  Name the first tree twice: the
ratios of the second copy are the noise.

    produce_1rec  produce_100b  produce_1k    batches of 1 record of 100 bytes, 140 of 100 bytes, 63 of 1 KiB;
                                              4 connections with 5 requests in flight each
    fetch_64k  fetch_1m                       1 and 16 batches of 64 KiB at offsets spread over the topic; 4 connections
    follow_1rec                               a record, and the answer to the reader that waits for it, one by one
    scan_1m                                   one reader from the start to the end, 16 batches of 64 KiB at a time
    txn_1_v2  txn_16_v2                       one-record transactions as Java (transaction.version 2), 1 or 16 producers
    txn_1_v1  txn_16_v1                       the same as librdkafka (AddPartitionsToTxn)
    execute_1  execute_16                     transactions:execute with one record, 1 or 16 connections
    sdk_1_begun  sdk_1                        SDK transactions of ten records for one partition, with `begin` and
                                              without: the second are one append
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

import uvloop

from bench import load
from bench.delay import kafka
from bench.kafka_transactions import Protocol, transacted
from bench.processes import BenchFailed, Cpu, RunningBroker, broker
from bench.topics import batch
from redis_ledger import AsyncClient

SLICE_S, TURNS = 0.25, 24
CONNECTIONS, IN_FLIGHT = 4, 5
RECORDS = 63  # of 1 KiB, in a batch of 64 KiB
BATCHES = 1_000  # in the topic that is read
READY_S_MAX = 180.0  # on a machine that does other work


class Slice(NamedTuple):
    """CPU in µs for each request; elapsed_us: the time of the slice by the number of its requests."""

    requests: int
    broker_us: float
    redis_us: float
    elapsed_us: float


Load = Callable[[RunningBroker, float], Awaitable[int]]  # returns the number of requests


async def _produce(data: bytes, served: RunningBroker, seconds: float) -> int:
    async with kafka.connected(served, CONNECTIONS) as connections:
        frames = itertools.repeat(kafka.produce("produced", data))
        return (await kafka.produced(connections, IN_FLIGHT, frames, seconds)).requests


async def _fetch(batches: int, served: RunningBroker, seconds: float) -> int:
    offsets = range(0, (BATCHES - batches) * RECORDS, RECORDS * 17)
    frames = [kafka.fetch("read", offset, 100, bytes_max=batches << 16) for offset in offsets]
    until_s = time.perf_counter() + seconds
    async with kafka.connected(served, CONNECTIONS) as connections:
        taken = [itertools.islice(itertools.cycle(frames), number * 3, None) for number in range(CONNECTIONS)]
        done = await asyncio.gather(
            *(kafka.fetch_until(*each, batches << 15, until_s) for each in zip(connections, taken, strict=True))
        )
    return sum(done)


async def _follow(data: bytes, served: RunningBroker, seconds: float) -> int:
    until_s, requests = time.perf_counter() + seconds, 0
    async with kafka.connected(served, 2) as (writer, reader):
        offset = kafka.base_offset(await writer.ask(kafka.produce("produced", data))) + 1
        while not requests or time.perf_counter() < until_s:
            waiting = asyncio.ensure_future(reader.ask(kafka.fetch("produced", offset, 1_000)))
            await asyncio.sleep(0)
            await writer.ask(kafka.produce("produced", data))
            if not kafka.fetched(await waiting):
                raise BenchFailed("A reader was not answered within a second.")
            offset += 1
            requests += 1
    return requests


async def _scan(batches: int, served: RunningBroker, seconds: float) -> int:
    offsets = range(0, BATCHES // batches * batches * RECORDS, batches * RECORDS)
    frames = itertools.cycle([kafka.fetch("read", offset, 100, bytes_max=batches << 16) for offset in offsets])
    async with kafka.connected(served, 1) as (reader,):
        return await kafka.fetch_until(reader, frames, batches << 15, time.perf_counter() + seconds)


async def _transact(producers: int, protocol: Protocol, served: RunningBroker, seconds: float) -> int:
    return await transacted(served, "produced", producers, protocol, seconds)


async def _execute(connections: int, served: RunningBroker, seconds: float) -> int:
    body = json.dumps({"records": [{"topic": "produced", "records": [{"text": "x" * 100}]}]}).encode()
    requests = itertools.repeat(load.request("POST", "/v1/transactions:execute", body))
    async with load.connected(served, connections) as client:
        outcome: load.Outcome = await client.closed(requests, seconds)
    return outcome.answers


async def _sdk_transactions(begins: bool, served: RunningBroker, seconds: float) -> int:
    transactions = 0
    async with AsyncClient(f"http://{served.host}:{served.port}") as client:
        until_s = time.perf_counter() + seconds
        while not transactions or time.perf_counter() < until_s:
            async with client.transaction() as txn:
                if begins:
                    await txn.begin()
                for _ in range(10):
                    await txn.send("produced", "x" * 100)
            transactions += 1
    return transactions


LOADS: dict[str, Load] = {
    "produce_1rec": partial(_produce, batch(1, 100)),
    "produce_100b": partial(_produce, batch(140, 100)),
    "produce_1k": partial(_produce, batch(RECORDS, 1024)),
    "fetch_64k": partial(_fetch, 1),
    "fetch_1m": partial(_fetch, 16),
    "follow_1rec": partial(_follow, batch(1, 100)),
    "scan_1m": partial(_scan, 16),
    "txn_1_v2": partial(_transact, 1, "by_produce"),
    "txn_16_v2": partial(_transact, 16, "by_produce"),
    "txn_1_v1": partial(_transact, 1, "by_request"),
    "txn_16_v1": partial(_transact, 16, "by_request"),
    "execute_1": partial(_execute, 1),
    "execute_16": partial(_execute, 16),
    "sdk_1_begun": partial(_sdk_transactions, True),
    "sdk_1": partial(_sdk_transactions, False),
}


async def _prepare(served: RunningBroker) -> None:
    async with load.connected(served, CONNECTIONS) as client:
        await client.call("POST", "/v1/topics", {"name": "read", "partitions": 1})
        filled = load.request("POST", "/v1/topics/read/records?partition=0", batch(RECORDS, 1024), load.BATCH)
        await client.each([filled] * BATCHES)


async def _empty(served: RunningBroker, *, is_first: bool) -> None:
    """Gives the next load an empty topic."""
    async with load.connected(served, 1) as client:
        if not is_first:
            await client.call("DELETE", "/v1/topics/produced")
        await client.call("POST", "/v1/topics", {"name": "produced", "partitions": 1})


async def _slice(run: Load, served: RunningBroker, seconds: float) -> Slice:
    cpu, began_s = Cpu(served.broker_pid, served.redis_pid), time.perf_counter()
    requests = await run(served, seconds)
    elapsed_s, used = time.perf_counter() - began_s, cpu.used()
    each = 1e6 / requests
    return Slice(requests, used["broker_cpu_s"] * each, used["redis_cpu_s"] * each, elapsed_s * each)


async def measure(
    trees: dict[str, Path], loads: Sequence[str], turns: int, seconds: float
) -> dict[str, dict[str, list[Slice]]]:
    """Slices by load and tree, in the order of the turns."""
    found: dict[str, dict[str, list[Slice]]] = {}
    async with AsyncExitStack() as stack:
        running = {
            name: await stack.enter_async_context(
                broker("process", kafka=True, ready_s_max=READY_S_MAX, root=tree.resolve())
            )
            for name, tree in trees.items()
        }
        for served in running.values():
            await _prepare(served)
        for number, one in enumerate(loads):
            for served in running.values():
                await _empty(served, is_first=number == 0)
                await LOADS[one](served, seconds)  # a new topic, and code that has not run yet
            slices = found[one] = {name: [] for name in running}
            for turn in range(turns):
                names = list(running) if turn % 2 else list(reversed(running))
                for name in names:
                    slices[name].append(await _slice(LOADS[one], running[name], seconds))
    return found


def ratio(slices: Sequence[Slice], first: Sequence[Slice], field: int) -> float:
    """The median of the ratios of a figure, each within a turn."""
    return statistics.median(mine[field] / base[field] for mine, base in zip(slices, first, strict=True))


def table(found: dict[str, dict[str, list[Slice]]]) -> str:
    lines = [
        "| load | tree | broker µs | ratio | Redis µs | ratio | elapsed µs | ratio | requests |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for one, slices in found.items():
        first = next(iter(slices.values()))
        for name, mine in slices.items():
            cells = [one, name]
            for field in (1, 2, 3):
                cells += [f"{statistics.median(each[field] for each in mine):.1f}", f"{ratio(mine, first, field):.3f}"]
            lines.append(f"| {' | '.join(cells)} | {sum(each.requests for each in mine)} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.paired", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trees", nargs="+", metavar="name=folder")
    parser.add_argument("--loads", default=",".join(LOADS))
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--seconds", type=float, default=SLICE_S, help="of a slice")
    given = parser.parse_args()
    trees = {name: Path(folder) for name, _, folder in (each.partition("=") for each in given.trees)}
    print(table(uvloop.run(measure(trees, given.loads.split(","), given.turns, given.seconds))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
