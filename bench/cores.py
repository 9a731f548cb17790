"""Does CPU alone limit the rate?  Then the cost of a request tells what more cores, brokers and primaries bring.

    1x1  2x1  1x2  2x2    brokers x primaries (1: one Redis, 2: a Redis Cluster) on one core; the client has the other
    apart                 one broker on one core; its Redis and the client share the other

    produce_1rec  produce_1k    batches of 1 record of 100 bytes, and of 63 of 1 KiB; 4 connections with 5 requests each
    fetch_64k                   batches of 64 KiB at offsets spread over four partitions; 4 connections
    txn_1                       POST /v1/transactions:execute with one record of 100 bytes; 32 connections

All layouts run at once and are measured in turn; a figure is the median of the turns.  The append-only file is written
at level `process` and not rewritten, which would be the work of a child process on the same core.  Metrics:

    requests_per_s
    broker_us  redis_us   CPU of all brokers, and of all primaries, for a request
    busy                  share of the core that is measured; near 1 if the servers, and not the client, are the limit
    of_model              the rate over the one that the CPU of layout 1x1 allows on a core
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from bench import load
from bench.delay import kafka
from bench.lab import Lab, without_gc
from bench.processes import PROC, REDIS_SETTINGS, BenchFailed, RunningBroker, Server, broker, cpu_s
from bench.topics import batch
from tests.support import redis_servers

CLIENT_CORE, SERVER_CORE = 0, 1
PARTITIONS, IN_FLIGHT, RECORDS, BATCHES = 4, 5, 63, 200
TXN_CONNECTIONS = 32
SLICE_S, TURNS = 0.5, 9


class Layout(NamedTuple):
    name: str
    brokers: Sequence[RunningBroker]
    primaries: Sequence[int]  # pids
    is_apart: bool

    @property
    def measured(self) -> Sequence[int]:
        """The pids of the servers that have a core to themselves."""
        pids = [each.broker_pid for each in self.brokers]
        return pids if self.is_apart else [*pids, *self.primaries]


class Turn(NamedTuple):
    rate: float
    broker_us: float
    redis_us: float
    busy: float


Run = Callable[[Layout, float], Awaitable[int]]  # returns the number of requests


async def measure(lab: Lab) -> None:
    cores = os.sched_getaffinity(0)
    if not {CLIENT_CORE, SERVER_CORE} <= cores:
        raise BenchFailed(
            f"cores {CLIENT_CORE} and {SERVER_CORE} are needed, and this process may use {sorted(cores)}."
        )
    async with contextlib.AsyncExitStack() as stack:
        layouts = [
            await _layout(stack, f"{brokers}x{primaries}", brokers, primaries)
            for brokers, primaries in ((1, 1), (2, 1), (1, 2), (2, 2))
        ]
        layouts.append(await _layout(stack, "apart", 1, 1))
        os.sched_setaffinity(0, {CLIENT_CORE})
        try:
            for case, run in LOADS.items():
                _note(lab, case, layouts, await _turns(lab, run, layouts))
        finally:
            os.sched_setaffinity(0, cores)


async def _layout(stack: contextlib.AsyncExitStack, name: str, brokers: int, primaries: int) -> Layout:
    if primaries == 1:
        servers = [stack.enter_context(redis_servers.redis_server(**REDIS_SETTINGS))]
        url = servers[0].url
    else:
        cluster = stack.enter_context(redis_servers.redis_cluster(primaries, **REDIS_SETTINGS))
        servers, url = cluster.servers, cluster.url
    external = Server(url, servers[0].pid, servers[0].folder)
    running = [
        await stack.enter_async_context(broker("process", kafka=True, external=external)) for _ in range(brokers)
    ]
    made = Layout(name, running, [each.pid for each in servers], name == "apart")
    for pid in (*(each.broker_pid for each in running), *made.primaries):
        _pin(pid, SERVER_CORE if pid in made.measured else CLIENT_CORE)
    async with load.connected(running[0], PARTITIONS) as client:
        for topic in ("produced", "read", "out"):
            await client.call("POST", "/v1/topics", {"name": topic, "partitions": PARTITIONS})
        for number in range(PARTITIONS):
            path = f"/v1/topics/read/records?partition={number}"
            await client.each([load.request("POST", path, batch(RECORDS, 1024), load.BATCH)] * BATCHES)
    return made


def _pin(pid: int, core: int) -> None:
    for thread in (PROC / str(pid) / "task").iterdir():
        os.sched_setaffinity(int(thread.name), {core})


async def _turns(lab: Lab, run: Run, layouts: Sequence[Layout]) -> dict[str, list[Turn]]:
    turns: dict[str, list[Turn]] = {each.name: [] for each in layouts}
    for number in range((TURNS if lab.pace.scale == 1 else 1) + 1):
        for layout in layouts if number % 2 else reversed(layouts):
            with without_gc():
                turn = await _turn(run, layout, SLICE_S)
            if number:
                turns[layout.name].append(turn)
    return turns


async def _turn(run: Run, layout: Layout, seconds: float) -> Turn:
    def used() -> dict[int, float]:
        pids = (*(each.broker_pid for each in layout.brokers), *layout.primaries)
        return {pid: cpu_s(pid) or 0.0 for pid in pids}

    before, began_s = used(), time.perf_counter()
    requests = await run(layout, seconds)
    elapsed_s = time.perf_counter() - began_s
    cpu = {pid: value - before[pid] for pid, value in used().items()}
    redis_s = sum(cpu[pid] for pid in layout.primaries)
    return Turn(
        rate=requests / elapsed_s,
        broker_us=(sum(cpu.values()) - redis_s) / requests * 1e6,
        redis_us=redis_s / requests * 1e6,
        busy=sum(cpu[pid] for pid in layout.measured) / elapsed_s,
    )


def _note(lab: Lab, case: str, layouts: Sequence[Layout], turns: dict[str, list[Turn]]) -> None:
    first = _medians(turns["1x1"])
    for layout in layouts:
        mine = _medians(turns[layout.name])
        limit = 1e6 / (first.broker_us if layout.is_apart else first.broker_us + first.redis_us)
        at = f"{case} {layout.name}"
        lab.note(at, "requests_per_s", mine.rate, "requests/s", "process")
        lab.note(at, "broker_us", mine.broker_us, "us", "process")
        lab.note(at, "redis_us", mine.redis_us, "us", "process")
        lab.note(at, "busy", mine.busy, "", "process")
        lab.note(at, "of_model", mine.rate / limit, "", "process")


def _medians(turns: Sequence[Turn]) -> Turn:
    return Turn(*(statistics.median(values) for values in zip(*turns, strict=True)))


# -- loads -------------------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def _connected(layout: Layout) -> AsyncIterator[Sequence[kafka.Connection]]:
    """A connection for each partition, spread over the brokers."""
    async with contextlib.AsyncExitStack() as stack:
        each = PARTITIONS // len(layout.brokers)
        yield [
            connection
            for served in layout.brokers
            for connection in await stack.enter_async_context(kafka.connected(served, each))
        ]


async def _produce(data: bytes, layout: Layout, seconds: float) -> int:
    async with _connected(layout) as connections:
        done = await asyncio.gather(
            *(
                kafka.produced([each], IN_FLIGHT, itertools.repeat(kafka.produce("produced", data, number)), seconds)
                for number, each in enumerate(connections)
            )
        )
    return sum(each.requests for each in done)


async def _fetch(layout: Layout, seconds: float) -> int:
    until_s = time.perf_counter() + seconds

    def frames(partition: int) -> Iterator[bytes]:
        offsets = range(0, BATCHES * RECORDS, RECORDS * 17)
        return itertools.cycle([kafka.fetch("read", offset, 100, partition, bytes_max=1 << 16) for offset in offsets])

    async with _connected(layout) as connections:
        done = await asyncio.gather(
            *(kafka.fetch_until(each, frames(number), 1 << 15, until_s) for number, each in enumerate(connections))
        )
    return sum(done)


async def _execute(layout: Layout, seconds: float) -> int:
    body = {"records": [{"topic": "out", "records": [{"text": "x" * 100}]}]}
    request = load.request("POST", "/v1/transactions:execute", body)
    async with contextlib.AsyncExitStack() as stack:
        count = TXN_CONNECTIONS // len(layout.brokers)
        clients = [await stack.enter_async_context(load.connected(served, count)) for served in layout.brokers]
        done = await asyncio.gather(*(each.closed(itertools.repeat(request), seconds) for each in clients))
    return sum(each.answers for each in done)


LOADS: dict[str, Run] = {
    "produce_1rec": partial(_produce, batch(1, 100)),
    "produce_1k": partial(_produce, batch(RECORDS, 1024)),
    "fetch_64k": _fetch,
    "txn_1": _execute,
}
