# mypy: disable-error-code="import-not-found"
"""Transactions of small batches in flight together, against one, two and three brokers: no gap, nothing twice.

Six records over three partitions, each record a batch of its own: a partition's leader gets several batches of a
transaction before it has answered the first, and another broker ends the transaction.

Each case has brokers of its own, of redis-ledger; beside a Kafka that is tested it skips.  TRANSACTIONS: how many each
runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.compat.rolled import Brokers

PARTITIONS, RECORDS = 3, 6
STEP_S = 30.0
TRANSACTIONS = int(os.environ.get("TRANSACTIONS") or (100 if os.environ.get("QUICK") == "1" else 1_000))


@pytest.fixture(params=[1, 2, 3], ids=["one_broker", "two_brokers", "three_brokers"])
def own(request: Any) -> Iterator[str]:
    """The addresses of so many brokers."""
    if not os.environ.get("HTTP"):
        pytest.skip("HTTP is not the address of the broker's REST port, so it may not be redis-ledger")
    brokers = Brokers(request.param)
    try:
        yield brokers.kafka
    finally:
        brokers.clean_up()


@pytest.mark.timeout(400)
def test_concurrent_small_batches_do_not_fail_transactions(own: str, name: Callable[..., str]) -> None:
    topic = name("small")
    admin = AdminClient({"bootstrap.servers": own})
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(15)
    failed: list[KafkaError] = []
    one = Producer(
        {"bootstrap.servers": own, "transactional.id": topic, "linger.ms": 0, "batch.num.messages": 1,
         "error_cb": lambda error: failed.append(error) if error.fatal() else None}
    )  # fmt: skip
    one.init_transactions(STEP_S)
    expected: dict[int, list[bytes]] = {number: [] for number in range(PARTITIONS)}
    for number in range(TRANSACTIONS):
        one.begin_transaction()
        for record in range(RECORDS):
            value = b"%d-%d" % (number, record)
            one.produce(topic, value, partition=record % PARTITIONS)
            expected[record % PARTITIONS].append(value)
            one.poll(0.002 if number % 2 else 0)  # in every other transaction batches leave one after the other
        one.commit_transaction(STEP_S)
    assert failed == []
    assert {number: committed(own, topic, number) for number in range(PARTITIONS)} == expected


def committed(kafka: str, topic: str, partition: int) -> list[bytes]:
    """The values of a partition, in order."""
    reader = Consumer(
        {"bootstrap.servers": kafka, "group.id": "afterwards", "enable.partition.eof": True,
         "enable.auto.commit": False, "isolation.level": "read_committed"}
    )  # fmt: skip
    reader.assign([TopicPartition(topic, partition, 0)])
    values: list[bytes] = []
    while True:
        (message,) = reader.consume(1, STEP_S)
        if message.error() is None:
            values.append(message.value())
        elif message.error().code() == KafkaError._PARTITION_EOF:
            reader.close()
            return values
        else:
            raise KafkaException(message.error())
