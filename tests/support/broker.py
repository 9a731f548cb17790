"""Brokers in the test's own process, and what a reader sees.

    one              a broker on a store of its own
    two              two brokers on one prefix, two stores
    behind_a_proxy   a broker whose link to Redis can be cut
    eventually       asks again until it is so, or the time is over
    visible          every value a committed reader gets, by partition

SHORT makes everything that waits for a deadline short enough for a test and long enough for a busy machine.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.types import Isolation, NewRecord
from redis_ledger.clock import Clock, RedisClock
from redis_ledger.config import Config
from redis_ledger.ids import MessageId, TxnId
from redis_ledger.records.read import decode
from redis_ledger.store.copies import CopiesRequired
from tests.support.proxy import Proxy, proxy
from tests.support.stores import open_store

SHORT: dict[str, Any] = {"coordinators": 2, "end_overdue_ms": 300, "sweep_interval_ms": 100, "ack_timeout_ms": 20_000}
SWEPT_S_MAX = 2.0  # what is overdue is finished within this (TS-11)
LOOK_S_MAX = 0.02  # a look that takes longer counts as this much: then the machine is busy
T = TypeVar("T")


@contextlib.asynccontextmanager
async def one(
    url: str,
    prefix: str,
    *,
    clock: Clock | None = None,
    redis_clock: RedisClock | None = None,
    name: str = "",
    **settings: Any,
) -> AsyncIterator[Broker]:
    """With min_insync_replicas above 1: at durability `replicas`."""
    config = Config(prefix=prefix, **{**SHORT, **settings})
    required = CopiesRequired(config.min_insync_replicas, config.replicas_timeout_ms)
    store = await open_store(
        url, prefix=prefix, timeout_ms=config.redis_timeout_ms, retry_ms=config.redis_retry_ms,
        copies=required if required.min_insync > 1 else None,
    )  # fmt: skip
    try:
        broker = await Broker.open(store, config, clock=clock, redis_clock=redis_clock, name=name)
        try:
            yield broker
        finally:
            await broker.close()
    finally:
        await store.close()


@contextlib.asynccontextmanager
async def two(url: str, prefix: str, **settings: Any) -> AsyncIterator[tuple[Broker, Broker]]:
    async with one(url, prefix, name="b1", **settings) as first, one(url, prefix, name="b2", **settings) as second:
        yield first, second


@contextlib.asynccontextmanager
async def behind_a_proxy(redis: Any, prefix: str, **settings: Any) -> AsyncIterator[tuple[Broker, Proxy]]:
    """A broker without background work, so that each request to Redis is the test's."""
    async with proxy("127.0.0.1", redis.port) as relay, one(relay.url, prefix, **settings) as broker:
        await broker.maintenance.close()
        yield broker, relay


async def vanish(broker: Broker) -> None:
    """As kill -9 does to a broker in this process: nothing more leaves for Redis, nothing is handed over."""
    for task in broker.maintenance._tasks:
        task.cancel()
    await asyncio.gather(*broker.maintenance._tasks, return_exceptions=True)
    await broker.store.close()


def records(*values: str, key: str | None = None, partition: int | None = None) -> list[NewRecord]:
    return [NewRecord(None if key is None else key.encode(), v.encode(), partition=partition) for v in values]


async def values_of(
    broker: Broker,
    topic: str,
    partition: int = 0,
    *,
    isolation: Isolation = "read_committed",
    offset: int | str = "earliest",
) -> list[str]:
    """The records of one partition for a reader, in order; markers are shown as [marker]."""
    found: list[str] = []
    at: Any = offset
    while True:
        fetched = await broker.records.fetch(topic, partition, at, isolation=isolation)
        for batch in fetched.batches:
            if batch.is_control:
                found.append("[marker]")
            else:
                found += [(r.value or b"").decode() for r in decode(batch.data) if at == "earliest" or r.offset >= at]
        if not fetched.batches:
            return found
        at = fetched.next_offset


async def raw(broker: Broker, topic: str = "t") -> list[str]:
    """Everything in partition 0, also what no transaction has committed."""
    return await values_of(broker, topic, isolation="read_uncommitted")


async def heads(broker: Broker, topic: str = "t") -> tuple[int, int, int, int]:
    """Start, stable and end offset, and how many transactions are open, of partition 0."""
    _, (state, *_) = await broker.topics.describe(topic)
    return state.start_offset, state.stable_offset, state.end_offset, state.open_transactions


async def begun(broker: Broker, *values: str, topic: str = "t", timeout_ms: int | None = None) -> TxnId:
    """A new transaction that has written these."""
    txn = (await broker.transactions.begin(timeout_ms)).id
    for value in values:
        await broker.records.produce(topic, records(value), transaction=txn)
    return txn


async def status(broker: Broker, txn: TxnId) -> str:
    return (await broker.transactions.get(txn)).status


async def log_length(broker: Broker, txn: TxnId) -> int:
    """Entries in the transaction log of its coordinator."""
    keys = broker.coordinators.of(txn).keys
    return int(await broker.store.command("XLEN", keys.log, key=keys.state))


async def visible(broker: Broker, topic: str) -> dict[int, list[str]]:
    """Partition → committed values, in order; empty partitions are left out."""
    count = (await broker.topics.describe(topic))[0].partitions
    found = {number: await values_of(broker, topic, number) for number in range(count)}
    return {number: values for number, values in found.items() if values}


async def outstanding(broker: Broker, topic: str) -> int:
    """Open transactions over all partitions, and offsets readers are held back by."""
    _, states = await broker.topics.describe(topic)
    return sum(s.open_transactions + s.end_offset - s.stable_offset for s in states)


async def live_transactions(broker: Broker) -> int:
    """Transactions in the coordinators' live maps, whatever their state."""
    counts = [
        await broker.store.command("HLEN", c.keys.txns, key=c.keys.state) for c in broker.coordinators
    ]  # the sentinel is one of them
    return int(sum(counts)) - len(counts)


async def receive_values(
    broker: Broker, topic: str, name: str, consumer: str = "c1", **more: Any
) -> dict[MessageId, str]:
    messages = await broker.subscriptions.receive(topic, name, consumer, **more)
    return {m.id: (m.value or b"").decode() for m in messages}


async def backlog(broker: Broker, topic: str, name: str) -> int:
    return sum(c.backlog for c in (await broker.subscriptions.stats(topic, name)).cursors)


async def eventually(ask: Callable[[], Awaitable[T]], wanted: T, within_s: float = SWEPT_S_MAX) -> T:
    """The last answer: `wanted` as soon as it is that.  On a busy machine, where looks are slow, the time is longer."""
    loop = asyncio.get_running_loop()
    counted_s, began_s = 0.0, loop.time()
    while (answer := await ask()) != wanted and counted_s < within_s:
        await asyncio.sleep(0.01)
        counted_s, began_s = counted_s + min(loop.time() - began_s, LOOK_S_MAX), loop.time()
    return answer
