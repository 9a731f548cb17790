"""Changes by Kafka's admin clients, over a socket: topics, partitions, records."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from redis_ledger.kafka.protocol.messages import (
    create_partitions_request,
    delete_records_request,
    delete_topics_request,
)
from redis_ledger.kafka.protocol.messages.create_topics_request import CreatableReplicaAssignment, CreatableTopic
from redis_ledger.kafka.protocol.primitives import NO_UUID
from tests.support.broker import one, records, values_of
from tests.support.kafka_admin import (
    EXISTS,
    INVALID_CONFIG,
    INVALID_REQUEST,
    UNKNOWN_ID,
    UNKNOWN_TOPIC,
    Cluster,
    create,
    serving,
    topic,
)
from tests.support.kafka_client import KafkaClient


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


# -- CreateTopics ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(2, 8))
async def test_a_topic_that_was_created_is_there_in_every_version(client, broker, version):
    (made,) = await create(client, topic("orders", 3, 1, retention_ms="5"), version=version)
    assert (made.name, made.error_code, made.error_message) == ("orders", 0, None)
    entry = await broker.catalog.get("orders")
    assert (entry.partitions, entry.settings) == (3, {"retention_ms": 5})
    if version >= 5:
        assert (made.num_partitions, made.replication_factor, made.topic_config_error_code) == (3, 1, 0)
        shown = {each.name: (each.value, each.config_source, each.read_only) for each in made.configs}
        assert shown["retention.ms"] == ("5", 1, False)
        assert shown["cleanup.policy"] == ("delete", 5, True)
    if version >= 7:
        assert made.topic_id == bytes.fromhex(entry.id)


async def test_unset_topic_settings_use_the_broker_default(client, broker):
    assigned = CreatableTopic("assigned", -1, -1, [CreatableReplicaAssignment(n, [1]) for n in range(4)])
    answers = await create(client, topic("plain"), assigned, topic("replicated", 1, 3))
    assert {each.name: (each.error_code, each.num_partitions, each.replication_factor) for each in answers} == {
        "plain": (0, 2, 1),
        "assigned": (0, 4, 1),
        "replicated": (0, 1, 1),
    }


async def test_each_topic_of_a_request_is_refused_or_made_by_itself(client, broker):
    await create(client, topic("orders"))
    wrong = [
        topic("orders"), topic("a/b"), topic("none", 0), topic("many", 11), topic("nowhere", 1, 0),
        topic("compacted", cleanup_policy="compact"), topic("odd", retention_ms="-7"), topic("typo", retention="1"),
        topic("void", retention_ms=None), topic("twin"), topic("twin"),
    ]  # fmt: skip
    answers = await create(client, *wrong, topic("good"))
    assert {each.name: each.error_code for each in answers} == {
        "orders": EXISTS, "a/b": 17, "none": 37, "many": 37, "nowhere": 38, "compacted": INVALID_CONFIG,
        "odd": INVALID_CONFIG, "typo": INVALID_CONFIG, "void": INVALID_CONFIG, "twin": INVALID_REQUEST, "good": 0,
    }  # fmt: skip
    assert all(each.error_message for each in answers if each.error_code)
    assert [each.name for each in await broker.catalog.list()] == ["good", "orders"]


PROBLEMS = {  # of one topic each; later ones have all those of the earlier ones too
    "partitions": (topic("new", 0), 37),
    "configuration": (topic("new", 0, cleanup_policy="compact"), INVALID_CONFIG),
    "existence": (topic("orders", 0, cleanup_policy="compact"), EXISTS),
    "name": (topic("or/ders", 0, cleanup_policy="compact"), 17),
}


@pytest.mark.parametrize("validate_only", [False, True])
@pytest.mark.parametrize("problem", PROBLEMS)
async def test_of_several_problems_of_a_topic_the_one_that_kafka_finds_first_is_answered(
    client, broker, problem, validate_only
):
    await create(client, topic("orders"))
    asked, code = PROBLEMS[problem]
    (answer,) = await create(client, asked, validate_only=validate_only)
    assert answer.error_code == code
    assert [each.name for each in await broker.catalog.list()] == ["orders"]


async def test_a_partition_cannot_be_assigned_to_a_broker_that_does_not_exist(client, broker):
    unknown_broker, here = broker.live_brokers.node_id + 1, broker.live_brokers.node_id
    wrong = CreatableTopic("wrong", -1, -1, [CreatableReplicaAssignment(n, [unknown_broker]) for n in range(2)])
    right = CreatableTopic("right", -1, -1, [CreatableReplicaAssignment(n, [here]) for n in range(2)])
    answers = {each.name: each for each in await create(client, wrong, right)}
    assert {name: each.error_code for name, each in answers.items()} == {"wrong": 39, "right": 0}
    assert answers["wrong"].error_message == f"There is no broker {unknown_broker}; the brokers are {here}."


async def test_a_topic_that_is_only_validated_is_not_made(client, broker):
    await create(client, topic("orders"))
    answers = await create(client, topic("orders"), topic("new", 3), topic("big", 11), validate_only=True)
    assert {each.name: each.error_code for each in answers} == {"orders": EXISTS, "new": 0, "big": 37}
    assert next(each for each in answers if each.name == "new").topic_id == NO_UUID
    assert [each.name for each in await broker.catalog.list()] == ["orders"]


# -- DeleteTopics ------------------------------------------------------------------------------------------------------


async def delete(client: KafkaClient, *asked: tuple[str | None, bytes]) -> list[tuple[str | None, int]]:
    request = delete_topics_request.DeleteTopicsRequest(
        [delete_topics_request.DeleteTopicState(*each) for each in asked]
    )
    return [(each.name, each.error_code) for each in (await client.ask(request, 6)).responses]


@pytest.mark.parametrize("version", range(1, 6))
async def test_topics_are_deleted_by_name(client, broker, version):
    await create(client, topic("orders"), topic("kept"))
    request = delete_topics_request.DeleteTopicsRequest(topic_names=["orders", "nothing"])
    answer = await client.ask(request, version)
    assert {each.name: each.error_code for each in answer.responses} == {"orders": 0, "nothing": UNKNOWN_TOPIC}
    assert [each.name for each in await broker.catalog.list()] == ["kept"]


async def test_topics_are_deleted_by_id_and_named_in_the_answer(client, broker):
    a, b = await create(client, topic("a"), topic("b"))
    unknown_id = b"\x07" * 16
    answers = await delete(client, (None, a.topic_id), (b.name, NO_UUID), (None, unknown_id))
    assert sorted(answers, key=str) == sorted([(a.name, 0), (b.name, 0), (None, UNKNOWN_ID)], key=str)
    assert await broker.catalog.list() == []


async def test_a_topic_that_is_named_twice_or_by_both_or_by_nothing_is_not_deleted(client, broker):
    a, b, c = await create(client, topic("a"), topic("b"), topic("c"))
    asked = [("a", NO_UUID), (None, a.topic_id), ("b", NO_UUID), ("b", NO_UUID), ("c", c.topic_id), (None, NO_UUID)]
    assert {code for _, code in await delete(client, *asked)} == {INVALID_REQUEST}
    assert len(await broker.catalog.list()) == 3
    assert b.name == "b"


# -- CreatePartitions --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(4))
async def test_partitions_are_added_and_can_only_become_more(client, broker, version):
    await create(client, topic("orders"), topic("other"))
    wanted = create_partitions_request.CreatePartitionsTopic
    request = create_partitions_request.CreatePartitionsRequest(
        [
            wanted("orders", 5, None),
            wanted("other", 2, None),
            wanted("nothing", 2, None),
        ]
    )
    answer = await client.ask(request, version)
    assert {each.name: each.error_code for each in answer.results} == {
        "orders": 0,
        "other": 37,
        "nothing": UNKNOWN_TOPIC,
    }
    assert await broker.records.produce("orders", records("x", partition=4))
    request = create_partitions_request.CreatePartitionsRequest([wanted("orders", 11, None)])
    assert (await client.ask(request, version)).results[0].error_code == 37, "more than a topic may have"


async def test_partitions_that_are_only_validated_are_not_added(client, broker):
    await create(client, topic("orders"))
    wanted = [create_partitions_request.CreatePartitionsTopic("orders", count, None) for count in (3,)]
    request = create_partitions_request.CreatePartitionsRequest(wanted, 1000, True)
    assert (await client.ask(request, 3)).results[0].error_code == 0
    assert (await broker.catalog.get("orders", fresh=True)).partitions == 2
    twice = create_partitions_request.CreatePartitionsRequest(wanted * 2)
    assert [each.error_code for each in (await client.ask(twice, 3)).results] == [INVALID_REQUEST]


# -- DeleteRecords -----------------------------------------------------------------------------------------------------


async def delete_records(client: KafkaClient, offset: int, number: int = 0, name: str = "orders") -> tuple[int, int]:
    """Low watermark and error code."""
    wanted = delete_records_request.DeleteRecordsTopic(
        name, [delete_records_request.DeleteRecordsPartition(number, offset)]
    )
    answer = await client.ask(delete_records_request.DeleteRecordsRequest([wanted]), 2)
    found = answer.topics[0].partitions[0]
    assert found.partition_index == number
    return found.low_watermark, found.error_code


async def test_records_are_deleted_up_to_an_offset_inside_a_batch(client, broker):
    await broker.topics.create("orders", 1)
    for values in ("abcd", "efgh"):
        await broker.records.produce("orders", records(*values))
    assert await delete_records(client, 6) == (6, 0)
    assert (await (await broker.catalog.partition("orders", 0)).offsets.head()).start_offset == 6
    assert await values_of(broker, "orders", offset=6) == ["g", "h"]
    assert await delete_records(client, 3) == (6, 0), "it never moves back"


async def test_records_are_deleted_to_the_end_and_nothing_beyond(client, broker):
    await broker.topics.create("orders", 1)
    for n in range(5):
        await broker.records.produce("orders", records(str(n)))
    for offset in (6, -2, 1 << 62):
        assert await delete_records(client, offset) == (-1, 1)
    assert await delete_records(client, -1) == (5, 0)
    assert await values_of(broker, "orders") == []
    assert await delete_records(client, 0, name="nothing") == (-1, UNKNOWN_TOPIC)
    assert await delete_records(client, 0, number=7) == (-1, UNKNOWN_TOPIC)


async def test_more_records_than_one_call_trims_are_all_deleted(client, broker, monkeypatch):
    monkeypatch.setattr("redis_ledger.broker.topics.service.ENTRIES_MAX", 3)
    await broker.topics.create("orders", 1)
    for n in range(10):
        await broker.records.produce("orders", records(str(n)))
    assert await delete_records(client, 9) == (9, 0)
    assert await values_of(broker, "orders") == ["9"]


async def test_records_of_an_open_transaction_are_not_deleted(client, broker):
    await broker.topics.create("orders", 1)
    await broker.records.produce("orders", records("a", "b"))
    txn = (await broker.transactions.begin(60_000)).id
    await broker.records.produce("orders", records("c", "d"), transaction=txn)
    await broker.records.produce("orders", records("e"))
    assert await delete_records(client, -1) == (2, 0)
    assert await delete_records(client, 4) == (2, 0)
    await broker.transactions.commit(txn)
    assert await values_of(broker, "orders") == ["c", "d", "e"]
    assert await delete_records(client, 4) == (4, 0)


async def test_a_request_for_more_topics_than_can_be_answered_is_refused_whole(client, broker, monkeypatch):
    monkeypatch.setattr("redis_ledger.kafka.handlers.create_topics.TOPICS_MAX", 2)
    answers = await create(client, topic("a"), topic("b"), topic("c"))
    assert {each.error_code for each in answers} == {44}
    assert await broker.catalog.list() == []


async def test_topic_recreated_elsewhere_is_read_as_it_is_now(client, broker, redis_url, prefix):
    # Given a broker that has used a topic, which another one deletes and makes again
    await broker.topics.create("orders", 1)
    await broker.records.produce("orders", records("old", "old"))
    async with one(redis_url, prefix) as other:
        await other.topics.delete("orders")
        await other.topics.create("orders", 1)
        await other.records.produce("orders", records("a", "b", "c"))
        # Then its records are those that are deleted, without a look at the catalog in between
        assert await delete_records(client, 2) == (2, 0)
        assert await values_of(other, "orders", offset=2) == ["c"]
