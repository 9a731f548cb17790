"""What does the sidecar buffer cost, and what does an open transaction delay?  Broker and client are one process.

open_txn_stall     how long a plain record behind an open transaction waits until readers of committed records get it
commit_100_mib     how long the commit of 100 MiB in 100 batches takes, and appends to another partition meanwhile
sidecar_vs_marker  records a second into transactions of 1000 batches, and commits a second of one batch each, against
                   the marker buffer.  Runs alternate.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable

from bench.lab import Lab
from bench.processes import redis
from bench.topics import batch
from redis_ledger.broker.broker import Broker
from redis_ledger.ids import TxnId
from redis_ledger.ledger.settings import BUFFERS, TXN_BUFFER
from redis_ledger.store.store import Store

P99_GOAL_MS, RATIO_GOAL, ROUNDS = 20, 0.9, 5
KIB, MIB = 1 << 10, 1 << 20


async def measure(lab: Lab) -> None:
    async with redis("process") as server:
        broker = await Broker.open(await Store.open(server.url))
        try:
            for buffer, number in BUFFERS.items():
                await broker.topics.create(buffer, 1, settings={TXN_BUFFER: number})
            await broker.topics.create("plain", 1)
            await _stall(lab, broker)
            await _large_commit(lab, broker)
            await _ratios(lab, broker)
        finally:
            await broker.close()


async def _stall(lab: Lab, broker: Broker) -> None:
    txn = await _begun(broker, "sidecar", batch(1, KIB))
    began = time.monotonic()
    await broker.records.produce_batches("sidecar", 0, batch(1, KIB))
    head = await broker.topics.head("sidecar", 0)
    waited_s = 0.0 if head.stable_offset == head.end_offset else time.monotonic() - began
    await broker.transactions.commit(txn)
    lab.note("open_txn_stall", "s", waited_s, "s", "process", 0)


async def _large_commit(lab: Lab, broker: Broker) -> None:
    data, count = batch(1, MIB), max(int(100 * lab.pace.scale), 2)
    txn = await _begun(broker, "sidecar", *[data] * count)
    took, is_over = list[float](), asyncio.Event()

    async def append() -> None:
        while not is_over.is_set():
            began = time.monotonic()
            await broker.records.produce_batches("plain", 0, batch(1, KIB))
            took.append(1e3 * (time.monotonic() - began))

    beside = asyncio.create_task(append())
    await asyncio.sleep(0.5)  # appends before the commit, for the p99
    began = time.monotonic()
    await broker.transactions.commit(txn)
    lab.note("commit_100_mib", "ms", 1e3 * (time.monotonic() - began), "ms", "process")
    await asyncio.sleep(0.5)  # and behind it
    is_over.set()
    await beside
    lab.note("commit_100_mib", "p99_ms_of_others", statistics.quantiles(took, n=100)[98], "ms", "process", P99_GOAL_MS)


async def _ratios(lab: Lab, broker: Broker) -> None:
    writes, commits = max(int(1_000 * lab.pace.scale), 100), max(int(300 * lab.pace.scale), 20)

    async def produce(topic: str) -> None:
        txn = await _begun(broker, topic, *[batch(10, KIB)] * writes)
        await broker.transactions.commit(txn)

    async def commit(topic: str) -> None:
        for _ in range(commits):
            await broker.transactions.commit(await _begun(broker, topic, batch(1, KIB)))

    for metric, run in (("min_produce", produce), ("min_commit", commit)):
        seconds = {"marker": list[float](), "sidecar": list[float]()}
        for number in range(ROUNDS):
            for topic in sorted(seconds, reverse=number % 2 == 1):
                seconds[topic].append(await _timed(run, topic))
        ratio = statistics.median(seconds["marker"]) / statistics.median(seconds["sidecar"])
        lab.note("sidecar_vs_marker", metric, ratio, "", "process", RATIO_GOAL)


async def _timed(run: Callable[[str], Awaitable[None]], topic: str) -> float:
    began = time.monotonic()
    await run(topic)
    return time.monotonic() - began


async def _begun(broker: Broker, topic: str, *batches: bytes) -> TxnId:
    txn = (await broker.transactions.begin(60_000)).id
    for at in range(0, len(batches), 8):
        some = batches[at : at + 8]
        await asyncio.gather(*(broker.records.produce_batches(topic, 0, each, transaction=txn) for each in some))
    return txn
