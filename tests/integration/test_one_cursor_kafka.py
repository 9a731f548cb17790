"""A real Kafka client's group through REST, the SDK and the commands, at another broker than the client's."""

from __future__ import annotations

import json

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from redis_ledger import Client
from redis_ledger.errors import GroupNotEmpty, UnknownSubscription
from tests.support.cli import run
from tests.support.threaded_broker import threaded_broker

PLACE = TopicPartition("t", 0)


@pytest.fixture
def brokers(redis_url, prefix):
    with threaded_broker(redis_url, prefix, 2, kafka=True) as brokers:
        yield brokers


@pytest.fixture
def client(brokers):
    with Client([brokers.urls[1]]) as client:
        client.topics.create("t", 1)
        with client.producer("t") as producer:
            for value in "abcdef":
                producer.send(value, partition=0).result()
        yield client


def address(brokers):
    host, port = brokers.kafka
    return f"{host}:{port}"


async def consumed(brokers, count, group="g"):
    """Reads this many, commits, and returns them, as a member of the group."""
    consumer = AIOKafkaConsumer(
        "t", bootstrap_servers=address(brokers), group_id=group, enable_auto_commit=False,
        auto_offset_reset="earliest",
    )  # fmt: skip
    async with consumer:
        found = [await consumer.getone() for _ in range(count)]
        await consumer.commit({PLACE: found[-1].offset + 1})
        return [each.value.decode() for each in found]


def test_a_group_of_a_kafka_client_is_moved_and_deleted_by_the_sdk_and_by_commands(brokers, client):
    """OB-29"""

    def command(*words):
        ended = run(*words, REDIS_LEDGER_URL=brokers.urls[1])
        assert (ended.code, ended.err) == (0, ""), ended
        return ended.out

    assert brokers.do(consumed(brokers, 4)) == ["a", "b", "c", "d"]
    lag = client.subscriptions.lag("t", "g")
    assert (lag.kind, lag.lag, lag.lag_is_exact, lag.partitions[0].position) == ("kafka", 2, True, 4)
    [listed] = client.subscriptions.lags(name="g").lags
    assert (listed.topic, listed.kind, listed.lag) == ("t", "kafka", 2)
    assert "g  kafka  lag 2" in command("groups", "lag", "t", "g")
    assert json.loads(command("groups", "lags", "--topic", "t", "--json"))["lag"] == 2
    client.subscriptions.seek("t", "g", offsets={0: 1})
    assert brokers.do(consumed(brokers, 2)) == ["b", "c"]
    assert "kafka" in command("groups", "seek", "t", "g", "--to", "earliest")
    assert brokers.do(consumed(brokers, 1)) == ["a"]
    assert "Deleted" in command("groups", "delete", "t", "g", "--yes")
    with pytest.raises(UnknownSubscription):
        client.subscriptions.lag("t", "g")
    assert brokers.do(consumed(brokers, 1)) == ["a"]


def test_a_group_with_a_kafka_member_is_not_moved(brokers, client):
    async def joined():
        consumer = AIOKafkaConsumer("t", bootstrap_servers=address(brokers), group_id="g", auto_offset_reset="earliest")
        await consumer.start()
        await consumer.getone()
        await consumer.commit()
        return consumer

    consumer = brokers.do(joined())
    with pytest.raises(GroupNotEmpty):
        client.subscriptions.seek("t", "g", "latest")
    with pytest.raises(GroupNotEmpty):
        client.subscriptions.delete("t", "g")
    brokers.do(consumer.stop())
    assert client.subscriptions.seek("t", "g", "latest").cursors[0].mark_delete == 6


def test_offsets_of_an_open_kafka_transaction_are_shown_with_their_producer(brokers, client):
    """OB-05: REST, SDK and commands; as those of a subscription."""

    async def opened():
        producer = AIOKafkaProducer(bootstrap_servers=address(brokers), transactional_id="nightly")
        await producer.start()
        await producer.begin_transaction()
        await producer.send_offsets_to_transaction({PLACE: 3}, "g")
        return producer

    brokers.do(consumed(brokers, 1))
    producer = brokers.do(opened())
    client.subscriptions.create("t", "s")
    ended = run("groups", "pending", "t", "g", REDIS_LEDGER_URL=brokers.urls[1])
    assert "nightly" in ended.out
    page = client.subscriptions.pending("t", "g")
    [held] = page.partitions[0].transactions
    assert (page.kind, page.name, held.cumulative, held.transactional_id) == ("kafka", "g", 3, "nightly")
    assert held.producer_id is not None
    assert client.transactions.get(held.transaction).status == "open"
    assert held.since_ms >= client.transactions.get(held.transaction).started_ms
    assert (client.subscriptions.lag("t", "g").lag, client.subscriptions.lag("t", "g").partitions[0].pending) == (5, 1)
    brokers.do(producer.commit_transaction())
    assert client.subscriptions.pending("t", "g").partitions[0].transactions == []
    assert client.subscriptions.lag("t", "g").lag == 3
    brokers.do(producer.stop())
