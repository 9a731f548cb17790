"""A batch that is sent right behind the registration of its partition (docs/decisions/0039)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from redis_ledger.errors import InvalidTxnStatus, ProducerFenced, StoreUnavailable, Unavailable
from redis_ledger.ids import TxnId
from redis_ledger.ledger.partition import Partition
from redis_ledger.txn.operations import Coordinator
from tests.support.broker import behind_a_proxy, eventually, one, two, values_of, visible
from tests.support.proxy import Proxy
from tests.support.transactional_producer import BY_ID, TransactionalProducer


@contextlib.asynccontextmanager
async def a_producer(
    redis: Any, prefix: str, *, asks: bool = False, **settings: Any
) -> AsyncIterator[tuple[TransactionalProducer, Proxy]]:
    async with behind_a_proxy(redis, prefix, **settings) as (broker, relay):
        await broker.topics.create("t", 2)
        producer = TransactionalProducer(broker, asks=asks)
        await producer.init()
        yield producer, relay


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Registrations that were answered, and appends that were sent."""
    seen: list[str] = []
    settle, send = Coordinator._settle, Partition._send

    def settled(self: Coordinator, operations: Any, done: Any) -> None:
        seen.extend("registered" for each in operations if each.name == "add_by_id")
        settle(self, operations, done)

    def sent(self: Partition, items: Any) -> Any:
        seen.append("appended")
        return send(self, items)

    monkeypatch.setattr(Coordinator, "_settle", settled)
    monkeypatch.setattr(Partition, "_send", sent)
    return seen


@pytest.mark.parametrize(
    ("in_one_call", "expected"), [(True, ["appended", "registered"]), (False, ["registered", "appended"])]
)
async def test_the_first_batch_does_not_wait_for_its_registration(redis, prefix, steps, in_one_call, expected):
    async with a_producer(redis, prefix, one_call_transactions=in_one_call) as (producer, _):
        for value in ("a", "b"):
            steps.clear()
            await producer.produce(value)
            assert steps == expected
            await producer.produce(f"{value}2")
            assert steps == [*expected, "appended"]
            await producer.end()
        assert await visible(producer.broker, "t") == {0: ["a", "a2", "b", "b2"]}


@pytest.mark.usefixtures("both_ways")
async def test_batches_in_flight_keep_their_order(redis_url, prefix):
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("t", 2)
        producer = TransactionalProducer(broker, asks=False)
        await producer.init()
        for _ in range(5):
            sent = [await producer.send(str(n), n % 2) for n in range(10)]
            await asyncio.gather(*sent)
            await producer.end()
        expected = {number: [str(n) for _ in range(5) for n in range(number, 10, 2)] for number in (0, 1)}
        assert await visible(broker, "t") == expected


@pytest.mark.usefixtures("both_ways")
async def test_a_batch_of_a_fenced_producer_is_not_written(redis_url, prefix):
    async with two(redis_url, prefix) as (first, second):
        await first.topics.create("t", 2)
        old, new = TransactionalProducer(first, asks=False), TransactionalProducer(second, asks=False)
        await old.init()
        await new.init()
        with pytest.raises(ProducerFenced):
            await old.produce("from the fenced one")
        await new.produce("x")
        await new.end()
        assert await visible(first, "t") == {0: ["x"]}


@pytest.mark.parametrize("lost", range(1, 4))
async def test_a_lost_reply_neither_loses_nor_doubles_the_batch(redis, prefix, lost):
    """Of the registration, the append or both."""
    async with a_producer(redis, prefix) as (producer, relay):
        await producer.produce("a")
        await producer.end()
        relay.cuts = lost
        await producer.produce("b")
        relay.cuts = 0
        await producer.end()
        assert await values_of(producer.broker, "t", isolation="read_uncommitted") == [
            "a", "[marker]", "b", "[marker]",
        ]  # fmt: skip


async def sent_when_redis_is_back(producer: TransactionalProducer, value: str) -> None:
    async def sends() -> bool:
        producer.sequences.clear()
        with contextlib.suppress(StoreUnavailable):
            return (await producer.produce(value)).base_offset == 0
        return False

    assert await eventually(sends, True)


# -- partitions that are added by a request of their own ---------------------------------------------------------------


async def test_the_response_to_add_partitions_does_not_wait_for_redis(redis, prefix, steps):
    async with a_producer(redis, prefix, asks=True) as (producer, _):
        for value in ("a", "b"):
            steps.clear()
            await producer.add_early()
            sent = await producer.send(value)
            assert steps == []
            await sent
            assert steps == ["appended", "registered"]
            await producer.end()
        assert await visible(producer.broker, "t") == {0: ["a", "b"]}


@pytest.mark.parametrize("why", ["a cluster", "another broker", "an identity of another broker", "a failed end"])
async def test_the_response_waits_where_a_refusal_could_come_or_another_broker_could_look(
    redis_url, prefix, steps, why
):
    settings = {"one_call_transactions": why != "a cluster"}
    async with contextlib.AsyncExitStack() as stack:
        broker = await stack.enter_async_context(one(redis_url, prefix, **settings))
        await broker.topics.create("t", 2)
        producer = TransactionalProducer(broker, asks=True)
        if why == "an identity of another broker":
            async with one(redis_url, prefix) as other:
                producer.pid, producer.epoch = await other.producers.init(BY_ID, 60_000)
        else:
            await producer.init()
        if why == "another broker":
            await stack.enter_async_context(one(redis_url, prefix))
            await broker.maintenance.heartbeat()
        if why == "a failed end":
            with pytest.raises(InvalidTxnStatus):
                await producer.end()
        await broker.maintenance.heartbeat()
        steps.clear()
        await producer.add_early()
        assert steps == ["registered"]
        await producer.produce("x")
        await producer.end()
        assert await visible(broker, "t") == {0: ["x"]}


@pytest.mark.parametrize("at", ["the batch", "the end"])
async def test_the_refusal_is_the_answer_of_the_next_request(redis_url, prefix, at):
    """The producer was fenced by its successor, which registered with this broker's Redis behind its back."""
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("t", 2)
        old = TransactionalProducer(broker, asks=True)
        await old.init()
        await broker.transactional_ids.init(BY_ID, 60_000, -1, -1)
        await old.add_early()
        with pytest.raises(ProducerFenced):
            await (old.end() if at == "the end" else old.produce("from the fenced one"))
        with pytest.raises(ProducerFenced):
            await old.add_early()
        assert await visible(broker, "t") == {}


async def test_a_registration_that_redis_did_not_execute_is_sent_again(redis, prefix):
    async with a_producer(redis, prefix, asks=True, redis_retry_ms=100, redis_timeout_ms=1_000) as (producer, relay):
        relay.hold()
        await producer.add_early()
        (early,) = producer.broker.producers._early.of(producer.pid)
        await relay.refuse()
        relay.release()
        await asyncio.wait([early.registration.txn])
        assert isinstance(early.registration.error(), Unavailable)
        await relay.accept_again()
        await sent_when_redis_is_back(producer, "a")
        await producer.end()
        assert await visible(producer.broker, "t") == {0: ["a"]}


async def test_an_end_without_a_batch_waits_for_the_registration(redis_url, prefix):
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("t", 2)
        producer = TransactionalProducer(broker, asks=True)
        await producer.init()
        for commit in (True, False):
            await producer.add_early(0)
            await producer.add_early(1)
            await producer.end(commit=commit)
        assert await values_of(broker, "t", isolation="read_uncommitted") == []


# -- Redis is away -----------------------------------------------------------------------------------------------------


async def test_a_registration_that_cannot_be_sent_fails_the_batch(redis, prefix):
    async with a_producer(redis, prefix, redis_retry_ms=200, redis_timeout_ms=1_000) as (producer, relay):
        await relay.refuse()
        with pytest.raises(StoreUnavailable):
            await producer.produce("a")
        await relay.accept_again()
        await sent_when_redis_is_back(producer, "b")
        await producer.end()
        assert await visible(producer.broker, "t") == {0: ["b"]}


async def test_a_batch_that_its_registration_overtakes_is_appended_again(redis, prefix, monkeypatch):
    """Another call of the coordinator came between, so its script cannot tell; the broker knows by then."""
    async with a_producer(redis, prefix) as (producer, _):
        send, sent = Partition._send, list[str]()

        def refused_once(self: Partition, items: Any) -> Any:
            if not sent:
                items = [item._replace(txn=_of_an_older_call(item.txn)) for item in items]
            sent.append("appended")
            return send(self, items)

        monkeypatch.setattr(Partition, "_send", refused_once)
        await producer.produce("a")
        await producer.end()
        assert len(sent) == 2
        assert await visible(producer.broker, "t") == {0: ["a"]}


def _of_an_older_call(registration: Any) -> Any:
    pending: asyncio.Future[TxnId] = asyncio.get_running_loop().create_future()
    return type(registration)(
        registration.coordinator, registration.calls, registration.broker, registration.call - 1, registration.place,
        pending,
    )  # fmt: skip
