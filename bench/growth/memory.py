"""What stays in Redis of what is over?

finished_transaction   bytes of all but its records, when the time that its outcome is kept is over
remembered_transaction the same before: outcome, and tombstone behind an older open transaction
sdk_key                bytes of the Idempotency-Key of a begin by the SDK, and how long it is kept
producer_id            bytes that a partition keeps of a producer, a day long
group_offset           bytes of a Kafka group's offset on a partition
"""

from __future__ import annotations

import asyncio

from bench.lab import Lab
from bench.processes import redis
from redis_ledger.broker.broker import Broker
from redis_ledger.broker.types import NewRecord
from redis_ledger.config import Config
from redis_ledger.cursor import offsets
from redis_ledger.store.store import Store

TRANSACTIONS, AT_ONCE = 5_000, 100
KEPT_MS = 5_000
GOAL_BYTES = 0  # what stays is of the table that they stood in, which Redis shrinks late
BEGUN = b'{"id":"0-3819980355200","status":"open","timeout_ms":60000,"started_ms":1763720931000,"deadline_ms":1}'


async def measure(lab: Lab) -> None:
    async with redis("process") as server:
        config = Config(prefix="m", coordinators=1, ended_status_retention_ms=KEPT_MS, tombstone_ms=KEPT_MS)
        store = await Store.open(server.url, prefix=config.prefix)
        broker = await Broker.open(store, config)
        try:
            await of_transactions(lab, broker)
            await of_others(lab, broker)
        finally:
            await broker.close()
            await store.close()


async def of_transactions(lab: Lab, broker: Broker) -> None:
    count = max(AT_ONCE, int(TRANSACTIONS * lab.pace.scale))
    await broker.topics.create("t", 1)
    old = await broker.transactions.begin(timeout_ms=600_000)
    _, before = await commit_and_forget(broker, count)  # from now on Redis's tables have the size that they need
    most, after = await commit_and_forget(broker, count)
    lab.note("remembered_transaction", "bytes", (most - before) / count, "bytes", "process")
    lab.note("finished_transaction", "bytes", max(after - before, 0) / count, "bytes", "process", GOAL_BYTES)
    await broker.transactions.abort(old.id)


async def commit_and_forget(broker: Broker, count: int) -> tuple[int, int]:
    """What is remembered when all are committed, and when their time is over."""

    async def one() -> None:
        txn = await broker.transactions.begin()
        await broker.records.produce("t", [NewRecord(None, b"x")], transaction=txn.id)
        await broker.transactions.commit(txn.id)

    for _ in range(count // AT_ONCE):
        await asyncio.gather(*(one() for _ in range(AT_ONCE)))
    await asyncio.sleep(0.1)  # completions leave a moment after the answers
    most = await remembered(broker)
    await asyncio.sleep(2 * KEPT_MS / 1000)
    await broker.upkeep.forget_ended()
    await broker.upkeep.retain()
    await asyncio.sleep(1)  # Redis makes tables smaller in the background
    return most, await remembered(broker)


async def remembered(broker: Broker) -> int:
    """Bytes of what is remembered of transactions; the log and its records are none of it."""
    coordinator = next(iter(broker.coordinators)).keys
    k = (await broker.catalog.partition("t", 0)).keys
    names = (*coordinator.all(), k.ended, k.producers, k.open, k.firsts, k.watermarks)
    command = broker.store.command
    sizes = await asyncio.gather(*(command("MEMORY", "USAGE", name, "SAMPLES", 0, key=name) for name in names))
    return sum(int(size or 0) for size in sizes)


async def of_others(lab: Lab, broker: Broker) -> None:
    count = max(AT_ONCE, int(TRANSACTIONS * lab.pace.scale))
    partition = await broker.catalog.partition("t", 0)
    before = await used(broker)
    for n in range(count):
        claim = await broker.idempotency.claim(f"{n:032x}", b"f" * 32)
        claim.keep(120_000)
        await claim.finish(201, BEGUN)
    lab.note("sdk_key", "bytes", (await used(broker) - before) / count, "bytes", "process")
    lab.note("sdk_key", "kept_s", 120, "s", "process")
    before = await used(broker)
    for n in range(count):
        await broker.store.command("HSET", partition.keys.producers, (1 << 48) + n, f"0 1763720931000 0:0:{n}")
    lab.note("producer_id", "bytes", (await used(broker) - before) / count, "bytes", "process")
    before = await used(broker)
    for n in range(count):
        await offsets.fetch(
            broker.store, partition.keys, partition.topic_id, f"console-consumer-{n}", generation=1, now_ms=1
        )
    lab.note("group_offset", "bytes", (await used(broker) - before) / count, "bytes", "process")


async def used(broker: Broker) -> int:
    rows = (await broker.store.command("INFO", "memory")).split(b"\r\n")
    return int(next(row for row in rows if row.startswith(b"used_memory:")).partition(b":")[2])
