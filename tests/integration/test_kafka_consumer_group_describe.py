"""Groups of the consumer protocol (KIP-848) in other requests, and heartbeats that are refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from redis_ledger.kafka.protocol.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from redis_ledger.kafka.protocol.messages.delete_groups_request import DeleteGroupsRequest
from redis_ledger.kafka.protocol.messages.describe_groups_request import DescribeGroupsRequest
from redis_ledger.kafka.protocol.messages.heartbeat_request import HeartbeatRequest
from redis_ledger.kafka.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from redis_ledger.kafka.protocol.messages.list_groups_request import ListGroupsRequest
from tests.support.broker import one
from tests.support.consumer_members import (
    INCONSISTENT,
    INVALID_GROUP,
    INVALID_REGEX,
    INVALID_REQUEST,
    NOT_EMPTY,
    NOT_FOUND,
    UNKNOWN_MEMBER,
    UNSUPPORTED_ASSIGNOR,
    Member,
)
from tests.support.kafka_client import KafkaClient, listening


async def test_a_group_is_described_and_listed_as_what_it_is(redis_url, prefix):
    async with one(redis_url, prefix) as broker, listening(broker) as address, KafkaClient(address) as client:
        await broker.topics.create("t", 2)
        a, b = Member(client, broker, "a", instance="i"), Member(client, broker, "b")
        await a.join("t", rack_id="r", server_assignor="range", subscribed_topic_regex="t+")
        await b.join("t")
        # When it is described while it is being brought to its target
        asked = ConsumerGroupDescribeRequest(["g", "unknown", ""])
        found, missing, nameless = (await client.ask(asked, 1)).groups
        # Then members are described with their current and target assignments
        assert (found.error_code, found.group_state, found.assignor_name) == (0, "Reconciling", "range")
        assert (found.group_epoch, found.assignment_epoch) == (2, 2)
        first, second = found.members
        assert (first.member_id, first.instance_id, first.rack_id, first.member_epoch) == ("a", "i", "r", 1)
        assert (first.client_id, first.client_host, first.member_type) == ("test", "/127.0.0.1", 1)
        assert (first.subscribed_topic_names, first.subscribed_topic_regex) == (["t"], "t+")
        assert shown(first.assignment) == [("t", [0, 1])]
        assert shown(first.target_assignment) == [("t", [0])]
        assert (second.member_epoch, shown(second.assignment)) == (2, [])
        assert shown(second.target_assignment) == [("t", [1])]
        assert (missing.error_code, nameless.error_code) == (NOT_FOUND, INVALID_GROUP)
        # and requests for classic groups do not find it, but list it
        (classic,) = (await client.ask(DescribeGroupsRequest(["g"]), 6)).groups
        assert (classic.error_code, classic.group_state) == (NOT_FOUND, "Dead")
        (listed,) = (await client.ask(ListGroupsRequest(types_filter=["CONSUMER"]), 5)).groups
        assert (listed.group_id, listed.protocol_type) == ("g", "consumer")
        assert (listed.group_state, listed.group_type) == ("Reconciling", "consumer")
        assert (await client.ask(ListGroupsRequest(types_filter=["classic"]), 5)).groups == []


def shown(assignment: Any) -> list[tuple[str, Sequence[int]]]:
    return [(topic.topic_name, topic.partitions) for topic in assignment.topic_partitions]


async def test_a_group_can_be_deleted_when_it_is_empty(redis_url, prefix):
    async with one(redis_url, prefix) as broker, listening(broker) as address, KafkaClient(address) as client:
        await broker.topics.create("t", 1)
        a = Member(client, broker, "a")
        await a.join("t")
        (refused,) = (await client.ask(DeleteGroupsRequest(["g"]), 2)).results
        assert refused.error_code == NOT_EMPTY
        await a.send(-1)
        (done,) = (await client.ask(DeleteGroupsRequest(["g"]), 2)).results
        assert done.error_code == 0
        (gone,) = (await client.ask(ConsumerGroupDescribeRequest(["g"]), 1)).groups
        assert gone.error_code == NOT_FOUND


async def test_a_group_has_members_of_one_protocol_only_and_changes_when_it_is_empty(redis_url, prefix):
    settings: Any = {"group_initial_rebalance_delay_ms": 0, "group_session_ms": 60_000}
    async with one(redis_url, prefix, **settings) as broker, listening(broker) as address:
        async with KafkaClient(address) as client:
            await broker.topics.create("t", 1)
            classic = JoinGroupRequest(
                "g", 30_000, 30_000, protocol_type="consumer", protocols=[JoinGroupRequestProtocol("range", b"")]
            )
            # Given a group of the consumer protocol
            a = Member(client, broker, "a")
            await a.join("t")
            # Then classic requests are refused as in Kafka
            assert (await client.ask(classic, 3)).error_code == INCONSISTENT
            assert (await client.ask(HeartbeatRequest("g", 1, "a"), 4)).error_code == UNKNOWN_MEMBER
            # When it is empty, a classic member may have it
            await a.send(-1)
            joined = await client.ask(classic, 3)
            assert (joined.error_code, joined.generation_id) == (0, 2)
            # and then members of the consumer protocol are refused
            asked: Any = {"rebalance_timeout_ms": 1, "topic_partitions": [], "subscribed_topic_names": ["t"]}
            assert (await a.send(0, **asked)).error_code == NOT_FOUND
            (found,) = (await client.ask(ConsumerGroupDescribeRequest(["g"]), 0)).groups
            assert found.error_code == NOT_FOUND


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"subscribed_topic_regex": "("}, INVALID_REGEX),
        ({"server_assignor": "sticky"}, UNSUPPORTED_ASSIGNOR),
        ({"rebalance_timeout_ms": -1}, INVALID_REQUEST),
        ({"topic_partitions": None}, INVALID_REQUEST),
        ({"subscribed_topic_names": None}, INVALID_REQUEST),
        ({"member_id": ""}, INVALID_REQUEST),
        ({"group_id": ""}, INVALID_GROUP),
        ({"epoch": -5}, INVALID_REQUEST),
        ({"epoch": 3}, UNKNOWN_MEMBER),
        ({"epoch": -1}, UNKNOWN_MEMBER),
    ],
)
async def test_a_rule_that_cannot_be_granted_gets_a_code_and_a_message(redis_url, prefix, more, code):
    async with one(redis_url, prefix) as broker, listening(broker) as address, KafkaClient(address) as client:
        asked = {"rebalance_timeout_ms": 1, "topic_partitions": [], "subscribed_topic_names": ["t"], "epoch": 0, **more}
        a = Member(client, broker, asked.pop("member_id", "a"), group=asked.pop("group_id", "g"))
        answer = await a.send(**asked)
        assert answer.error_code == code
        assert answer.error_message


async def test_a_client_of_version_0_is_given_an_id(redis_url, prefix):
    async with one(redis_url, prefix, group_heartbeat_ms=1_234) as broker, listening(broker) as address:
        async with KafkaClient(address) as client:
            await broker.topics.create("t", 1)
            a = Member(client, broker, "")
            assert await a.join("t", version=0) == {"t": [0]}
            assert len(a.name) == 36
            assert (await a.send(version=0)).heartbeat_interval_ms == 1_234
