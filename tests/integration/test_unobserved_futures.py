"""The store closes under load: every failure reaches a caller, and asyncio reports no unretrieved exception."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from redis_ledger.broker.broker import Broker
from redis_ledger.errors import LedgerError
from tests.support.broker import one, records
from tests.support.kafka_batches import batch, fetch, produce
from tests.support.kafka_client import KafkaClient, listening
from tests.support.kafka_groups import QUICK
from tests.support.kafka_offsets import commit
from tests.support.kafka_transactional import NEW, OLD, Transactional
from tests.support.proxy import proxy
from tests.support.redis_servers import Server

TOPIC, PARTITIONS = "t", 4
WORKERS = 4


async def plain(broker: Broker, _: KafkaClient, number: int) -> None:
    await broker.records.produce(TOPIC, records(*map(str, range(20))))


async def one_call_of_many(broker: Broker, _: KafkaClient, number: int) -> None:
    await asyncio.gather(*(broker.records.produce(TOPIC, records("x", partition=n)) for n in range(PARTITIONS)))


async def transaction(broker: Broker, _: KafkaClient, number: int) -> None:
    txn = await broker.transactions.begin()
    await broker.records.produce(TOPIC, records(*map(str, range(20))), transaction=txn.id)
    await broker.transactions.commit(txn.id)


async def pipelined(_: Broker, client: KafkaClient, number: int) -> None:
    await asyncio.gather(*(client.ask(produce(TOPIC, batch("x"), partition=n), 9) for n in range(PARTITIONS)))


async def by_unknown_id(broker: Broker, _: KafkaClient, number: int) -> None:
    await broker.catalog.by_id(number.to_bytes(16))


async def transactional(version: int, client: KafkaClient, number: int) -> None:
    producer = await Transactional(client, f"tx-{version}-{number}", version).init()
    for partition in range(PARTITIONS):
        await producer.send(TOPIC, "x", partition=partition)
    await producer.end()


async def old_transactional(_: Broker, client: KafkaClient, number: int) -> None:
    await transactional(OLD, client, number)


async def new_transactional(_: Broker, client: KafkaClient, number: int) -> None:
    await transactional(NEW, client, number)


async def offsets(_: Broker, client: KafkaClient, number: int) -> None:
    await commit(client, *((TOPIC, n, 1) for n in range(PARTITIONS)), group=f"g{number}")


async def reads(_: Broker, client: KafkaClient, number: int) -> None:
    await client.ask(fetch(TOPIC), 12)


LOAD: list[Callable[[Broker, KafkaClient, int], Awaitable[Any]]] = [
    plain, one_call_of_many, transaction, pipelined, by_unknown_id, old_transactional, new_transactional, offsets,
    reads,
]  # fmt: skip


@pytest.mark.parametrize("callers", ["stay", "leave"])
async def test_a_store_that_closes_under_load_leaves_no_failure_unread(
    redis_url: str, prefix: str, callers: str
) -> None:
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    ends = asyncio.Event()
    done = {work.__name__: 0 for work in LOAD}

    async def keep_on(broker: Broker, work: Callable[..., Awaitable[Any]], client: KafkaClient, number: int) -> None:
        while not ends.is_set():  # wait_for of Python 3.11 may swallow a cancellation
            with contextlib.suppress(LedgerError, AssertionError):
                await work(broker, client, number)
            done[work.__name__] += 1
            await asyncio.sleep(0)

    # Given a broker under load at all doors
    async with one(redis_url, prefix, **QUICK) as broker:
        await broker.topics.create(TOPIC, PARTITIONS)
        async with listening(broker) as address, contextlib.AsyncExitStack() as stack:
            working = []
            for work in LOAD:
                for number in range(WORKERS):
                    client = await stack.enter_async_context(KafkaClient(address))
                    working.append(asyncio.create_task(keep_on(broker, work, client, number)))
            async with asyncio.timeout(20):
                while min(done.values()) < 5:
                    for t in working:
                        if t.done():
                            t.result()
                    await asyncio.sleep(0.01)
            # When its store closes, while the callers wait or as they leave
            if callers == "leave":
                for task in working[::2]:
                    task.cancel()
            await broker.store.close()
            so_far = dict(done)
            async with asyncio.timeout(20):
                while callers == "stay" and any(done[name] < so_far[name] + WORKERS for name in done):
                    await asyncio.sleep(0.01)
            ends.set()
            for task in working:
                task.cancel()
            await asyncio.gather(*working, return_exceptions=True)
    del broker, working, task  # asyncio reports when the last reference goes
    gc.collect()
    await asyncio.sleep(0)
    # Then asyncio has no failure to report that was never read
    assert [f"{each['message']}: {each.get('exception')!r} {each.get('future')!r}" for each in complaints] == []


async def test_a_look_for_an_unknown_topic_id_that_fails_after_its_caller_left_is_not_reported(
    redis: Server, prefix: str
) -> None:
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    async with proxy("127.0.0.1", redis.port) as relay, one(relay.url, prefix) as broker:
        # Given a look through the catalog that waits for Redis, and its only caller gone
        relay.hold()
        asking = asyncio.create_task(broker.catalog.by_id(bytes(16)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        # When the look fails
        await broker.store.close()
        relay.release()
    del broker, asking
    gc.collect()
    await asyncio.sleep(0)
    assert complaints == []
