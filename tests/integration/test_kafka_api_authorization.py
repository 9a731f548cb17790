"""Authorization at the Kafka port: revoked rules, hidden names, and authorized operations."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from redis_ledger.auth.acl import OPERATIONS_OF, Filter, Op, Resource
from redis_ledger.kafka.protocol.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from redis_ledger.kafka.protocol.messages.consumer_protocol_assignment import (
    ConsumerProtocolAssignment,
    TopicPartition,
)
from redis_ledger.kafka.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from redis_ledger.kafka.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from redis_ledger.kafka.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from redis_ledger.kafka.protocol.messages.describe_cluster_request import DescribeClusterRequest
from redis_ledger.kafka.protocol.messages.describe_groups_request import DescribeGroupsRequest
from redis_ledger.kafka.protocol.messages.fetch_request import FetchRequest
from redis_ledger.kafka.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from redis_ledger.kafka.protocol.primitives import NO_UUID
from tests.support import kafka_codec
from tests.support.consumer_members import Member as Consumer
from tests.support.kafka_batches import batch, fetch, fetched, produce, produced
from tests.support.kafka_groups import QUICK, Member
from tests.support.kafka_transactional import NEW, Transactional
from tests.support.secured_kafka import Secured, secured
from tests.support.several_partitions import codes, commit_offsets

TOPIC, GROUP, TRANSACTION, UNKNOWN_TOPIC, UNKNOWN_ID = 29, 30, 53, 3, 100
INVALID_PRODUCER = (47, 48, 49, 59, 90)  # fenced, invalid state, id mapping, unknown producer
NOT_REQUESTED = -(1 << 31)


@pytest.fixture
async def world(redis_url, prefix) -> AsyncIterator[Secured]:
    async with secured(redis_url, prefix, **QUICK) as opened:
        for name in ("orders", "secret"):
            await opened.broker.topics.create(name)
        yield opened


async def revoke(world: Secured, resource: Resource, name: str, operation: Op) -> None:
    assert (await world.broker.security.remove_rules([Filter(resource, name, operation=operation)]))[0]


async def metadata(client: Any, *names: str, version: int = 12, **more: Any) -> Any:
    topics = [MetadataRequestTopic(NO_UUID, name) for name in names] if names else None
    return await client.ask(MetadataRequest(topics, **more), version)


def bits(*operations: Op) -> int:
    return sum(1 << operation for operation in operations)


# -- taken back --------------------------------------------------------------------------------------------------------


async def test_fetch_session_pauses_without_read_permission(world):
    await world.allow("ada", Op.READ, Resource.TOPIC, "orders")
    ada, root = await world.client("ada"), await world.client("root")
    first = await ada.ask(fetch("orders", session=(0, 0)), 12)
    assert (first.error_code, fetched(first).error_code) == (0, 0)

    async def again(epoch: int) -> Any:
        return await ada.ask(FetchRequest(max_bytes=1 << 20, session_id=first.session_id, session_epoch=epoch), 12)

    assert (await again(1)).responses == [], "nothing new"
    await revoke(world, Resource.TOPIC, "orders", Op.READ)
    assert produced(await root.ask(produce("orders", batch("a")), 9)).error_code == 0
    for epoch in (2, 3):
        refused: Any = fetched(await again(epoch))
        assert (refused.error_code, bytes(refused.records or b"")) == (TOPIC, b"")
    await world.allow("ada", Op.READ, Resource.TOPIC, "orders")
    given = fetched(await again(4))
    assert (given.error_code, bool(given.records)) == (0, True)


async def test_waiting_reader_gets_nothing_after_its_permission_is_removed(world):
    await world.allow("ada", Op.READ, Resource.TOPIC, "orders")
    ada, root = await world.client("ada"), await world.client("root")
    waiting = asyncio.create_task(ada.ask(fetch("orders", wait_ms=10_000), 12))
    while not world.broker.partition_fetch._waiters._channels:
        await asyncio.sleep(0.01)  # until it waits
    await revoke(world, Resource.TOPIC, "orders", Op.READ)
    assert produced(await root.ask(produce("orders", batch("a")), 9)).error_code == 0
    refused: Any = fetched(await waiting)
    assert (refused.error_code, bytes(refused.records or b"")) == (TOPIC, b"")


async def test_a_member_that_loses_its_right_gets_an_error_at_the_next_heartbeat(world):
    await world.allow("ada", Op.READ, Resource.GROUP, "g")
    member = Member(await world.client("ada"))
    assert (await member.join()).error_code == 0
    assert (await member.sync({member.id: b"a"})).error_code == 0
    assert await member.beat() == 0
    await revoke(world, Resource.GROUP, "g", Op.READ)
    assert await member.beat() == GROUP
    assert (await member.join()).error_code == GROUP
    assert (await member.leave()).error_code == GROUP


async def test_an_expression_finds_only_topics_that_the_member_may_describe(world):
    await world.allow("ada", Op.READ, Resource.GROUP, "g")
    await world.allow("ada", Op.READ, Resource.TOPIC, "orders")
    ada = Consumer(await world.client("ada"), world.broker, "m1")
    await ada.join(subscribed_topic_regex="(orders|secret)")
    await ada.until({"orders": [0]})
    await world.allow("ada", Op.DESCRIBE, Resource.TOPIC, "secret")
    await ada.until({"orders": [0], "secret": [0]})
    await revoke(world, Resource.TOPIC, "secret", Op.DESCRIBE)
    await ada.until({"orders": [0]})
    assert (await ada.send(0, subscribed_topic_names=["orders", "secret"])).error_code == TOPIC
    await revoke(world, Resource.GROUP, "g", Op.READ)
    assert (await ada.send()).error_code == GROUP


@pytest.mark.parametrize("operation", [Op.DESCRIBE, Op.WRITE])
async def test_offsets_of_a_topic_are_committed_only_with_the_right_to_read_it(world, operation):
    await world.allow("ada", Op.READ, Resource.GROUP, "g")
    await world.allow("ada", operation, Resource.TOPIC, "orders")
    ada, place = await world.client("ada"), ("orders", 0)
    assert codes(await ada.ask(commit_offsets([place], 1), 8)) == {place: TOPIC}
    await world.allow("ada", Op.READ, Resource.TOPIC, "orders")
    assert codes(await ada.ask(commit_offsets([place], 1), 8)) == {place: 0}


# -- hidden ------------------------------------------------------------------------------------------------------------


async def test_undescribable_resources_look_missing(world):
    await world.allow("ada", Op.READ, Resource.TOPIC, "orders")
    ada = await world.client("ada")
    assert [topic.name for topic in (await metadata(ada)).topics] == ["orders"]
    topics = {each.name: each for each in (await metadata(ada, "orders", "secret", "nothing")).topics}
    assert {name: each.error_code for name, each in topics.items()} == {"orders": 0, "secret": TOPIC, "nothing": TOPIC}
    hidden, missing = (topics[name] for name in ("secret", "nothing"))
    assert (hidden.topic_id, hidden.partitions) == (missing.topic_id, missing.partitions) == (NO_UUID, [])
    assert "nothing" not in [topic.name for topic in await world.broker.topics.list()], "auto-creation is not allowed"
    (secret,) = [topic for topic in await world.broker.topics.list() if topic.name == "secret"]
    answer = await ada.ask(MetadataRequest([MetadataRequestTopic(bytes.fromhex(secret.id), None)]), 12)
    assert [(each.error_code, each.name) for each in answer.topics] == [(TOPIC, None)]


async def test_group_description_hides_undescribable_topics(world):
    root = Consumer(await world.client("root"), world.broker, "m1")
    await root.join("secret")
    await root.until({"secret": [0]})
    await world.allow("ada", Op.DESCRIBE, Resource.GROUP, "g")
    ada = await world.client("ada")
    [found] = (await ada.ask(ConsumerGroupDescribeRequest(["g"]), 1)).groups
    assert (found.error_code, found.members) == (TOPIC, [])
    assert "secret" not in found.error_message
    await world.allow("ada", Op.DESCRIBE, Resource.TOPIC, "secret")
    [found] = (await ada.ask(ConsumerGroupDescribeRequest(["g"]), 1)).groups
    assert (found.error_code, len(found.members)) == (0, 1)
    await root.join("secret", "nothing")
    [found] = (await ada.ask(ConsumerGroupDescribeRequest(["g"]), 1)).groups
    assert (found.error_code, found.members) == (TOPIC, [])


async def test_classic_group_is_described_without_topics_that_the_caller_may_not_describe(world):
    for user, topics in (("ada", ["orders", "secret"]), ("bob", ["orders"])):
        await world.allow(user, Op.READ, Resource.GROUP, "g")
        for topic in topics:
            await world.allow(user, Op.READ, Resource.TOPIC, topic)
    wants = kafka_codec.subscription(1, ConsumerProtocolSubscription(["orders"]))
    gets = {topic: kafka_codec.assignment(0, ConsumerProtocolAssignment([TopicPartition(topic, [0])]))
            for topic in ("orders", "secret")}  # fmt: skip
    ada, bob = await world.client("ada"), await world.client("bob")
    members = [Member(ada), Member(await world.client("ada"))]
    await asyncio.gather(*(member.join(wants) for member in members))
    shares = dict(zip((member.id for member in members), gets.values(), strict=True))
    await asyncio.gather(*(member.sync(shares) for member in members))

    async def described(client: Any) -> list[tuple[bytes, bytes]]:
        [found] = (await client.ask(DescribeGroupsRequest(["g"]), 5)).groups
        assert (found.error_code, found.group_state) == (0, "Stable")
        return sorted((each.member_metadata, each.member_assignment) for each in found.members)

    assert await described(ada) == sorted((wants, share) for share in gets.values())
    assert await described(bob) == [(b"", b""), (wants, gets["orders"])]


async def test_undescribable_topic_is_not_revealed_by_a_delete(world):
    ids = {topic.name: bytes.fromhex(topic.id) for topic in await world.broker.topics.list()}
    await world.allow("ada", Op.DESCRIBE, Resource.TOPIC, "orders")
    ada = await world.client("ada")
    asked = [DeleteTopicState(None, ids[name]) for name in ("orders", "secret")]
    asked += [DeleteTopicState(name, NO_UUID) for name in ("secret", "nothing")]
    answers = (await ada.ask(DeleteTopicsRequest(asked), 6)).responses
    assert [(each.name, each.error_code) for each in answers] == [
        ("orders", TOPIC), (None, TOPIC), ("secret", TOPIC), ("nothing", TOPIC),
    ]  # fmt: skip
    assert all("secret" not in (each.error_message or "") for each in answers if each.name is None)
    assert ids.keys() == {topic.name for topic in await world.broker.topics.list()}


async def test_create_on_the_topic_or_the_cluster_permits_creation(world):
    await world.allow("ada", Op.CREATE, Resource.TOPIC, "new-", prefix=True)
    await world.allow("ada", Op.DESCRIBE, Resource.TOPIC, "*")
    await world.allow("bob", Op.CREATE, Resource.CLUSTER)
    await world.allow("bob", Op.DESCRIBE, Resource.TOPIC, "*")
    ada, bob = await world.client("ada"), await world.client("bob")
    for client, name, code in ((ada, "new-1", 0), (ada, "other", TOPIC), (bob, "other", 0)):
        answer = await metadata(client, name, allow_auto_topic_creation=True)
        assert [each.error_code for each in answer.topics] == [code]
    made = (await ada.ask(CreateTopicsRequest([CreatableTopic("new-2", 1, 1)]), 7)).topics[0]
    # As in Kafka, configurations are returned only with DESCRIBE_CONFIGS.
    assert (made.error_code, made.topic_config_error_code, made.configs) == (0, TOPIC, [])
    await world.allow("ada", Op.DESCRIBE_CONFIGS, Resource.TOPIC, "new-3")
    made = (await ada.ask(CreateTopicsRequest([CreatableTopic("new-3", 1, 1)]), 7)).topics[0]
    assert (made.error_code, made.topic_config_error_code, bool(made.configs)) == (0, 0, True)


# -- what one may do ---------------------------------------------------------------------------------------------------


async def test_operations_are_returned_as_bits_on_request(world):
    await world.allow("ada", Op.WRITE, Resource.TOPIC, "orders")
    await world.allow("ada", Op.READ, Resource.GROUP, "g")
    ada, root = await world.client("ada"), await world.client("root")
    everything = [bits(*OPERATIONS_OF[kind] - {Op.ALL}) for kind in (Resource.TOPIC, Resource.CLUSTER)]
    for client, topic, cluster in ((ada, bits(Op.WRITE, Op.DESCRIBE), 0), (root, *everything)):
        answer = await metadata(
            client, "orders", version=10, include_topic_authorized_operations=True,
            include_cluster_authorized_operations=True,
        )  # fmt: skip
        assert (answer.topics[0].topic_authorized_operations, answer.cluster_authorized_operations) == (topic, cluster)
        answer = await client.ask(DescribeClusterRequest(True), 1)
        assert answer.cluster_authorized_operations == cluster
    answer = await metadata(ada, "orders", version=10)
    assert (answer.topics[0].topic_authorized_operations, answer.cluster_authorized_operations) == (NOT_REQUESTED,) * 2
    member = Member(ada)
    assert (await member.join()).error_code == 0
    answer = await ada.ask(DescribeGroupsRequest(["g"], True), 5)
    assert answer.groups[0].authorized_operations == bits(Op.READ, Op.DESCRIBE)


# -- transactions ------------------------------------------------------------------------------------------------------


async def test_a_guessed_producer_id_cannot_write_into_a_transaction(world):
    for user in ("ada", "eve"):
        await world.allow(user, Op.WRITE, Resource.TOPIC, "orders")
        await world.allow(user, Op.WRITE, Resource.TRANSACTIONAL_ID, user)
    ada = await Transactional(await world.client("ada"), "ada", NEW).init()
    assert await ada.send("orders", "hers") == 0
    eve = await Transactional(await world.client("eve"), "eve", NEW).init()
    eve.pid, eve.epoch, eve.sequences = ada.pid, ada.epoch, {("orders", 0): 1}
    assert await eve.send("orders", "not hers") in INVALID_PRODUCER
    eve.name = "ada"
    assert await eve.send("orders", "not hers") == TRANSACTION
    assert await eve.end() == TRANSACTION
    assert await ada.end() == 0
    await world.allow("bob", Op.READ, Resource.TOPIC, "orders")
    answer: Any = fetched(await (await world.client("bob")).ask(fetch("orders"), 12))
    assert b"not hers" not in bytes(answer.records)
    assert b"hers" in bytes(answer.records)
