"""The log start moves into the offloaded range: reads, forgotten segments, and deleted files."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from redis_ledger import errors
from redis_ledger.kafka.protocol.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from redis_ledger.offload.object_store import ObjectStore
from tests.support.broker import one, receive_values, records
from tests.support.kafka_client import KafkaClient, listening
from tests.support.offload_topic import TOPIC, OffloadTopic, offload_topic

DAY_MS = 86_400_000


@pytest.fixture
async def world(redis_url: str, prefix: str, tmp_path: Path) -> AsyncIterator[OffloadTopic]:
    """Segments of offsets 0 to 2, 3 to 5 and 6 to 8, a day between them; 9 and 10 are in Redis."""
    async with offload_topic(redis_url, prefix, tmp_path / "history") as world:
        for values in ("abc", "def", "ghi"):
            await world.produce(*values)
            await world.offload()
            world.clock.advance(DAY_MS)
        await world.produce("j", "k")
        assert [(s.first, s.end) for s in (await world.offload_state()).segments] == [(0, 3), (3, 6), (6, 9)]
        yield world


async def left(world: OffloadTopic) -> tuple[int, list[int], int]:
    """Returns the log start, the segments, and the number of files."""
    await world.broker.maintenance.retain()
    files = list(world.home.rglob("*.parquet"))
    segments = (await world.offload_state()).segments
    assert sorted(str(file.relative_to(world.home)) for file in files) == sorted(s.file for s in segments)
    return (await world.state()).start_offset, [segment.first for segment in segments], len(files)


@pytest.mark.parametrize(("below", "firsts"), [(2, [0, 3, 6]), (3, [3, 6]), (5, [3, 6]), (9, []), (10, [])])
async def test_segments_below_the_log_start_are_forgotten_and_their_files_deleted(world, below, firsts):
    assert await world.broker.topics.delete_records(TOPIC, 0, below) == below
    assert await left(world) == (below, firsts, len(firsts))
    state = await world.state()
    assert (state.offloaded_offset, state.start_offset) == (9, below)


async def test_retention_counts_offloaded_records(world):
    await world.broker.topics.grow(TOPIC, settings={"retention_ms": 2 * DAY_MS})
    assert await left(world) == (3, [3, 6], 2)
    size = (await world.state()).bytes
    await world.broker.topics.grow(TOPIC, settings={"retention_ms": -1, "retention_bytes": size - 1})
    assert await left(world) == (6, [6], 1)
    # A subscription that has not read them retains them, if it may
    await world.broker.subscriptions.create(TOPIC, "s")
    await world.broker.topics.grow(TOPIC, settings={"retention_bytes": 1, "retention_acknowledged": 1})
    assert await left(world) == (6, [6], 1)
    got = await receive_values(world.broker, TOPIC, "s")
    assert list(got.values()) == [*"ghijk"]
    await world.broker.subscriptions.ack(TOPIC, "s", "c1", list(got))
    assert await left(world) == (11, [], 0)


async def test_readers_begin_at_a_log_start_in_the_offloaded_range(world):
    """The log start is inside a batch, and inside a segment."""
    await world.broker.subscriptions.create(TOPIC, "s")
    await world.broker.topics.delete_records(TOPIC, 0, 4)
    await world.broker.maintenance.retain()
    assert [message.offset async for message in world.client.read(TOPIC)] == [*range(4, 11)]
    with pytest.raises(errors.OffsetOutOfRange) as refused:
        [message async for message in world.client.read(TOPIC, 0, 3)]
    assert refused.value.facts["start_offset"] == 4
    got = await receive_values(world.broker, TOPIC, "s")
    assert [(at.offset, value) for at, value in got.items()] == list(enumerate("efghijk", 4))
    found = await world.broker.partition_fetch.offset_at(TOPIC, 0, 0)
    assert found[0] == 4
    async with listening(world.broker) as address, KafkaClient(address) as kafka:

        async def find(timestamp: int) -> int:
            topics = [ListOffsetsTopic(TOPIC, [ListOffsetsPartition(0, -1, timestamp)])]
            answer = await kafka.ask(ListOffsetsRequest(-1, 1, topics), 9)
            return int(answer.topics[0].partitions[0].offset)

        # earliest, end, first in Redis, last in Parquet, by time
        assert [await find(timestamp) for timestamp in (-2, -1, -4, -5, 0)] == [4, 11, 9, 8, 4]
        await world.broker.topics.delete_records(TOPIC, 0, 10)
        assert [await find(timestamp) for timestamp in (-2, -4, -5)] == [10, 10, -1]


async def test_payload_published_by_a_dead_broker_is_dropped_by_maintenance(world):
    # Given a ledger in Parquet whose payload was not dropped
    await world.roll()
    keys = (await world.broker.catalog.partition(TOPIC, 0)).keys
    ledgers = await world.ledgers()
    await world.broker.store.command("HSET", keys.state, "cold", 11, key=keys.state)
    # When maintenance runs, with nothing to trim
    await world.broker.maintenance.retain()
    # Then it is dropped, and the log start does not change
    assert await world.ledgers() == ledgers[1:]
    assert (await world.state()).start_offset == 0


async def test_a_broker_without_the_object_store_leaves_the_files(world, redis_url, prefix):
    await world.broker.topics.delete_records(TOPIC, 0, 6)
    async with one(redis_url, prefix, clock=world.clock, offload_home="") as other:
        await other.maintenance.retain()
    assert [segment.first for segment in (await world.offload_state()).segments] == [6]
    assert len(list(world.home.rglob("*.parquet"))) == 3


async def test_retention_continues_after_a_file_that_cannot_be_deleted(world, monkeypatch):
    def refuse(home: ObjectStore, file: str) -> None:
        raise PermissionError(file)

    monkeypatch.setattr(ObjectStore, "delete", refuse)
    await world.broker.topics.delete_records(TOPIC, 0, 6)
    await world.broker.topics.create("zebra", settings={"retention_bytes": 0})
    await world.broker.records.produce("zebra", records("x"))
    await world.broker.maintenance.retain()
    assert [segment.first for segment in (await world.offload_state()).segments] == [6]
    assert (await world.broker.topics.head("zebra", 0)).start_offset == 1


async def test_the_manifest_is_read_once_for_every_move_of_the_log_start(world, monkeypatch):
    reads: list[int] = []
    forget = world.broker.offload.forget

    async def counted(topic: str, number: int) -> object:
        reads.append(number)
        return await forget(topic, number)

    monkeypatch.setattr(world.broker.offload, "forget", counted)
    for below, times in ((0, 0), (4, 1), (4, 1), (5, 2)):
        await world.broker.topics.delete_records(TOPIC, 0, below)
        await world.broker.maintenance.retain()
        await world.broker.maintenance.retain()
        assert len(reads) == times


async def test_segments_published_below_the_log_start_are_forgotten(world):
    # Given a job that has written files whose records are deleted before it publishes
    plan = await world.plan(seal=True)
    segments = await world.written(plan)
    await world.broker.topics.delete_records(TOPIC, 0, 11)
    await world.broker.maintenance.retain()
    # When it publishes them
    await world.client.offload.publish(TOPIC, 0, plan, segments)
    assert [segment.first for segment in (await world.offload_state()).segments] == [9]
    # Then the next retention forgets them
    assert await left(world) == (11, [], 0)


async def test_offloading_continues_at_a_log_start_above_the_offloaded_offset(world):
    await world.broker.topics.delete_records(TOPIC, 0, 10)
    assert await left(world) == (10, [], 0)
    await world.produce("l")
    await world.offload()
    assert (await world.offload_state()).segments[-1].end == 12
    assert [message.text() async for message in world.client.read(TOPIC)] == ["k", "l"]
    await world.broker.topics.delete_records(TOPIC, 0, None)
    assert (await left(world))[1:] == ([], 0)
