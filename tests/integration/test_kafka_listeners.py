"""Brokers with several Kafka listeners: a client gets only addresses of the listener it connected to."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from typing import NamedTuple

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.cluster.live_brokers import LiveBrokers
from redis_ledger.kafka.protocol.messages.describe_cluster_request import DescribeClusterRequest
from redis_ledger.kafka.protocol.messages.describe_topic_partitions_request import DescribeTopicPartitionsRequest
from redis_ledger.kafka.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from redis_ledger.kafka.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tests.support.broker import one
from tests.support.kafka_client import KafkaClient, listening_at

NOWHERE = "192.0.2.1:9"  # reserved for documentation (RFC 5737): no host answers
COORDINATOR_NOT_AVAILABLE = 15
GROUPS = [f"readers-{number}" for number in range(16)]  # some fall to either of two brokers
Address = tuple[str, int]


class Node(NamedTuple):
    broker: Broker
    at: dict[str, Address]


@contextlib.asynccontextmanager
async def cluster(redis_url: str, prefix: str, *listeners: dict[str, str]) -> AsyncIterator[list[Node]]:
    """A broker for each, with these listeners and advertised addresses."""
    async with contextlib.AsyncExitStack() as stack:
        nodes = []
        for number, each in enumerate(listeners):
            broker = await stack.enter_async_context(one(redis_url, prefix, name=f"b{number}"))
            nodes.append(Node(broker, await stack.enter_async_context(listening_at(broker, each))))
        for node in nodes:
            await node.broker.live_brokers.send_heartbeat()
        yield nodes


async def advertised(address: Address) -> dict[str, set[Address]]:
    """All addresses of brokers in the replies to a client, by API."""
    async with KafkaClient(address) as client:
        metadata = await client.ask(MetadataRequest([MetadataRequestTopic(name="orders")]), 12)
        described = await client.ask(DescribeClusterRequest(), 1)
        found = await client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=GROUPS), 4)
        writers = await client.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=GROUPS), 4)
        topics = await client.ask(DescribeTopicPartitionsRequest(), 0)
    ids = {node.node_id: (node.host, node.port) for node in metadata.brokers}
    return {
        "metadata": {(node.host, node.port) for node in metadata.brokers},
        "leaders": {ids[part.leader_id] for topic in metadata.topics for part in topic.partitions},
        "described": {(node.host, node.port) for node in described.brokers},
        "groups": {(each.host, each.port) for each in found.coordinators},
        "writers": {(each.host, each.port) for each in writers.coordinators},
        "topics": {ids[part.leader_id] for topic in topics.topics for part in topic.partitions},
    }


async def test_every_answer_names_the_listener_that_the_client_came_in_by(redis_url, prefix):
    two = {"internal": "", "external": ""}
    async with cluster(redis_url, prefix, two, two) as nodes:
        await nodes[0].broker.topics.create("orders", 8)
        for name in two:
            here = {node.at[name] for node in nodes}
            for node in nodes:
                assert await advertised(node.at[name]) == dict.fromkeys(
                    ("metadata", "leaders", "described", "groups", "writers", "topics"), here
                )


@pytest.mark.parametrize("way", ["internal", "external"])
async def test_a_client_that_reaches_one_listener_only_is_served_in_full(redis_url, prefix, way):
    # Given two brokers of which only one listener each can be reached
    listeners = {name: "" if name == way else NOWHERE for name in ("internal", "external")}
    async with cluster(redis_url, prefix, listeners, listeners) as nodes:
        await nodes[0].broker.topics.create("orders", 4)
        begin = "{}:{}".format(*nodes[0].at[way])
        # When a real client writes in a transaction to each partition, and reads them in a group
        async with AIOKafkaProducer(bootstrap_servers=begin, transactional_id="writer") as producer:
            async with producer.transaction():
                for number in range(4):
                    await producer.send_and_wait("orders", str(number).encode(), partition=number)
        consumer = AIOKafkaConsumer(
            "orders", bootstrap_servers=begin, group_id="readers", auto_offset_reset="earliest",
            isolation_level="read_committed",
        )  # fmt: skip
        async with consumer:
            seen = sorted([(await anext(consumer)).value for _ in range(4)])
            await consumer.commit()
            committed = [await consumer.committed(TopicPartition("orders", number)) for number in range(4)]
        # Then no advertised address led elsewhere
        assert seen == [b"0", b"1", b"2", b"3"]
        assert all(committed)


async def test_a_broker_without_the_listener_is_left_out_and_its_groups_have_no_coordinator_there(redis_url, prefix):
    async with cluster(redis_url, prefix, {"internal": "", "external": ""}, {"internal": ""}) as (both, inner):
        await both.broker.topics.create("orders", 4)
        async with KafkaClient(both.at["external"]) as client:
            metadata = await client.ask(MetadataRequest([MetadataRequestTopic(name="orders")]), 12)
            assert [(node.host, node.port) for node in metadata.brokers] == [both.at["external"]]
            # Any broker serves any partition, so each has a leader
            assert {part.leader_id for part in metadata.topics[0].partitions} == {both.broker.live_brokers.node_id}
            found = await client.ask(FindCoordinatorRequest(coordinator_keys=GROUPS), 4)
            answers = {each.key: (each.error_code, each.node_id) for each in found.coordinators}
        owners = {name: node.id for name in GROUPS if (node := both.broker.live_brokers.assigned(name))}
        assert set(owners.values()) == {both.broker.live_brokers.node_id, inner.broker.live_brokers.node_id}
        assert answers == {
            name: (0, node) if node == both.broker.live_brokers.node_id else (COORDINATOR_NOT_AVAILABLE, -1)
            for name, node in owners.items()
        }


@pytest.mark.parametrize("names", [("internal", ""), ("", "internal")])
async def test_while_brokers_are_given_names_one_by_one_all_are_seen_by_their_first_listener(redis_url, prefix, names):
    # Given one that has names already and one that has not, in either order
    having = {"internal": {"internal": "", "external": ""}, "": {"": ""}}
    async with cluster(redis_url, prefix, *(having[name] for name in names)) as nodes:
        await nodes[0].broker.topics.create("orders", 4)
        main = {node.at[name] for node, name in zip(nodes, names, strict=True)}
        for node, name in zip(nodes, names, strict=True):
            assert (await advertised(node.at[name]))["metadata"] == main
        # And the further listener is that of those who have it
        named = nodes[names.index("internal")]
        async with KafkaClient(named.at["external"]) as client:
            metadata = await client.ask(MetadataRequest([]), 12)
        assert [(each.host, each.port) for each in metadata.brokers] == [named.at["external"]]


async def test_a_broker_that_leaves_sends_clients_on_before_it_is_gone_from_every_listener(redis_url, prefix):
    two = {"internal": "", "external": ""}
    async with cluster(redis_url, prefix, two, two) as (first, second):
        await first.broker.topics.create("orders", 4)
        await first.broker.live_brokers.leave()
        await second.broker.live_brokers.send_heartbeat()
        for name in two:
            for node in (first, second):
                seen = await advertised(node.at[name])
                # librdkafka may wait for ever for a coordinator that has gone without having sent it on
                assert seen["metadata"] == seen["described"] == {first.at[name], second.at[name]}
                for what in ("leaders", "groups", "writers", "topics"):
                    assert seen[what] == {second.at[name]}, what
        await first.broker.live_brokers.hide()
        await second.broker.live_brokers.send_heartbeat()
        for name in two:
            for node in (first, second):
                assert (await advertised(node.at[name]))["metadata"] == {second.at[name]}


async def test_last_draining_broker_is_not_advertised_to_new_clients(redis_url, prefix):
    async with one(redis_url, prefix, name="last") as last, one(redis_url, prefix, name="next") as after:
        async with listening_at(last, {"": ""}):
            await after.live_brokers.send_heartbeat()
            assert [node.name for node in after.live_brokers.advertised()] == [last.live_brokers.name]
        await after.live_brokers.send_heartbeat()
        assert list(after.live_brokers.advertised()) == []


async def test_restarted_broker_keeps_its_node_id_by_its_first_address(redis_url, prefix):
    async with one(redis_url, prefix) as other, one(redis_url, prefix) as after:
        # Given a broker that was killed a moment ago
        before = LiveBrokers(other.store, "before", "")
        await before.announce({"": "a:9092"})
        await other.live_brokers.announce({"internal": "b:9092"})
        # When the next one has come up, and then listens
        await after.live_brokers.announce({"internal": "a:9092", "external": "a.example:9094"})
        # Then it is the same node to clients, and the only one there
        assert after.live_brokers.node_id == before.node_id
        await other.live_brokers.send_heartbeat()
        assert [(node.id, node.kafka_host) for node in other.live_brokers.nodes("external")] == [
            (before.node_id, "a.example")
        ]
        assert [node.kafka_host for node in other.live_brokers.nodes("internal")].count("a") == 1


@pytest.mark.parametrize("brokers", [2, 3, 5])
async def test_names_that_differ_in_a_digit_fall_to_all_brokers_alike(redis_url, prefix, brokers):
    async with one(redis_url, prefix) as broker:
        others = [LiveBrokers(broker.store, f"b{number}", "") for number in range(brokers)]
        for number, each in enumerate(others):
            await each.announce({"": f"b{number}:9092"})
        await others[0].send_heartbeat()
        fallen = Counter(node.name for n in range(200) if (node := others[0].assigned(f"workers-{n}")))
    assert len(fallen) == brokers
    assert min(fallen.values()) > 200 / brokers / 2
