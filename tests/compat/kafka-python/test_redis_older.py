# mypy: disable-error-code="import-not-found"
"""Redis comes back without its newest records under a consumer and producers that go on."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import UnknownProducerIdError

COUNT = 20
PATIENCE_S = 60.0
Older = tuple[str, Callable[[str], None]]


def send(producer: Any, topic: str, name: str) -> list[int]:
    sent = [producer.send(topic, f"{name}-{number}".encode()) for number in range(COUNT)]
    return [each.get(PATIENCE_S).offset for each in sent]


def receive(consumer: Any, count: int) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    until = time.monotonic() + PATIENCE_S
    while len(found) < count and time.monotonic() < until:
        for some in consumer.poll(500).values():
            found += [(each.offset, each.value.decode()) for each in some]
    return found


def values(name: str) -> list[str]:
    return [f"{name}-{number}" for number in range(COUNT)]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
@pytest.mark.parametrize("reset", ["earliest", "latest"])
def test_clients_go_on_behind_what_redis_has_lost(older: Older, name: Any, isolation: str, reset: str) -> None:
    kafka, order = older
    topic = name("older")
    producer = KafkaProducer(bootstrap_servers=kafka, enable_idempotence=False)
    consumer = KafkaConsumer(bootstrap_servers=kafka, auto_offset_reset=reset, isolation_level=isolation)
    partition = TopicPartition(topic, 0)
    old = send(producer, topic, "old")  # creates the topic
    consumer.assign([partition])
    consumer.seek_to_beginning(partition)
    assert [value for _, value in receive(consumer, COUNT)] == values("old")
    order("keep")
    lost = send(producer, topic, "lost")
    seen = receive(consumer, COUNT)
    assert [value for _, value in seen] == values("lost")
    order("back")
    new = send(producer, topic, "new")
    found = receive(consumer, COUNT)
    assert [value for _, value in found] == values("new")
    assert found[0][0] > seen[-1][0]
    assert len({*old, *lost, *new}) == 3 * COUNT
    consumer.seek_to_beginning(partition)
    assert [value for _, value in receive(consumer, 2 * COUNT)] == values("old") + values("new")
    producer.close()
    consumer.close()


@pytest.mark.timeout(300)
def test_an_idempotent_producer_reports_the_batch_and_goes_on(older: Older, name: Any) -> None:
    kafka, order = older
    topic = name("older")
    producer = KafkaProducer(bootstrap_servers=kafka, enable_idempotence=True)
    kept = send(producer, topic, "old")
    order("keep")
    lost = send(producer, topic, "lost")
    order("back")
    with pytest.raises(UnknownProducerIdError):
        producer.send(topic, b"first").get(PATIENCE_S)
    new = send(producer, topic, "new")
    assert min(new) > max(kept + lost)
    producer.close()
