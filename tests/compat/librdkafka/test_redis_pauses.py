# mypy: disable-error-code="import-not-found"
"""The primaries of a Redis Cluster are paused in turn, each for longer than a broker waits for it, while an idempotent
producer with several batches in flight writes: it gets no error, and each record is there once and in order.

The test has brokers of its own, of redis-ledger; beside a Kafka that is tested it skips.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

ROOT = Path(__file__).resolve().parents[3]
PARTITIONS = 6  # over all three primaries
PAUSE_S = 4.0  # the brokers wait for 2 s
BETWEEN_S = 3.0  # the cluster is whole again
PATIENCE_S = 90.0


@pytest.fixture
def paused() -> Iterator[tuple[str, Callable[[str], None]]]:
    """The brokers' address, and what gives orders to tests/support/redis_pauses.py."""
    if not os.environ.get("HTTP"):
        pytest.skip("HTTP is not the address of the broker's REST port, so it may not be redis-ledger")
    process = subprocess.Popen(
        [os.environ["PYTHON"], "-m", "tests.support.redis_pauses"],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    said = process.stdout

    def order(text: str) -> None:
        assert process.stdin is not None
        process.stdin.write(text + "\n")
        process.stdin.flush()
        assert said.readline() == "done\n"

    try:
        kafka = said.readline().strip()
        assert kafka, "the brokers did not start"
        yield kafka, order
    finally:
        process.communicate()  # which closes its stdin


@pytest.mark.timeout(400)
def test_an_idempotent_producer_writes_once_while_primaries_are_paused(paused, name):
    kafka, order = paused
    topic = name("paused")
    admin = AdminClient({"bootstrap.servers": kafka})
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(30)
    errors: list[str] = []
    acknowledged: list[int] = []
    written = [0]
    stop = threading.Event()

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            errors.append(str(error))
        else:
            acknowledged.append(int(message.value()))

    def write() -> None:
        producer = Producer({"bootstrap.servers": kafka, "enable.idempotence": True, "linger.ms": 1})
        while not stop.is_set():
            number = written[0]
            producer.produce(topic, b"%d" % number, partition=number % PARTITIONS, on_delivery=delivered)
            written[0] += 1
            producer.poll(0.002)  # the pace of the load
        if producer.flush(PATIENCE_S):
            errors.append("not everything was acknowledged in time")

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        for primary in range(3):
            time.sleep(BETWEEN_S)  # records are written to all of them
            order(f"freeze {primary}")
            time.sleep(PAUSE_S)  # longer than a broker waits
            order(f"thaw {primary}")
        time.sleep(BETWEEN_S)  # and again
    finally:
        stop.set()
    writer.join(2 * PATIENCE_S)
    assert not writer.is_alive()
    assert errors == []
    assert sorted(acknowledged) == list(range(written[0]))
    found = {partition: committed(kafka, topic, partition) for partition in range(PARTITIONS)}
    assert found == {partition: list(range(partition, written[0], PARTITIONS)) for partition in range(PARTITIONS)}


def committed(kafka: str, topic: str, partition: int) -> list[int]:
    settings = {"bootstrap.servers": kafka, "group.id": "afterwards", "enable.partition.eof": True}
    reader = Consumer({**settings, "enable.auto.commit": False, "auto.offset.reset": "error"})
    reader.assign([TopicPartition(topic, partition, 0)])
    values: list[int] = []
    while True:
        (message,) = reader.consume(1, PATIENCE_S)
        if message.error() is None:
            values.append(int(message.value()))
        elif message.error().code() == KafkaError._PARTITION_EOF:
            reader.close()
            return values
        else:
            raise KafkaException(message.error())
