"""What does Redis keep for a transaction, beside its records?

    open        begun, with one record written
    finished    committed, while its outcome is kept (ended_status_retention_ms)
    aborted     the same, with the entry by which readers skip its record

Memory of the keys of one coordinator and one partition, before and after.
"""

from __future__ import annotations

import asyncio
from functools import partial

from bench.growth.memory import begun, each, keys_of_transactions
from bench.lab import Lab
from bench.processes import redis
from redis_ledger.broker.broker import Broker
from redis_ledger.config import Config
from redis_ledger.store.store import Store

COUNT = 5_000
SETTLED_S = 0.2  # completions are sent a moment after the responses


async def measure(lab: Lab) -> None:
    count = max(100, int(COUNT * lab.pace.scale))
    for case in ("open", "finished", "aborted"):
        async with redis("process") as server:
            config = Config(prefix="m", coordinators=1)
            store = await Store.open(server.url, prefix=config.prefix)
            broker = await Broker.open(store, config)
            await broker.topics.create("t", 1)
            before = await occupied(broker)
            await each(count, partial(transaction, broker, case))
            await asyncio.sleep(SETTLED_S)
            lab.note(case, "redis_bytes", (await occupied(broker) - before) / count, "bytes", "process")
            await broker.close()
            await store.close()


async def transaction(broker: Broker, case: str, _: int) -> None:
    txn = (await begun(broker)).id
    if case == "finished":
        await broker.transactions.commit(txn)
    elif case == "aborted":
        await broker.transactions.abort(txn)


async def occupied(broker: Broker) -> int:
    names = (*await keys_of_transactions(broker), (await broker.catalog.partition("t", 0)).keys.aborted)
    command = broker.store.command
    sizes = await asyncio.gather(*(command("MEMORY", "USAGE", name, "SAMPLES", 0, key=name) for name in names))
    return sum(int(size or 0) for size in sizes)
