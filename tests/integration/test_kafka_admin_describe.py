"""Describe requests of Kafka's admin clients, over a socket: brokers, partitions, bytes, epochs, producers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from redis_ledger.broker.types import ProducerSequence
from redis_ledger.kafka.protocol.messages import (
    describe_cluster_request,
    describe_log_dirs_request,
    describe_producers_request,
    describe_topic_partitions_request,
    offset_for_leader_epoch_request,
)
from tests.support.broker import one, records
from tests.support.kafka_admin import (
    INVALID_REQUEST,
    UNKNOWN_TOPIC,
    Cluster,
    serving,
)
from tests.support.kafka_client import KafkaClient, listening


@pytest.fixture
async def cluster(redis_url, prefix) -> AsyncIterator[Cluster]:
    async with serving(redis_url, prefix, num_partitions=2, partitions_max=10) as opened:
        yield opened


@pytest.fixture
def client(cluster) -> Any:
    return cluster.client


@pytest.fixture
def broker(cluster) -> Any:
    return cluster.broker


# -- what is looked at -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(3))
async def test_the_cluster_is_its_live_brokers(client, broker, redis_url, prefix, version):
    async with one(redis_url, prefix) as other, listening(other) as address:
        await broker.live_brokers.send_heartbeat()
        answer = await client.ask(describe_cluster_request.DescribeClusterRequest(), version)
        assert {each.broker_id for each in answer.brokers} == {broker.live_brokers.node_id, other.live_brokers.node_id}
        assert address in {(each.host, each.port) for each in answer.brokers}
        assert answer.controller_id == min(each.broker_id for each in answer.brokers)
        assert answer.cluster_id == broker.live_brokers.cluster_id
        assert answer.error_code == 0


async def test_there_are_no_controllers_to_describe(client):
    request = describe_cluster_request.DescribeClusterRequest
    assert (await client.ask(request(endpoint_type=2), 1)).error_code == 114
    assert (await client.ask(request(endpoint_type=3), 1)).error_code == 115


@pytest.mark.parametrize("version", range(1, 6))
async def test_the_directory_holds_each_partition_at_one_broker(client, broker, redis_url, prefix, version):
    await broker.topics.create("orders", 4)
    await broker.records.produce("orders", records("x" * 100, partition=1))
    async with one(redis_url, prefix) as other, listening(other) as address, KafkaClient(address) as second:
        await broker.live_brokers.send_heartbeat()
        sizes = {}
        for each in (client, second):
            answer = await each.ask(describe_log_dirs_request.DescribeLogDirsRequest(None), version)
            (directory,) = answer.results
            assert (directory.error_code, directory.log_dir) == (0, "redis")
            for found in directory.topics:
                for partition in found.partitions:
                    assert (found.name, partition.partition_index) not in sizes
                    sizes[found.name, partition.partition_index] = partition.partition_size
        assert sizes.keys() == {("orders", n) for n in range(4)}
        assert sizes["orders", 1] > 100 > sizes["orders", 0] == 0


async def test_directory_returns_only_existing_requested_entries(client, broker):
    await broker.topics.create("orders", 2)
    asked = describe_log_dirs_request.DescribableLogDirTopic
    request = describe_log_dirs_request.DescribeLogDirsRequest([asked("orders", [1, 7]), asked("nothing", [0])])
    (directory,) = (await client.ask(request, 4)).results
    assert [(t.name, [p.partition_index for p in t.partitions]) for t in directory.topics] == [("orders", [1])]


async def pages(client: KafkaClient, names: list[str], limit: int) -> list[list[tuple[str, list[int]]]]:
    """Topics with their partitions, page by page."""
    module, cursor, found = describe_topic_partitions_request, None, []
    while True:
        request = module.DescribeTopicPartitionsRequest([module.TopicRequest(name) for name in names], limit, cursor)
        answer = await client.ask(request, 0)
        found.append([(t.name, [p.partition_index for p in t.partitions]) for t in answer.topics])
        if answer.next_cursor is None:
            return found
        cursor = module.Cursor(answer.next_cursor.topic_name, answer.next_cursor.partition_index)


async def test_partitions_are_returned_in_pages_in_topic_order(client, broker):
    for name, partitions in (("b", 3), ("a", 2), ("c", 1)):
        await broker.topics.create(name, partitions)
    everything = [("a", [0, 1]), ("b", [0, 1, 2]), ("c", [0])]
    assert await pages(client, [], 2_000) == [everything]
    assert await pages(client, [], 2) == [[("a", [0, 1])], [("b", [0, 1])], [("b", [2]), ("c", [0])]]
    assert await pages(client, ["c", "a"], 0) == [[("a", [0])], [("a", [1])], [("c", [0])]]


async def test_partition_has_topic_id_and_leader(client, broker):
    made = await broker.topics.create("orders", 1)
    module = describe_topic_partitions_request
    request = module.DescribeTopicPartitionsRequest([module.TopicRequest("orders"), module.TopicRequest("nothing")])
    nothing, orders = (await client.ask(request, 0)).topics
    assert (nothing.name, nothing.error_code, nothing.partitions) == ("nothing", UNKNOWN_TOPIC, [])
    assert orders.topic_id == bytes.fromhex(made.id)
    (partition,) = orders.partitions
    me = broker.live_brokers.node_id
    assert (partition.leader_id, partition.replica_nodes, partition.isr_nodes) == (me, [me], [me])


@pytest.mark.parametrize("cursor", [("b", 0), ("a", -1)])
async def test_a_cursor_that_leads_nowhere_is_refused(client, broker, cursor):
    await broker.topics.create("a", 1)
    module = describe_topic_partitions_request
    request = module.DescribeTopicPartitionsRequest([module.TopicRequest("a")], 10, module.Cursor(*cursor))
    assert [each.error_code for each in (await client.ask(request, 0)).topics] == [INVALID_REQUEST]


@pytest.mark.parametrize("version", range(2, 5))
async def test_an_epoch_ends_at_the_end_of_the_log_or_is_not_known(client, broker, version):
    await broker.topics.create("orders", 1)
    await broker.records.produce("orders", records("a", "b", "c"))
    module = offset_for_leader_epoch_request

    async def ask(current: int, epoch: int, number: int = 0) -> tuple[int, int, int]:
        wanted = module.OffsetForLeaderTopic("orders", [module.OffsetForLeaderPartition(number, current, epoch)])
        (found,) = (await client.ask(module.OffsetForLeaderEpochRequest(-1, [wanted]), version)).topics[0].partitions
        return found.error_code, found.leader_epoch, found.end_offset

    assert await ask(-1, 0) == (0, 0, 3)
    assert await ask(0, 0) == (0, 0, 3)
    assert await ask(0, 1) == (0, -1, -1)
    assert await ask(0, -1) == (0, -1, -1)
    assert await ask(1, 0) == (75, -1, -1)
    assert await ask(-1, 0, number=1) == (UNKNOWN_TOPIC, -1, -1)


async def test_producers_of_a_partition_are_described_with_their_open_transactions(client, broker):
    await broker.topics.create("orders", 1)
    await broker.records.produce("orders", records("a", "b"), producer=ProducerSequence(77, 3, 0))
    txn = (await broker.transactions.begin(60_000)).id
    await broker.records.produce("orders", records("c"), transaction=txn)
    module = describe_producers_request
    request = module.DescribeProducersRequest([module.TopicRequest("orders", [0, 1])])

    async def ask() -> Any:
        return (await client.ask(request, 0)).topics[0].partitions

    known, missing = await ask()
    assert (missing.partition_index, missing.error_code, missing.active_producers) == (1, UNKNOWN_TOPIC, [])
    idempotent, open_one = sorted(known.active_producers, key=lambda each: each.current_txn_start_offset)
    assert (idempotent.producer_id, idempotent.producer_epoch, idempotent.last_sequence) == (77, 3, 1)
    assert idempotent.last_timestamp > 0
    assert (open_one.producer_id, open_one.current_txn_start_offset) == (txn.producer_id, 2)
    await broker.transactions.abort(txn)
    known, _ = await ask()
    assert [each.current_txn_start_offset for each in known.active_producers] == [-1]
