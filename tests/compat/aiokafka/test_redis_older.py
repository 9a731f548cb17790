# mypy: disable-error-code="import-not-found"
"""Redis comes back without its newest records under a consumer and producers that go on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

COUNT = 20
PATIENCE_S = 60.0
Older = tuple[str, Callable[[str], None]]


async def send(producer: AIOKafkaProducer, topic: str, name: str) -> list[int]:
    sent = [await producer.send(topic, f"{name}-{number}".encode()) for number in range(COUNT)]
    return [(await asyncio.wait_for(each, PATIENCE_S)).offset for each in sent]


async def receive(consumer: AIOKafkaConsumer, count: int) -> list[tuple[int, str]]:
    async with asyncio.timeout(PATIENCE_S):
        return [(found.offset, found.value.decode()) for found in [await consumer.getone() for _ in range(count)]]


def values(name: str) -> list[str]:
    return [f"{name}-{number}" for number in range(COUNT)]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
@pytest.mark.parametrize("reset", ["earliest", "latest"])
async def test_clients_go_on_behind_what_redis_has_lost(older: Older, name: Any, isolation: str, reset: str) -> None:
    kafka, order = older
    topic = name("older")
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka)
    await admin.start()
    await admin.create_topics([NewTopic(topic, 1, 1)])
    await admin.close()
    settings = {"bootstrap_servers": kafka, "auto_offset_reset": reset, "isolation_level": isolation}
    consumer, producer = AIOKafkaConsumer(**settings), AIOKafkaProducer(bootstrap_servers=kafka)
    async with consumer, producer:
        partition = TopicPartition(topic, 0)
        consumer.assign([partition])
        await consumer.seek_to_beginning(partition)
        old = await send(producer, topic, "old")
        assert [value for _, value in await receive(consumer, COUNT)] == values("old")
        await asyncio.to_thread(order, "keep")
        lost = await send(producer, topic, "lost")
        seen = await receive(consumer, COUNT)
        assert [value for _, value in seen] == values("lost")
        await asyncio.to_thread(order, "back")
        new = await send(producer, topic, "new")
        found = await receive(consumer, COUNT)
        assert [value for _, value in found] == values("new")
        assert found[0][0] > seen[-1][0]
        assert len({*old, *lost, *new}) == 3 * COUNT
        await consumer.seek_to_beginning(partition)
        assert [value for _, value in await receive(consumer, 2 * COUNT)] == values("old") + values("new")
