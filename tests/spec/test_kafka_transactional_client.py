"""Transactions of an unchanged Kafka client, aiokafka.  `scripts/check.py compat` runs those of librdkafka, Java and
franz-go, which need environments of their own."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import InvalidTransactionTimeout, ProducerFenced

from redis_ledger import AsyncClient
from tests.support.threaded_broker import threaded_broker

PLACE = TopicPartition("in", 0)


@pytest.fixture
async def kafka(redis_url, prefix):
    """The address of a broker with topics `in` and `out`."""
    with threaded_broker(redis_url, prefix, kafka=True, max_transaction_timeout_ms=900_000) as brokers:
        async with AsyncClient(brokers.urls) as client:
            for name in ("in", "out"):
                await client.topics.create(name)
        yield "{}:{}".format(*brokers.kafka)


@contextlib.asynccontextmanager
async def producing(kafka, **more):
    producer = AIOKafkaProducer(bootstrap_servers=kafka, **more)
    await producer.start()
    try:
        yield producer
    finally:
        with contextlib.suppress(ProducerFenced):
            await producer.stop()


@contextlib.asynccontextmanager
async def consuming(kafka, topic, **more):
    consumer = AIOKafkaConsumer(
        topic, bootstrap_servers=kafka, auto_offset_reset="earliest", enable_auto_commit=False, **more
    )
    await consumer.start()
    try:
        yield consumer
    finally:
        await consumer.stop()


async def values(kafka, count, isolation="read_committed"):
    """So many values of `out`, and what a little more time brings."""
    async with consuming(kafka, "out", isolation_level=isolation) as reader, asyncio.timeout(60):
        found = [(await reader.getone()).value for _ in range(count)]
        later = await reader.getmany(timeout_ms=200)
        return found + [record.value for records in later.values() for record in records]


async def test_a_kafka_client_consumes_transforms_and_produces_exactly_once(kafka):
    """CL-21: ten transactions with offsets of a group, of which one is aborted and done again."""
    async with producing(kafka) as plain:
        for number in range(100):
            await plain.send("in", b"%d" % number)
    async with (
        producing(kafka, transactional_id="job") as producer,
        consuming(kafka, "in", group_id="g", isolation_level="read_committed") as worker,
        asyncio.timeout(60),
    ):
        for attempt in range(11):
            messages = [await worker.getone() for _ in range(10)]
            await producer.begin_transaction()
            for message in messages:
                await producer.send("out", message.value + b"!")
            await producer.send_offsets_to_transaction({PLACE: messages[-1].offset + 1}, "g")
            before = await worker.committed(PLACE) or 0
            if attempt == 4:
                await producer.abort_transaction()
                assert (await worker.committed(PLACE) or 0) == before == 40
                await worker.seek_to_committed()
            else:
                await producer.commit_transaction()
                assert await worker.committed(PLACE) == before + 10
    assert await values(kafka, 100) == [b"%d!" % number for number in range(100)]
    assert len(await values(kafka, 110, "read_uncommitted")) == 110


async def test_a_second_producer_with_the_transactional_id_of_a_kafka_client_fences_the_first(kafka):
    """CL-21: what the first left open is aborted, so readers do not wait for it."""
    async with producing(kafka, transactional_id="pay") as first:
        await first.begin_transaction()
        await first.send_and_wait("out", b"of the first")
        async with producing(kafka, transactional_id="pay") as second, second.transaction():
            await second.send_and_wait("out", b"of the second")
        assert await values(kafka, 1) == [b"of the second"]
        with pytest.raises(ProducerFenced):
            await first.commit_transaction()
    assert await values(kafka, 1) == [b"of the second"]


async def test_a_committed_kafka_reader_stops_at_the_last_stable_offset(kafka):
    """CL-21"""
    place = TopicPartition("out", 0)
    async with (
        producing(kafka, transactional_id="pay") as producer,
        producing(kafka) as plain,
        consuming(kafka, "out", isolation_level="read_committed") as reader,
        asyncio.timeout(60),
    ):
        await plain.send_and_wait("out", b"before")
        await producer.begin_transaction()
        await producer.send_and_wait("out", b"in doubt")
        await plain.send_and_wait("out", b"behind")
        assert (await reader.getone()).value == b"before"
        while reader.highwater(place) < 3:  # as of the client's last fetch, which may be older than the other records
            assert await reader.getmany(timeout_ms=300) == {}
        assert (reader.last_stable_offset(place), reader.highwater(place)) == (1, 3)
        await producer.abort_transaction()
        assert (await reader.getone()).value == b"behind"


async def test_a_kafka_client_gets_no_timeout_above_the_limit_of_the_broker(kafka):
    """CL-21"""
    allowed = AIOKafkaProducer(bootstrap_servers=kafka, transactional_id="pay", transaction_timeout_ms=900_000)
    await allowed.start()
    await allowed.stop()
    refused = AIOKafkaProducer(bootstrap_servers=kafka, transactional_id="pay", transaction_timeout_ms=900_001)
    with pytest.raises(InvalidTransactionTimeout):
        await refused.start()
    await refused.stop()
