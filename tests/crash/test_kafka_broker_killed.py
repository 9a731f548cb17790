"""A broker is killed while it commits a Kafka transaction over a hundred partitions: the client's EndTxn succeeds at
another broker, and every partition has every record once."""

from __future__ import annotations

import asyncio
import contextlib
import random

import pytest

from redis_ledger.kafka.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from redis_ledger.kafka.protocol.messages.end_txn_request import EndTxnRequest
from redis_ledger.kafka.protocol.messages.init_producer_id_request import InitProducerIdRequest
from redis_ledger.kafka.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.support.broker import one, values_of
from tests.support.kafka_batches import batch
from tests.support.kafka_client import KafkaClient
from tests.support.processes import Serve

PARTITIONS = 100


def address(serve: Serve) -> tuple[str, int]:
    host, _, port = serve.field("kafka").rpartition(":")
    return host, int(port)


async def begun(client: KafkaClient, version: int, value: str) -> tuple[int, int]:
    """A transaction with one record in each partition; producer id and epoch."""
    who = await client.ask(InitProducerIdRequest("wide", 60_000), 4)
    pid, epoch = who.producer_id, who.producer_epoch
    if version < 12:
        topics = [AddPartitionsToTxnTopic("wide", list(range(PARTITIONS)))]
        await client.ask(AddPartitionsToTxnRequest([], "wide", pid, epoch, topics), 3)
    data = batch(value, producer=(pid, epoch, 0), transactional=True)
    slots = [PartitionProduceData(number, data) for number in range(PARTITIONS)]
    answer = await client.ask(
        ProduceRequest("wide", -1, 5_000, [TopicProduceData("wide", partition_data=slots)]), version
    )
    assert {slot.error_code for slot in answer.responses[0].partition_responses} == {0}
    return pid, epoch


@pytest.mark.parametrize("rounds", [2, pytest.param(5, marks=pytest.mark.full)])
@pytest.mark.parametrize("version", [11, 12], ids=["transaction version 1", "transaction version 2"])
async def test_a_commit_over_100_partitions_survives_its_broker(serve, redis_url, prefix, version, rounds):
    chance = random.Random(version)
    end_version = 5 if version >= 12 else 3
    async with one(redis_url, prefix) as judge:
        await judge.topics.create("wide", partitions=PARTITIONS)
        survivor, victim = serve(), serve()
        for number in range(rounds):
            async with KafkaClient(address(victim)) as client, KafkaClient(address(survivor)) as other:
                pid, epoch = await begun(client, version, f"{number}")
                # When the broker dies somewhere in the middle of the commit
                committing = asyncio.create_task(client.ask(EndTxnRequest("wide", pid, epoch, True), end_version))
                await asyncio.sleep(chance.uniform(0, 0.03))
                victim.process.kill()
                with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
                    await committing
                # Then another one gives the answer, and the transaction is over everywhere when it does
                answer = await other.ask(EndTxnRequest("wide", pid, epoch, True), end_version)
                assert answer.error_code == 0
                if end_version == 5:
                    assert (answer.producer_id, answer.producer_epoch) == (pid, epoch + 1)
            seen = await asyncio.gather(*(values_of(judge, "wide", partition) for partition in range(PARTITIONS)))
            assert seen == [[f"{n}" for n in range(number + 1)]] * PARTITIONS
            victim = serve() if number < rounds - 1 else victim
