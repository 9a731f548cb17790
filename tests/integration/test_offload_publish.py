"""Publishing segments, and what follows: payload is dropped, segments are swapped and forgotten."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from redis_ledger import errors
from redis_ledger.client.models import OffloadedPartition
from redis_ledger.offload.manifest import Plan, Segment, Stretch, folder, segment_file_name
from redis_ledger.store.store import Store
from tests.support.offload_topic import TOPIC, OffloadTopic, edges, offload_topic


@pytest.fixture
async def world(redis_url: str, prefix: str, tmp_path: Path) -> AsyncIterator[OffloadTopic]:
    async with offload_topic(redis_url, prefix, tmp_path / "history") as world:
        yield world


async def test_published_payload_is_dropped_and_the_log_is_kept(world):
    # Given three ledgers, two of them sealed, and a subscription
    await world.broker.subscriptions.create(TOPIC, "billing", "shared", "earliest")
    for values in ("ab", "c"):
        await world.produce(*values)
        await world.roll()
    await world.produce("d")
    before = await world.state()
    # When the sealed ones are written and published
    plan = await world.plan()
    segments = await world.written(plan)
    published = await world.client.offload.publish(TOPIC, 0, plan, segments)
    # Then their payload is dropped, and the partition is otherwise unchanged
    assert edges(plan) == [(0, 3)]
    assert (published.offloaded_offset, published.ledgers_dropped) == (3, 2)
    assert published.bytes_dropped > 0
    assert await world.ledgers() == [3]
    after = await world.state()
    assert (after.offloaded_offset, after.ledgers) == (3, 1)
    names = ("start_offset", "stable_offset", "end_offset", "bytes")
    assert [getattr(after, name) for name in names] == [getattr(before, name) for name in names]
    [cursor] = (await world.client.subscriptions.stats(TOPIC, "billing")).cursors
    assert (cursor.read, cursor.backlog) == (0, 4)
    # and the manifest names the file with its records
    state = await world.offload_state()
    assert (state.version, state.plan, state.segments) == (1, None, segments)
    assert (world.home / segments[0].file).stat().st_size == segments[0].bytes
    assert segments[0].records == 3


async def test_publishing_again_returns_the_same(world):
    await world.produce("a", "b")
    plan = await world.plan(seal=True)
    segments = await world.written(plan)
    assert (await world.client.offload.publish(TOPIC, 0, plan, segments)).offloaded_offset == 2
    again = await world.client.offload.publish(TOPIC, 0, plan, segments)
    assert (again.offloaded_offset, again.ledgers_dropped) == (2, 0)
    assert (await world.offload_state()).version == 1


async def refused(world: OffloadTopic, error: type[errors.LedgerError], plan: Plan, segments: list[Segment]) -> str:
    """Returns the error, after checking that nothing has changed."""
    before = await world.offload_state()
    with pytest.raises(error) as raised:
        await world.client.offload.publish(TOPIC, 0, plan, segments)
    assert await world.offload_state() == before
    return raised.value.detail


async def test_a_missing_file_is_not_published(world, tmp_path):
    await world.produce("a")
    plan = await world.plan(seal=True)
    segments = await world.written(plan, tmp_path / "another home")
    detail = await refused(world, errors.SegmentMismatch, plan, segments)
    assert detail.startswith(f"{segments[0].file} is not in {world.home}, the offload_home of this broker")
    assert await world.ledgers() == [1, 2]


async def test_a_file_that_does_not_match_its_segment_is_not_published(world):
    await world.produce("a", "b")
    plan = await world.plan(seal=True)
    [segment] = await world.written(plan)
    path = world.home / segment.file
    facts = {name: getattr(segment, name) for name in Segment.__struct_fields__}
    wrong = Segment(**{**facts, "checksum": "0" * 16})
    assert "checksum" in await refused(world, errors.SegmentMismatch, plan, [wrong])
    path.write_bytes(path.read_bytes()[:-1])
    detail = await refused(world, errors.SegmentMismatch, plan, [segment])
    assert f"has {segment.bytes - 1} bytes" in detail
    path.write_bytes(b"x" * segment.bytes)
    assert "damaged" in await refused(world, errors.SegmentMismatch, plan, [segment])


async def test_segments_that_do_not_match_the_plan_are_not_published(world):
    await world.produce("a", "b")
    plan = await world.plan(seal=True)
    [segment] = await world.written(plan)
    assert "has 1 stretches, not 2" in await refused(world, errors.SegmentMismatch, plan, [segment, segment])
    other = Plan("ffff", plan.stretches)
    assert f"its plan is {plan.id}" in await refused(world, errors.UnknownPlan, other, [segment])


# -- abandoning --------------------------------------------------------------------------------------------------------


async def test_abandoning_a_plan_returns_its_files(world):
    await world.produce("a")
    plan = await world.plan(seal=True)
    segments = await world.written(plan)
    assert await world.client.offload.abandon(TOPIC, 0, plan) == [plan.stretches[0].file]
    assert "there is no plan" in await refused(world, errors.UnknownPlan, plan, segments)
    with pytest.raises(errors.UnknownPlan, match=f"has no plan {plan.id}"):
        await world.client.offload.abandon(TOPIC, 0, plan)
    again = await world.plan(seal=True)
    assert (edges(again), again.id != plan.id) == (edges(plan), True)


async def test_a_published_plan_cannot_be_abandoned(world):
    await world.produce("a")
    plan = await world.plan(seal=True)
    await world.client.offload.publish(TOPIC, 0, plan, await world.written(plan))
    with pytest.raises(errors.UnknownPlan, match="the offloaded offset is 1"):
        await world.client.offload.abandon(TOPIC, 0, plan)


# -- swapping and forgetting -------------------------------------------------------------------------------------------


async def three(world: OffloadTopic) -> OffloadedPartition:
    """Three segments of two records each."""
    for values in ("ab", "cd", "ef"):
        await world.produce(*values)
        await world.offload()
    return await world.offload_state()


async def compacted(world: OffloadTopic, first: int, end: int, kept: range) -> Segment:
    """Writes a segment with only some of its records, from Redis."""
    topic_id = await world.topic_id()
    stretch = Stretch(first, end, segment_file_name(folder(TOPIC, topic_id, 0), first, end, "compacted"))
    return await world.write(stretch, [row for row in await world.rows(first, end) if row.offset in kept])


async def test_segments_are_swapped_for_one_of_the_same_stretch(world):
    # Given two segments, and a smaller one for the stretch of the first
    await world.produce(*"abcd")
    smaller = await compacted(world, 0, 4, range(1, 4, 2))
    await world.offload()
    await world.produce(*"ef")
    await world.offload()
    before = await world.offload_state()
    # When it is swapped in
    swapped = await world.swap(before.version, [0], [smaller])
    # Then the manifest has it, and the replaced file is returned
    assert (swapped.version, swapped.files) == (3, [before.segments[0].file])
    after = await world.offload_state()
    assert (after.segments, after.offloaded_offset) == ([smaller, before.segments[1]], 6)
    # and a decision by an older manifest is refused
    with pytest.raises(errors.ManifestChanged, match="has version 3, not 2"):
        await world.swap(before.version, [4], [smaller])
    with pytest.raises(errors.SegmentMismatch, match="cover 4 to 6"):
        await world.swap(3, [4], [smaller])


async def test_a_segment_without_its_file_is_not_swapped_in(world):
    await world.produce("a", "b")
    smaller = await compacted(world, 0, 2, range(1))
    await world.offload()
    (world.home / smaller.file).unlink()
    before = await world.offload_state()
    with pytest.raises(errors.SegmentMismatch, match="is not in"):
        await world.swap(before.version, [0], [smaller])
    assert await world.offload_state() == before


async def test_segments_below_the_log_start_are_forgotten(world):
    # Given three segments of two records each
    before = await three(world)
    assert [(s.first, s.end) for s in before.segments] == [(0, 2), (2, 4), (4, 6)]
    assert await world.client.offload.forget(TOPIC, 0) == []
    # When the log start is in the second
    await world.broker.topics.delete_records(TOPIC, 0, 4)
    await world.broker.topics.delete_records(TOPIC, 0, 3)
    # Then those wholly below it are forgotten, once
    files = [segment.file for segment in before.segments]
    assert await world.client.offload.forget(TOPIC, 0) == files[:2]
    assert await world.client.offload.forget(TOPIC, 0) == []
    after = await world.offload_state()
    assert (after.segments, after.version, after.offloaded_offset) == (before.segments[2:], 4, 6)


async def test_retention_applies_to_offloaded_records(world):
    await three(world)
    world.clock.advance(1_000)
    await world.produce("young")
    partition = await world.broker.catalog.partition(TOPIC, 0)
    trimmed = await partition.trim(retention_ms=500, retention_bytes=-1)
    assert (trimmed.start_offset, trimmed.entries) == (6, 3)
    assert len(await world.client.offload.forget(TOPIC, 0)) == 3


async def test_a_deleted_topic_leaves_files_and_nothing_in_redis(world, prefix):
    # Given offloaded records and a plan
    before = await three(world)
    await world.produce("g")
    await world.plan(seal=True)
    # When the topic is deleted, and created again
    await world.client.topics.delete(TOPIC)
    kept = await keys_of(world.broker.store, f"{prefix}:{{{TOPIC}:*")
    await world.client.topics.create(TOPIC, 1)
    # Then the new one has no offloaded records; the files are left
    assert kept == []
    fresh = await world.offload_state()
    assert (fresh.version, fresh.segments, fresh.plan, fresh.offloaded_offset) == (0, [], None, 0)
    assert all((world.home / segment.file).exists() for segment in before.segments)


async def test_a_swap_planned_for_a_former_topic_is_refused(world):
    # Given a topic that was deleted after the swap was planned, and a new one with the same version and ends
    await world.produce("a", "b")
    await world.offload()
    meant, before = await world.topic_id(), await world.offload_state()
    await world.client.topics.delete(TOPIC)
    await world.client.topics.create(TOPIC, 1)
    await world.produce("c", "d")
    await world.offload()
    after = await world.offload_state()
    assert (after.version, after.offloaded_offset, after.segments[0].first) == (
        before.version,
        2,
        before.segments[0].first,
    )
    # When the swap is requested, then it is refused, and all records are there
    nothing = Segment(0, 2, "", 0, 0, -1, -1, "0" * 16)
    with pytest.raises(errors.UnknownTopic, match=f"not {meant}"):
        await world.client.offload.swap(TOPIC, 0, before.version, [0], [nothing], topic_id=meant)
    with pytest.raises(errors.UnknownTopic, match=f"not {meant}"):
        await world.client.offload.forget(TOPIC, 0, topic_id=meant)
    assert await world.offload_state() == after
    assert [row.value for row in await world.rows(0, 2)] == [b"c", b"d"]


async def keys_of(store: Store, pattern: str) -> list[bytes]:
    return [key for reply in await store.everywhere("KEYS", pattern) for key in reply]
