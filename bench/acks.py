"""What does an acknowledgement cost in time, and in Redis's memory?

A subscription has a million delivered messages; this process acknowledges them 100 a call, 8 calls at a time:

    in_order   every call advances the mark-delete position, and nothing else is stored
    random     a random half of the million; the other half stays unacknowledged, so the position hardly moves

`redis_bytes_per_ack` is the memory of the acknowledged half: one bit each, in chunks of 8192 offsets.
`redis_bytes_per_ack_with_leases` adds that of the other half, whose lease is split into many ranges.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections.abc import Iterator, Sequence

from bench.lab import Lab, without_gc
from bench.processes import Cpu, redis
from bench.topics import ACK_TIMEOUT_MS, batch
from redis_ledger.broker.broker import Broker
from redis_ledger.cursor import scripts
from redis_ledger.ids import MessageId
from redis_ledger.store.store import Store

RECORDS, PER_BATCH, PER_ACK, AT_ONCE = 1_000_000, 1_000, 100, 8
SEED = 11


async def measure(lab: Lab) -> None:
    count = int(RECORDS * lab.pace.scale)
    shuffled = list(range(count))
    random.Random(SEED).shuffle(shuffled)
    for case, offsets in (("in_order", range(count)), ("random", shuffled[: count // 2])):
        async with redis("process") as server:
            store = await Store.open(server.url)
            broker = await Broker.open(store)
            await deliver(broker, count)
            before = await occupied(broker)
            cpu = Cpu(None, server.redis_pid)
            with without_gc():
                began_s = time.perf_counter()
                await acknowledge(broker, offsets)
                elapsed_s = time.perf_counter() - began_s
            costs = {"measured_s": elapsed_s, **cpu.used()}
            after = await occupied(broker)
            lab.note(case, "acks_per_s", len(offsets) / elapsed_s, "acks/s", "process")
            acks = after["acks"] - before["acks"]
            lab.note(case, "redis_bytes_per_ack", acks / len(offsets), "B", "process")
            everything = sum(after.values()) - sum(before.values())
            lab.note(case, "redis_bytes_per_ack_with_leases", everything / len(offsets), "B", "process")
            lab.note_costs(case, costs, "process")
            await broker.close()
            await store.close()


async def deliver(broker: Broker, count: int) -> None:
    """Creates a topic with so many records, all leased to one consumer."""
    await broker.topics.create("t", 1)
    await broker.subscriptions.create("t", "s")
    data = batch(PER_BATCH, 1)
    for _ in range(-(-count // PER_BATCH)):
        await broker.records.produce_batches("t", 0, data)
    partition = await broker.catalog.partition("t", 0)
    request = scripts.ReceiveRequest("default", 1 << 40, ACK_TIMEOUT_MS, ACK_TIMEOUT_MS)
    left = True
    while left:
        received = await scripts.receive(
            broker.store,
            partition.keys,
            partition.topic_id,
            "s",
            request,
            now_ms=broker.clock.now_ms(),
            records_max=10_000,
        )
        left = bool(received.deliveries)


async def acknowledge(broker: Broker, offsets: Sequence[int]) -> None:
    groups: Iterator[list[int]] = (list(offsets[at : at + PER_ACK]) for at in itertools.count(0, PER_ACK))

    async def consumer() -> None:
        for group in groups:
            if not group:
                return
            await broker.subscriptions.ack("t", "s", "default", [MessageId(0, offset) for offset in group])

    await asyncio.gather(*(consumer() for _ in range(AT_ONCE)))


async def occupied(broker: Broker) -> dict[str, int]:
    """Returns the bytes of each key of the subscription."""
    partition = await broker.catalog.partition("t", 0)
    sub = partition.keys.sub("s")
    keys = {name: getattr(sub, name) for name in ("acks", "leases", "spans", "due")}
    usage = [
        await broker.store.command("MEMORY", "USAGE", key, "SAMPLES", 0, key=partition.keys.state)
        for key in keys.values()
    ]
    return {name: int(found or 0) for name, found in zip(keys, usage, strict=True)}
