"""The internal topic `__consumer_offsets`: clients can neither make, change, delete, fill nor subscribe to it."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from redis_ledger import AsyncClient
from redis_ledger.errors import InvalidTopicName
from redis_ledger.kafka.protocol.messages import describe_topic_partitions_request as described
from redis_ledger.kafka.protocol.messages.create_partitions_request import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from redis_ledger.kafka.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from redis_ledger.kafka.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from redis_ledger.kafka.protocol.messages.metadata_request import MetadataRequest
from tests.support.broker import one, records, values_of
from tests.support.doors import Doors, doors_of
from tests.support.kafka_admin import create, topic
from tests.support.kafka_batches import batch, fetch, fetched, produce, values

NAME, INVALID_TOPIC = "__consumer_offsets", 17
AT = f"/v1/topics/{NAME}"


@pytest.fixture
async def broker(redis_url, prefix):
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("orders")
        await broker.subscriptions.create("orders", "s")
        yield broker


@pytest.fixture
async def doors(broker):
    async with doors_of(broker) as doors:
        yield doors


async def internal(doors: Doors, broker: Any) -> str:
    """The id of the internal topic, which is there once a client has looked for the coordinator of a group."""
    await doors.kafka.ask(FindCoordinatorRequest(coordinator_keys=["g"]), 4)
    return str((await broker.catalog.get(NAME)).id)


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


REST = {
    "create": ("POST", "/v1/topics", {"name": NAME}),
    "add partitions": ("PATCH", AT, {"partitions": 8}),
    "delete": ("DELETE", AT, None),
    "write": ("POST", f"{AT}/records", {"records": [{"text": "a"}]}),
    "write later": ("POST", f"{AT}/records", {"records": [{"text": "a", "deliver_after": "1h"}]}),
    "write in a step": ("POST", "/v1/transactions:execute", {"records": [{"topic": NAME, "records": [{"text": "a"}]}]}),
    "subscribe": ("POST", f"{AT}/subscriptions", {"name": "s"}),
    "dead letters": ("POST", "/v1/topics/orders/subscriptions/s:deadLetters", {"max_deliveries": 3, "topic": NAME}),
}  # fmt: skip


@pytest.mark.parametrize("is_there", [True, False], ids=["there", "not yet"])
@pytest.mark.parametrize("act", REST)
async def test_rest_refuses_to_make_change_fill_or_delete_the_internal_topic(broker, doors, act, is_there):
    """OB-28"""
    before = await internal(doors, broker) if is_there else ""
    method, path, body = REST[act]
    answer = await doors.http.request(method, path, json=body)
    assert code(answer) == (400, "invalid_topic_name"), answer.text
    there = {entry.name: entry.id for entry in await broker.catalog.list()}
    assert there.get(NAME, "") == before
    if is_there:
        assert await broker.subscriptions.list(NAME) == []
        assert await values_of(broker, NAME, isolation="read_uncommitted") == []


async def test_the_sdk_refuses_the_same(broker, doors):
    """OB-28: subscriptions and consumers as well."""
    before, sdk = await internal(doors, broker), doors.sdk
    consumer = sdk.consumer(NAME, "s")
    for act in (
        sdk.topics.create(NAME),
        sdk.topics.grow(NAME, 8),
        sdk.topics.delete(NAME),
        sdk.subscriptions.create(NAME, "s"),
        consumer.receive(wait_ms=0),
    ):
        with pytest.raises(InvalidTopicName):
            await act
    with pytest.raises(InvalidTopicName):
        async with sdk.producer(NAME) as producer:
            await producer.send("a")
    with pytest.raises(InvalidTopicName):
        await broker.records.produce(NAME, records("a"))
    assert (await broker.catalog.get(NAME, fresh=True)).id == before
    assert await broker.subscriptions.list(NAME) == []


async def test_kafka_clients_can_neither_make_change_fill_nor_delete_it(broker, doors):
    """OB-28: and a consumer of it gets nothing."""
    kafka = doors.kafka
    before = ""
    for is_there in (False, True):
        before = await internal(doors, broker) if is_there else ""
        for validate_only in (True, False):
            (made,) = await create(kafka, topic(NAME, 3), validate_only=validate_only)
            assert made.error_code == INVALID_TOPIC
        grown = await kafka.ask(CreatePartitionsRequest([CreatePartitionsTopic(NAME, 3)], 1_000), 3)
        assert grown.results[0].error_code == INVALID_TOPIC
        sent = await kafka.ask(produce(NAME, batch("a")), 9)
        assert sent.responses[0].partition_responses[0].error_code == INVALID_TOPIC
        assert {entry.name for entry in await broker.catalog.list()} == {"orders"} | ({NAME} if is_there else set())
    by_name, by_id = DeleteTopicState(NAME), DeleteTopicState(None, bytes.fromhex(before))
    for named in (by_name, by_id):
        deleted = await kafka.ask(DeleteTopicsRequest([named], timeout_ms=1_000), 6)
        assert deleted.responses[0].error_code == INVALID_TOPIC
    assert (await broker.catalog.get(NAME, fresh=True)).id == before
    assert values(fetched(await kafka.ask(fetch(NAME), 12))) == []


async def names(sdk: AsyncClient, **more: bool) -> list[str]:
    return [each.name for each in await sdk.topics.list(**more)]


async def test_lists_leave_it_out_unless_they_are_asked_for_it_and_kafka_shows_it_as_internal(broker, doors):
    """OB-28"""
    http, sdk, kafka = doors
    await internal(doors, broker)
    for query, shown in (({}, ["orders"]), ({"internal": "true"}, [NAME, "orders"])):
        listed = (await http.get("/v1/topics", params=query)).json()["topics"]
        assert [each["name"] for each in listed] == shown
    assert await names(sdk) == ["orders"]
    assert await names(sdk, internal=True) == [NAME, "orders"]
    assert (await http.get(AT)).json()["partitions"] == 1
    asked = await kafka.ask(MetadataRequest(None), 12)
    assert {each.name: each.is_internal for each in asked.topics} == {NAME: True, "orders": False}
    for request in (
        described.DescribeTopicPartitionsRequest(),
        described.DescribeTopicPartitionsRequest([described.TopicRequest(each) for each in (NAME, "orders")]),
    ):
        answer = await kafka.ask(request, 0)
        assert {each.name: each.is_internal for each in answer.topics} == {NAME: True, "orders": False}
