"""A real Spark and a real broker, each started once.

Runs in Spark's own environment, by `scripts/check.py spark`; elsewhere nothing here is collected.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from redis_ledger import Client
from redis_ledger.kafka.protocol.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tests.spark.quick import is_quick
from tests.spark.secured import Secured
from tests.support.kafka_client import KafkaClient
from tests.support.processes import Serve

if find_spec("pyspark") is None:
    collect_ignore_glob = ["test_*"]

TEST_S_MAX = 400  # on a busy machine


@pytest.hookimpl(tryfirst=True)  # before `-m` selects by markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.timeout(TEST_S_MAX))
            if not is_quick(item.path.name, getattr(item, "originalname", item.name)):
                item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def spark(tmp_path_factory) -> Iterator[Any]:
    from redis_ledger.spark import session

    home = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.driver.memory": "1g",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.streaming.stopTimeout": "60s",
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    # Two threads, and two attempts for each task, as on a cluster.
    started = session("local[2,3]", settings)
    started.sparkContext.setLogLevel("OFF")  # queries that fail are part of the tests
    yield started
    started.stop()


@pytest.fixture(scope="session")
def offload_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The object store of the broker."""
    return tmp_path_factory.mktemp("offload")


@pytest.fixture(scope="session")
def broker(tmp_path_factory, offload_home) -> Iterator[Serve]:
    data = tmp_path_factory.mktemp("broker") / "data"
    serve = Serve("--data-dir", data, "--durability", "process", "--offload-home", offload_home)
    yield serve
    serve.clean_up()


@pytest.fixture(scope="session")
def url(broker: Serve) -> str:
    return broker.urls[0]


@pytest.fixture
def client(url: str) -> Iterator[Client]:
    with Client(url) as client:
        yield client


@pytest.fixture(scope="session")
def secured(tmp_path_factory) -> Iterator[Secured]:
    """Another broker, with authentication."""
    started = Secured(tmp_path_factory.mktemp("secured"))
    yield started
    started.close()


@pytest.fixture
def name() -> str:
    """A unique topic name."""
    return f"t-{secrets.token_hex(5)}"


class Topic:
    """A topic of the test, with helpers to write and read it."""

    def __init__(self, spark: Any, client: Client, url: str, name: str, partitions: int) -> None:
        self.spark, self.client, self.url, self.name = spark, client, url, name
        client.topics.create(name, partitions=partitions)

    def send(self, *values: Any, partition: int = 0, **more: Any) -> None:
        """One batch."""
        with self.client.producer(self.name, linger_ms=1_000) as producer:
            for value in values:
                producer.send(value, partition=partition, **more)

    def options(self, **options: Any) -> dict[str, str]:
        named = {"bootstrap": self.url} | ({} if "topicsPattern" in options else {"topics": self.name})
        return named | {name: v if isinstance(v, str) else json.dumps(v) for name, v in options.items()}

    def read(self, **options: Any) -> Any:
        return self.spark.read.format("redis-ledger").options(**self.options(**options)).load()

    def stream(self, **options: Any) -> Any:
        earliest = {"startingOffsets": "earliest"} | options
        return self.spark.readStream.format("redis-ledger").options(**self.options(**earliest)).load()

    def values(self, **options: Any) -> list[str]:
        return texts(self.read(**options))


@pytest.fixture
def topic(spark, client, url, name) -> Callable[..., Topic]:
    return lambda partitions=1, name=name: Topic(spark, client, url, name, partitions)


@pytest.fixture
def delete_records(broker: Serve) -> Callable[[str, int], None]:
    """Deletes records below an offset of partition 0."""

    def delete(topic: str, before: int) -> None:
        async def ask() -> None:
            host, port = broker.field("kafka").rsplit(":", 1)
            async with KafkaClient((host, int(port))) as kafka:
                partitions = [DeleteRecordsPartition(0, before)]
                await kafka.ask(DeleteRecordsRequest([DeleteRecordsTopic(topic, partitions)], 10_000), 2)

        asyncio.run(ask())

    return delete


def texts(frame: Any) -> list[str]:
    """Returns the values, in the order of partitions and offsets."""
    rows = frame.selectExpr("partition", "offset", "cast(value as string) v").collect()
    return [row.v for row in sorted(rows)]
