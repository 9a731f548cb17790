"""Leader epochs over Kafka's protocol, of a partition whose Redis has lost records (KIP-320)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.cluster.rollbacks import take_over_command
from redis_ledger.kafka.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from redis_ledger.kafka.protocol.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from redis_ledger.kafka.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from redis_ledger.kafka.protocol.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from redis_ledger.ledger.answered_offsets import AnsweredEnd
from redis_ledger.ledger.leader_epochs import GAP
from redis_ledger.records.batch import read_header
from redis_ledger.store.keys import CatalogKeys
from tests.support.broker import one, records
from tests.support.kafka_client import KafkaClient, listening

FENCED = 74
FIRST = 9 + GAP  # of epoch 1, in which two records follow its marker
END = FIRST + 3


@pytest.fixture
async def broker(redis_url: str, prefix: str) -> AsyncIterator[Broker]:
    """Three records in epoch 0, of nine that were answered, and two in epoch 1."""
    async with one(redis_url, prefix) as made:
        await made.topics.create("orders", 1)
        await made.records.produce("orders", records("a", "b", "c"))
        partition = await made.catalog.partition("orders", 0)
        known = AnsweredEnd("orders", 0, partition.topic_id)
        known.learn(0, 9)
        await made.store.command(
            *take_over_command(partition.keys, known, made.clock.now_ms()), key=partition.keys.state
        )
        await made.records.produce("orders", records("d", "e"))
        yield made


@pytest.fixture
async def client(broker: Broker) -> AsyncIterator[KafkaClient]:
    async with listening(broker) as address, KafkaClient(address) as made:
        yield made


@pytest.mark.parametrize(
    ("current", "asked", "found"),
    [
        (-1, 0, (0, 0, 3)),
        (1, 0, (0, 0, 3)),
        (1, 1, (0, 1, END)),
        (1, 2, (0, -1, -1)),
        (0, 0, (FENCED, -1, -1)),
    ],
)
async def test_an_epoch_ends_where_its_records_survived(client: KafkaClient, current: int, asked: int, found: Any):
    wanted = OffsetForLeaderTopic("orders", [OffsetForLeaderPartition(0, current, asked)])
    (answer,) = (await client.ask(OffsetForLeaderEpochRequest(-1, [wanted]), 4)).topics[0].partitions
    assert (answer.error_code, answer.leader_epoch, answer.end_offset) == found


async def fetched(client: KafkaClient, offset: int, *, current: int = 1, last: int = -1, version: int = 12) -> Any:
    partition = FetchPartition(0, current, offset, last, partition_max_bytes=1 << 20)
    request = FetchRequest(
        max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, topics=[FetchTopic("orders", partitions=[partition])]
    )
    return (await client.ask(request, version)).responses[0].partitions[0]


async def test_each_batch_has_the_epoch_in_which_it_was_appended(client: KafkaClient):
    found, data = [], bytes((await fetched(client, 0)).records)
    while data:
        header = read_header(data)
        found.append((header.base_offset, header.leader_epoch))
        data = data[header.size :]
    assert found == [(0, 0), (FIRST, 1), (FIRST + 1, 1)]


@pytest.mark.parametrize(
    ("offset", "last", "diverges"),
    [(3, 0, None), (2, 0, None), (4, 0, (0, 3)), (9, 0, (0, 3)), (END, 0, (0, 3)), (FIRST, 1, None), (9, -1, None)],
)
async def test_a_position_that_was_lost_diverges(client: KafkaClient, offset: int, last: int, diverges: Any):
    answer = await fetched(client, offset, last=last)
    got = answer.diverging_epoch
    assert (None if got is None or got.epoch < 0 else (got.epoch, got.end_offset)) == diverges
    assert answer.error_code == 0
    assert bool(answer.records) == (diverges is None and offset < END)


async def test_a_client_of_the_epoch_before_is_fenced(client: KafkaClient):
    assert (await fetched(client, 3, current=0)).error_code == FENCED


@pytest.mark.parametrize(("timestamp", "offset", "epoch"), [(-2, 0, 0), (-1, END, 1)])
async def test_offsets_are_listed_with_their_epoch(client: KafkaClient, timestamp: int, offset: int, epoch: int):
    wanted = ListOffsetsTopic("orders", [ListOffsetsPartition(0, -1, timestamp)])
    (answer,) = (await client.ask(ListOffsetsRequest(-1, 0, [wanted]), 7)).topics[0].partitions
    assert (answer.error_code, answer.offset, answer.leader_epoch) == (0, offset, epoch)


async def test_metadata_has_the_epoch_also_at_a_broker_that_has_not_used_it(redis_url, prefix, broker, client):
    async def epochs(client: KafkaClient) -> list[int]:
        request = MetadataRequest([MetadataRequestTopic(name="orders")])
        return [each.leader_epoch for each in (await client.ask(request, 9)).topics[0].partitions]

    assert await epochs(client) == [1]
    topic = await broker.catalog.get("orders")
    await broker.leader_epochs.store({f"{topic.id}:0": "1"})
    async with one(redis_url, prefix) as other, listening(other) as address, KafkaClient(address) as asks_other:
        assert await epochs(asks_other) == [1]


async def test_the_epochs_of_a_topic_go_with_it(broker: Broker):
    orders = (await broker.catalog.get("orders")).id
    other = await broker.topics.create("other", 1)
    await broker.leader_epochs.store({f"{orders}:0": "1", f"{other.id}:0": "2"})
    await broker.topics.delete("orders")
    table = CatalogKeys(broker.store.prefix).epochs
    rows = await broker.store.command("HGETALL", table, key=table)
    assert [field for field in rows[::2] if field] == [f"{other.id}:0".encode()]
    assert broker.leader_epochs.of(other.id, 0) == 2
