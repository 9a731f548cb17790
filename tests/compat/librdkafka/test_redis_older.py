# mypy: disable-error-code="import-not-found"
"""Redis comes back without its newest records under a consumer and an idempotent producer that go on: the consumer gets
every record that is written afterwards, at offsets that it has not seen before, and the producer gets no error.

The test has brokers of its own, of redis-ledger; beside a Kafka that is tested it skips.
"""

from __future__ import annotations

import time

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

PATIENCE_S = 60.0
COUNT = 20


class Sender:
    def __init__(self, kafka: str, topic: str) -> None:
        self._producer = Producer({"bootstrap.servers": kafka, "enable.idempotence": True, "linger.ms": 1})
        self._topic, self.errors, self.offsets = topic, list[str](), list[int]()

    def send(self, name: str) -> None:
        for number in range(COUNT):
            self._producer.produce(self._topic, f"{name}-{number}".encode(), on_delivery=self._delivered)
        assert self._producer.flush(PATIENCE_S) == 0

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.errors.append(str(error))
        else:
            self.offsets.append(message.offset())


def receive(consumer: Consumer, count: int) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    until = time.monotonic() + PATIENCE_S
    while len(found) < count and time.monotonic() < until:
        message = consumer.poll(0.5)
        if message is not None and not message.error():
            found.append((message.offset(), message.value().decode()))
    return found


def values(name: str) -> list[str]:
    return [f"{name}-{number}" for number in range(COUNT)]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
@pytest.mark.parametrize("reset", ["earliest", "latest"])
def test_clients_go_on_behind_what_redis_has_lost(older, name, isolation, reset):
    kafka, order = older
    topic = name("older")
    admin = AdminClient({"bootstrap.servers": kafka})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)
    sender = Sender(kafka, topic)
    consumer = Consumer(
        {"bootstrap.servers": kafka, "group.id": name("g"), "auto.offset.reset": reset, "isolation.level": isolation}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    sender.send("old")
    assert [value for _, value in receive(consumer, COUNT)] == values("old")
    order("keep")
    sender.send("lost")
    seen = receive(consumer, COUNT)
    assert [value for _, value in seen] == values("lost")
    order("back")
    sender.send("new")
    found = receive(consumer, COUNT)
    assert [value for _, value in found] == values("new")
    assert found[0][0] > seen[-1][0]
    assert sender.errors == []
    assert len(set(sender.offsets)) == 3 * COUNT
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert [value for _, value in receive(consumer, 2 * COUNT)] == values("old") + values("new")
    consumer.close()
