"""Clients of aiokafka with the settings every test wants."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic


@pytest.fixture
def admin(kafka: str) -> Callable[[], Any]:
    @contextlib.asynccontextmanager
    async def create() -> AsyncIterator[AIOKafkaAdminClient]:
        made = AIOKafkaAdminClient(bootstrap_servers=kafka)
        await made.start()
        try:
            yield made
        finally:
            await made.close()

    return create


@pytest.fixture
def topic(admin: Callable[[], Any], name: Callable[..., str]) -> Callable[..., Awaitable[str]]:
    """await topic(3) is a new topic; raises AssertionError if the broker refuses it."""

    async def create(partitions: int = 1, **config: str) -> str:
        called = name("aio")
        async with admin() as client:
            answer = await client.create_topics([NewTopic(called, partitions, 1, topic_configs=config)])
        assert [each[1] for each in answer.topic_errors] == [0], answer
        return called

    return create


@pytest.fixture
def producer(kafka: str) -> Callable[..., AIOKafkaProducer]:
    return lambda **settings: AIOKafkaProducer(bootstrap_servers=kafka, **settings)


@pytest.fixture
def consumer(kafka: str) -> Callable[..., AIOKafkaConsumer]:
    """Reads from the start, and commits nothing by itself."""

    def create(*topics: str, **settings: Any) -> AIOKafkaConsumer:
        defaults = {"auto_offset_reset": "earliest", "enable_auto_commit": False, "fetch_max_wait_ms": 100}
        return AIOKafkaConsumer(*topics, bootstrap_servers=kafka, **{**defaults, **settings})

    return create


@pytest.fixture
def everything(consumer: Callable[..., AIOKafkaConsumer]) -> Callable[..., Awaitable[list[bytes]]]:
    """The values from the start of a partition up to where it ends for that isolation level."""

    async def run(topic: str, partition: int = 0, isolation: str = "read_committed") -> list[bytes]:
        place = TopicPartition(topic, partition)
        values: list[bytes] = []
        async with consumer(isolation_level=isolation) as reader:
            reader.assign([place])
            end = (await reader.end_offsets([place]))[place]
            await reader.seek_to_beginning(place)
            while await reader.position(place) < end:
                for messages in (await reader.getmany(place, timeout_ms=200)).values():
                    values += [message.value for message in messages]
        return values

    return run
