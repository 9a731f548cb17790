# mypy: disable-error-code="import-not-found"
"""Clients of librdkafka with the settings every test wants, closed when it ends."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic


def dotted(settings: dict[str, Any]) -> dict[str, Any]:
    """{"group_id": ...} → {"group.id": ...}; callbacks keep their underscores."""
    return {name if name.endswith("_cb") else name.replace("_", "."): value for name, value in settings.items()}


@pytest.fixture(scope="session")
def admin(kafka: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": kafka})


@pytest.fixture
def topic(admin: AdminClient, name: Callable[..., str]) -> Callable[..., str]:
    """topic(3, **{"retention.ms": "1000"}) is a new topic that the broker leads."""

    def create(partitions: int = 1, **config: str) -> str:
        called = name("rdk")
        admin.create_topics([NewTopic(called, partitions, 1, config=config)])[called].result(15)
        return called

    return create


@pytest.fixture
def producer(kafka: str) -> Iterator[Callable[..., Producer]]:
    made: list[Producer] = []

    def create(**settings: Any) -> Producer:
        made.append(Producer({"bootstrap.servers": kafka, "linger.ms": 1, **dotted(settings)}))
        return made[-1]

    yield create
    for each in made:
        with contextlib.suppress(KafkaException):  # one that was fenced says so again
            each.purge()
            each.flush(1)


@pytest.fixture
def transactional(producer: Callable[..., Producer], name: Callable[..., str]) -> Callable[..., Producer]:
    """A producer whose transactions are initialised, under a transactional id of its own unless one is given."""

    def create(transactional_id: str = "", **settings: Any) -> Producer:
        made = producer(transactional_id=transactional_id or name("tx"), **settings)
        made.init_transactions(20)
        return made

    return create


@pytest.fixture
def consumer(kafka: str, name: Callable[..., str]) -> Iterator[Callable[..., Consumer]]:
    made: list[Consumer] = []

    def create(*topics: str, on_assign: Any = None, **settings: Any) -> Consumer:
        defaults = {"group.id": name("g"), "auto.offset.reset": "earliest", "enable.auto.commit": False}
        made.append(Consumer({"bootstrap.servers": kafka, "fetch.wait.max.ms": 100, **defaults, **dotted(settings)}))
        if topics:
            made[-1].subscribe(list(topics), **({"on_assign": on_assign} if on_assign else {}))
        return made[-1]

    yield create
    for each in made:
        each.close()


@pytest.fixture
def send() -> Callable[..., list[Message]]:
    """Produces values (bytes) to a topic and returns the acknowledged messages in the order of the acknowledgements."""

    def run(producer: Producer, topic: str, values: Any, **more: Any) -> list[Message]:
        acknowledged: list[Message] = []
        errors: list[KafkaError] = []

        def on_delivery(error: KafkaError | None, message: Message) -> None:
            if error is None:
                acknowledged.append(message)
            else:
                errors.append(error)

        for value in values:
            producer.produce(topic, value, on_delivery=on_delivery, **more)
            producer.poll(0)
        left = producer.flush(30)
        if errors:
            raise KafkaException(errors[0])
        assert left == 0, f"{left} messages were not acknowledged within 30 s"
        return acknowledged

    return run


@pytest.fixture
def read() -> Callable[..., list[Message]]:
    """The next `count` messages; or those that come within `seconds` if count is None."""

    def run(consumer: Consumer, count: int | None, seconds: float = 20) -> list[Message]:
        got: list[Message] = []
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and (count is None or len(got) < count):
            message = consumer.poll(0.1)
            if message is None:
                continue
            if message.error():
                raise KafkaException(message.error())
            got.append(message)
        assert count is None or len(got) == count, f"got {len(got)} of {count} messages within {seconds} s"
        return got

    return run


@pytest.fixture
def everything(consumer: Callable[..., Consumer]) -> Callable[..., list[bytes]]:
    """The values from the start of a partition up to where it ends for that isolation level."""

    def run(topic: str, partition: int = 0, isolation: str = "read_committed", seconds: float = 20) -> list[bytes]:
        reader = consumer(isolation_level=isolation, enable_partition_eof=True)
        reader.assign([TopicPartition(topic, partition, 0)])
        values: list[bytes] = []
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            message = reader.poll(0.1)
            if message is None:
                continue
            if message.error() is None:
                values.append(message.value())
            elif message.error().code() == KafkaError._PARTITION_EOF:
                return values
            else:
                raise KafkaException(message.error())
        raise AssertionError(f"no end of the partition within {seconds} s")

    return run
