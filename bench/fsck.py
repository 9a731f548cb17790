"""How fast does `fsck` read what is stored?

A topic of four partitions with batches of 64 KiB, or of 1 KiB; one broker runs beside and does nothing.  `mb_per_s` is
what the command prints: payload and log entries, read once, with their checksums compared.
"""

from __future__ import annotations

import asyncio

from bench.lab import Lab, Metrics
from bench.processes import Cpu, redis
from bench.topics import batch
from redis_ledger.broker.broker import Broker
from redis_ledger.clock import SystemClock
from redis_ledger.fsck.service import Fsck
from redis_ledger.store.store import Store

PARTITIONS = 4
CASES = {"64KiB": (64, 1_024, 4_000), "1KiB": (10, 100, 40_000)}  # records of a batch, bytes of a record, batches
AT_ONCE = 32


async def measure(lab: Lab) -> None:
    for case, (records, value_bytes, batches) in CASES.items():
        async with redis("process") as server:
            store = await Store.open(server.url)
            broker = await Broker.open(store)
            await broker.topics.create("t", PARTITIONS)
            await fill(broker, batch(records, value_bytes), int(batches * lab.pace.scale))

            async def once(seconds: float, broker: Broker = broker) -> Metrics:
                report = await Fsck(broker.store, broker.config, SystemClock()).run()
                assert not report.left, report.left
                return {"mb_per_s": report.mb_per_s}

            measured = await lab.medians(Cpu(None, server.redis_pid), once)
            lab.note(case, "mb_per_s", measured["mb_per_s"], "MB/s", "process")
            lab.note_costs(case, measured, "process")
            await broker.close()
            await store.close()


async def fill(broker: Broker, data: bytes, batches: int) -> None:
    numbers = iter(range(batches))

    async def produce() -> None:
        for number in numbers:
            await broker.records.produce_batches("t", number % PARTITIONS, data)

    await asyncio.gather(*(produce() for _ in range(AT_ONCE)))
