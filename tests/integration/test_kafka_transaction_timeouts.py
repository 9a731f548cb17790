"""Requests of a Kafka producer whose transaction was ended by its timeout or by an administrator: Kafka's own codes.

Java 4 and franz-go abort after INVALID_PRODUCER_EPOCH and go on under the next epoch (KIP-588, KIP-890).
"""

from __future__ import annotations

from typing import Any

import pytest

from redis_ledger.kafka.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from redis_ledger.kafka.protocol.messages.end_txn_request import EndTxnRequest
from redis_ledger.kafka.protocol.messages.init_producer_id_request import InitProducerIdRequest
from tests.support.broker import SWEPT_S_MAX, eventually, one, two, values_of
from tests.support.kafka_batches import batch, produce, produced
from tests.support.kafka_client import BrokerClient, KafkaClient, listening
from tests.support.kafka_transactional import NEW, OLD, Transactional

pytestmark = pytest.mark.usefixtures("both_ways")

INVALID_EPOCH, INVALID_TXN_STATE, FENCED = 47, 48, 90


@pytest.fixture
async def client(redis_url, prefix):
    async with one(redis_url, prefix) as broker, listening(broker) as address, BrokerClient(broker, address) as client:
        await broker.topics.create("t", partitions=2)
        yield client


async def lapsed(client: Any, version: int, how: str) -> Transactional:
    """A producer whose transaction was ended without it."""
    broker = client.broker
    producer = await Transactional(client, "slow", version).init(1_000 if how == "timeout" else 30_000)
    assert await producer.send("t", "late") == 0
    if how == "administrator":
        (open_one,) = await broker.transactions.list("open")
        await broker.transactions.abort(open_one.id)
    assert await eventually(lambda: broker.transactions.list("open"), [], within_s=1 + SWEPT_S_MAX) == []
    return producer


async def send_more(producer: Transactional, *, version: int | None = None) -> int:
    data = batch("more", producer=(producer.pid, producer.epoch, 1), transactional=True)
    request = produce("t", data, transactional_id=producer.name)
    return produced(await producer.client.ask(request, version or producer.version)).error_code


async def add(producer: Transactional, version: int, partition: int) -> int:
    topics = [AddPartitionsToTxnTopic("t", [partition])]
    request = AddPartitionsToTxnRequest([], producer.name, producer.pid, producer.epoch, topics)
    answer = await producer.client.ask(request, version)
    return int(answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)


async def end(producer: Transactional, version: int, *, commit: bool) -> tuple[int, int, int]:
    """The error code, producer id and epoch of the response."""
    request = EndTxnRequest(producer.name, producer.pid, producer.epoch, commit)
    answer = await producer.client.ask(request, version)
    return answer.error_code, answer.producer_id, answer.producer_epoch


@pytest.mark.parametrize("how", ["timeout", "administrator"])
async def test_producer_of_kip_890_aborts_and_goes_on_under_the_next_epoch(client, how):
    producer = await lapsed(client, NEW, how)
    pid, epoch = producer.pid, producer.epoch
    assert await send_more(producer) == INVALID_EPOCH
    assert (await end(producer, 5, commit=True))[0] == INVALID_TXN_STATE
    # Its abort is answered as if it had ended the transaction, also when it is repeated
    assert [await end(producer, 5, commit=False) for _ in range(2)] == [(0, pid, epoch + 1)] * 2
    assert await producer.end(commit=False) == 0
    assert (producer.pid, producer.epoch) == (pid, epoch + 1)
    assert await producer.send("t", "next") == 0
    assert await producer.end() == 0
    assert await values_of(client.broker, "t") == ["next"]


@pytest.mark.parametrize("how", ["timeout", "administrator"])
async def test_producer_of_earlier_versions_is_fenced(client, how):
    producer = await lapsed(client, OLD, how)
    # Its partitions are refused at once, whether they were added before or not
    assert [await add(producer, version, number) for version, number in ((1, 0), (2, 0), (3, 1))] == [
        INVALID_EPOCH,
        FENCED,
        FENCED,
    ]
    assert await send_more(producer, version=7) == INVALID_EPOCH
    assert [(await end(producer, version, commit=False))[0] for version in (1, 2)] == [INVALID_EPOCH, FENCED]
    assert (await end(producer, 2, commit=True))[0] == FENCED
    # It may begin again with what it has (KIP-588)
    answer = await client.ask(InitProducerIdRequest("slow", 30_000, producer.pid, producer.epoch), 4)
    assert (answer.error_code, answer.producer_epoch) == (0, producer.epoch + 1)
    assert await values_of(client.broker, "t") == []


async def test_abort_of_a_lapsed_transaction_is_recognised_by_any_broker(redis_url, prefix):
    async with two(redis_url, prefix) as (first, second):
        await first.topics.create("t", partitions=2)
        async with listening(first) as address, BrokerClient(first, address) as client:
            producer = await lapsed(client, NEW, "administrator")
            async with listening(second) as other, KafkaClient(other) as elsewhere:
                producer.client = elsewhere
                assert await send_more(producer) == INVALID_EPOCH
                assert await end(producer, 5, commit=False) == (0, producer.pid, producer.epoch + 1)


async def test_late_requests_of_an_earlier_transaction_get_kafka_s_codes(client):
    producer = await Transactional(client, "pay", NEW).init()
    assert await producer.send("t", "first") == 0
    assert (await end(producer, 5, commit=True))[0] == 0
    # While the next transaction has not begun, a contradicting end is an error of the client; a late batch is fenced
    assert (await end(producer, 5, commit=False))[0] == INVALID_TXN_STATE
    assert await send_more(producer) == INVALID_EPOCH
    # Afterwards the end of the first one is fenced
    late, producer.epoch = producer.epoch, producer.epoch + 1
    producer.sequences.clear()
    assert await producer.send("t", "second") == 0
    producer.epoch = late
    assert (await end(producer, 5, commit=False))[0] == FENCED
    assert await send_more(producer) == INVALID_EPOCH
    assert await values_of(client.broker, "t") == ["first"]
