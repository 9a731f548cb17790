"""A transactional batch that its producer sends again: each is in the log once, and readers get each once."""

from __future__ import annotations

import pytest

from redis_ledger.broker.broker import Broker
from redis_ledger.errors import DuplicateSequence, ProducerFenced
from redis_ledger.ledger.append_request import Accepted
from tests.support.broker import behind_a_proxy, heads, one, raw, two, values_of, vanish
from tests.support.redis_servers import redis_server
from tests.support.transactional_producer import TransactionalProducer

WINDOW = 5  # batches of a producer that a partition remembers, as in Kafka
MESSAGES = [str(number) for number in range(100)]


async def again(producer: TransactionalProducer, broker: Broker, number: int) -> Accepted:
    """Sends message `number` another time, with its sequence."""
    producer.broker, producer.sequences[0] = broker, number
    return await producer.produce(MESSAGES[number])


@pytest.mark.parametrize("asks", [True, False], ids=["adds partitions", "batches add partitions"])
async def test_each_of_a_hundred_transactional_messages_is_sent_three_times_and_written_once(asks, prefix):
    """TB-13: the third time to a new broker, on a Redis that was killed and started again."""
    with redis_server(appendonly="yes", appendfsync="always") as server:
        producer: TransactionalProducer | None = None
        for start in range(0, len(MESSAGES), WINDOW):
            numbers = range(start, start + WINDOW)
            async with one(server.url, prefix, coordinators=1) as broker:
                if producer is None:
                    await broker.topics.create("t")
                    producer = TransactionalProducer(broker, asks=asks)
                    await producer.init()
                    await producer.add()
                first = [await again(producer, broker, number) for number in numbers]
                second = [await again(producer, broker, number) for number in numbers]
                await vanish(broker)
            server.kill()
            server.start()
            async with one(server.url, prefix, coordinators=1) as broker:
                third = [await again(producer, broker, number) for number in numbers]
            for sent, is_duplicate in ((first, False), (second, True), (third, True)):
                assert [(each.base_offset, each.duplicate) for each in sent] == [(n, is_duplicate) for n in numbers]
        async with one(server.url, prefix, coordinators=1) as broker:
            assert await heads(broker) == (0, 0, 100, 1)
            assert await raw(broker) == MESSAGES
            assert producer is not None
            producer.broker = broker
            await producer.end()
            assert await raw(broker) == [*MESSAGES, "[marker]"]
            assert await values_of(broker, "t") == MESSAGES


async def test_a_transactional_batch_that_is_older_than_the_window_is_refused_and_not_written(redis_url, prefix):
    """TB-13: nothing is guessed; Kafka answers the same."""
    async with one(redis_url, prefix, coordinators=1) as broker:
        await broker.topics.create("t")
        producer = TransactionalProducer(broker, asks=True)
        await producer.init()
        await producer.add()
        for number in range(WINDOW + 1):
            await again(producer, broker, number)
        with pytest.raises(DuplicateSequence):
            await again(producer, broker, 0)
        assert await raw(broker) == MESSAGES[: WINDOW + 1]


@pytest.mark.parametrize("commit", [True, False])
async def test_a_transactional_batch_of_a_stale_epoch_is_refused_also_by_a_new_broker(redis_url, prefix, commit):
    """TB-13: neither a new batch nor a repeated one; the transaction of the later producer has its own records only."""
    async with two(redis_url, prefix, coordinators=1) as (first, second):
        await first.topics.create("t")
        old, new = TransactionalProducer(first, asks=True), TransactionalProducer(first, asks=True)
        await old.init()
        await old.add()
        await old.produce("old")
        await new.init()  # aborts what the first one left
        await new.add()
        await new.produce("new")
        before = await raw(first)
        assert before == ["old", "[marker]", "new"]
        for broker in (first, second):
            for number in (0, 1):
                with pytest.raises(ProducerFenced):
                    await again(old, broker, number)
        assert await raw(second) == before
        await new.end(commit=commit)
        assert await values_of(second, "t") == (["new"] if commit else [])


async def test_a_transactional_batch_whose_reply_is_lost_is_written_once(redis, prefix):
    """TB-13: the broker resolves the outcome by the sequence, for the first batch of a transaction and for others."""
    async with behind_a_proxy(redis, prefix, coordinators=1) as (broker, relay):
        await broker.topics.create("t")
        producer = TransactionalProducer(broker, asks=True)
        await producer.init()
        await producer.add()
        for number in range(3):
            connections, relay.cuts = relay.connections, 1
            assert (await again(producer, broker, number)).base_offset == number
            assert relay.connections > connections
        assert await heads(broker) == (0, 0, 3, 1)
        await producer.end()
        assert await values_of(broker, "t") == MESSAGES[:3]
