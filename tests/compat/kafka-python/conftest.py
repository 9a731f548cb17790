# mypy: disable-error-code="import-not-found"
"""Clients of kafka-python with the settings every test wants, closed when it ends."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError


@pytest.fixture
def admin(kafka: str) -> Iterator[Any]:
    made = KafkaAdminClient(bootstrap_servers=kafka)
    yield made
    made.close()


@pytest.fixture
def topic(admin: Any, name: Callable[..., str]) -> Callable[..., str]:
    def create(partitions: int = 1, **config: str) -> str:
        called = name("kpy")
        wanted = {"num_partitions": partitions, "replication_factor": 1, "configs": config}
        admin.create_topics({called: wanted}, wait_for_metadata=True)
        return called

    return create


@pytest.fixture
def producer(kafka: str) -> Iterator[Callable[..., Any]]:
    made: list[Any] = []

    def create(**settings: Any) -> Any:
        made.append(KafkaProducer(bootstrap_servers=kafka, **settings))
        if "transactional_id" in settings:
            made[-1].init_transactions()
        return made[-1]

    yield create
    for each in made:
        with contextlib.suppress(KafkaError):  # one that was fenced says so again
            each.close(timeout=2)


@pytest.fixture
def consumer(kafka: str) -> Iterator[Callable[..., Any]]:
    """Reads from the start, and commits nothing by itself."""
    made: list[Any] = []

    def create(*topics: str, **settings: Any) -> Any:
        defaults = {"auto_offset_reset": "earliest", "enable_auto_commit": False, "fetch_max_wait_ms": 100}
        made.append(KafkaConsumer(bootstrap_servers=kafka, **{**defaults, **settings}))
        # A member that joins before it knows its topic may assign nothing and stay so: FINDINGS.md.
        for each in topics:
            made[-1].partitions_for_topic(each)
        if topics:
            made[-1].subscribe(topics)
        return made[-1]

    yield create
    for each in made:
        each.close(autocommit=False)


@pytest.fixture
def read() -> Callable[..., list[Any]]:
    """The next `count` records; or those that come within `seconds` if count is None."""

    def run(reader: Any, count: int | None, seconds: float = 20) -> list[Any]:
        got: list[Any] = []
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and (count is None or len(got) < count):
            most = 500 if count is None else count - len(got)
            for records in reader.poll(timeout_ms=100, max_records=most).values():
                got += records
        assert count is None or len(got) == count, f"got {len(got)} of {count} records within {seconds} s"
        return got

    return run


@pytest.fixture
def everything(consumer: Callable[..., Any]) -> Callable[..., list[bytes]]:
    """The values from the start of a partition up to where it ends for that isolation level."""

    def run(topic: str, partition: int = 0, isolation: str = "read_committed", seconds: float = 20) -> list[bytes]:
        place = TopicPartition(topic, partition)
        reader = consumer(isolation_level=isolation)
        reader.assign([place])
        reader.seek_to_beginning(place)
        end = reader.end_offsets([place])[place]
        values: list[bytes] = []
        deadline = time.monotonic() + seconds
        while reader.position(place) < end:
            assert time.monotonic() < deadline, f"the end was not reached within {seconds} s"
            for records in reader.poll(timeout_ms=100).values():
                values += [record.value for record in records]
        return values

    return run
