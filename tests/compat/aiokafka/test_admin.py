"""aiokafka's admin client, which hands out the answers of the protocol as they are."""

from __future__ import annotations

import asyncio

import pytest
from aiokafka import TopicPartition
from aiokafka.admin import NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import InvalidPartitionsError

TOPIC_ALREADY_EXISTS, UNKNOWN_TOPIC = 36, 3


def codes(answer, field="topic_errors"):
    return [each[1] for each in getattr(answer, field)]


async def test_topics_are_created_described_and_deleted(admin, name):
    called = name()
    async with admin() as client:
        assert codes(await client.create_topics([NewTopic(called, 3, 1)])) == [0]
        assert codes(await client.create_topics([NewTopic(called, 3, 1)])) == [TOPIC_ALREADY_EXISTS]
        assert called in await client.list_topics()
        (found,) = await client.describe_topics([called])
        assert (found["topic"], found["is_internal"], len(found["partitions"])) == (called, False, 3)
        assert codes(await client.delete_topics([called]), "topic_error_codes") == [0]
        assert codes(await client.delete_topics([name()]), "topic_error_codes") == [UNKNOWN_TOPIC]


async def test_partitions_are_added_and_never_taken_away(admin, topic):
    called = await topic(2)
    async with admin() as client:
        assert codes(await client.create_partitions({called: NewPartitions(5)})) == [0]
        with pytest.raises(InvalidPartitionsError):
            await client.create_partitions({called: NewPartitions(3)})
        (found,) = await client.describe_topics([called])
    assert len(found["partitions"]) == 5


async def test_the_cluster_names_its_brokers_and_a_controller(admin):
    async with admin() as client:
        found = await client.describe_cluster()
    assert found["controller_id"] in [node["node_id"] for node in found["brokers"]]


async def test_configurations_are_described_and_altered(admin, topic):
    called = await topic(1, **{"retention.ms": "60000"})

    async def retention(client):
        resource = ConfigResource(ConfigResourceType.TOPIC, called, {"retention.ms": None})
        (answer,) = await client.describe_configs([resource])
        (found,) = answer.resources
        return {entry[0]: entry[1] for entry in found[4]}

    async with admin() as client:
        assert await retention(client) == {"retention.ms": "60000"}
        (answer,) = await client.alter_configs(
            [ConfigResource(ConfigResourceType.TOPIC, called, {"retention.ms": "70000"})]
        )
        assert [each[0] for each in answer.resources] == [0]
        async with asyncio.timeout(10):
            while await retention(client) != {"retention.ms": "70000"}:
                await asyncio.sleep(0.05)


async def test_deleted_records_are_gone(admin, topic, producer, consumer):
    called = await topic()
    place = TopicPartition(called, 0)
    async with producer() as one:
        for _ in range(5):
            await one.send_and_wait(called, b"v")
    async with admin() as client:
        assert await client.delete_records({place: RecordsToDelete(3)}) == {place: 3}
    async with consumer(called) as reader, asyncio.timeout(15):
        assert (await reader.getone()).offset == 3


async def test_groups_are_listed_and_described_with_offsets(admin, topic, producer, consumer, name):
    called, group = await topic(), name("g")
    place = TopicPartition(called, 0)
    async with producer() as one:
        await one.send_and_wait(called, b"v")
    async with consumer(called, group_id=group) as member, admin() as client, asyncio.timeout(20):
        await member.getone()
        await member.commit()
        assert (group, "consumer") in [each[:2] for each in await client.list_consumer_groups()]
        ((found,),) = [answer.groups for answer in await client.describe_consumer_groups([group])]
        assert found[:4] == (0, group, "Stable", "consumer")
        assert len(found[5]) == 1
        offsets = await client.list_consumer_group_offsets(group)
        assert offsets[place].offset == 1
