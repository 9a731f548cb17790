"""The plan of an offload to Parquet: sealed ledgers, transactions, age, scheduled records, a real partition."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from redis_ledger import errors
from redis_ledger.offload.manifest import Segment
from tests.support.broker import eventually, one, records
from tests.support.offload_topic import KEEPS, TOPIC, OffloadTopic, edges, offload_topic

HOUR_MS = 3_600_000


@pytest.fixture
async def world(redis_url: str, prefix: str, tmp_path: Path) -> AsyncIterator[OffloadTopic]:
    async with offload_topic(redis_url, prefix, tmp_path / "history") as world:
        yield world


async def test_a_plan_is_unchanged_until_it_is_published(redis_url, prefix, world):
    await world.produce("a")
    plan = await world.plan(seal=True)
    async with offload_topic(redis_url, prefix, world.home) as other:
        await other.produce("b")
        assert await other.plan(seal=True) == plan
        await other.client.offload.publish(TOPIC, 0, plan, await other.written(plan))
        assert edges(await other.plan(seal=True)) == [(1, 2)]


async def test_a_broker_that_missed_a_roll_seals_the_active_ledger(redis_url, prefix, world):
    await world.produce("a")
    async with offload_topic(redis_url, prefix, world.home) as other:
        await other.roll()
        await other.produce("b")
    assert edges(await world.plan(seal=True)) == [(0, 2)]
    assert (await world.state()).active_ledger == 3


async def test_an_empty_ledger_is_not_sealed(world):
    assert await world.client.offload.plan(TOPIC, 0, seal=True) is None
    assert (await world.state()).active_ledger == 1


async def test_the_active_ledger_is_planned_only_with_seal(world):
    await world.produce("a")
    assert await world.client.offload.plan(TOPIC, 0) is None
    assert edges(await world.plan(seal=True)) == [(0, 1)]


async def test_a_plan_stops_at_an_open_transaction(world):
    """TB-05"""
    # Given a record, a transaction of two, and a record after it
    broker = world.broker
    await world.produce("a")
    txn = (await broker.transactions.begin(60_000)).id
    await broker.records.produce(TOPIC, records("aborted", "too"), transaction=txn)
    await world.produce("b")
    # While it is open, the plan ends before it; after the abort, after its marker
    assert edges(await world.plan(seal=True)) == [(0, 1)]
    await world.offload()
    assert await world.client.offload.plan(TOPIC, 0, seal=True) is None
    await broker.transactions.abort(txn)
    await world.offload()
    # Then no file has the aborted records
    found = await world.offload_state()
    assert [(s.first, s.end, s.records) for s in found.segments] == [(0, 1, 1), (1, 5, 1)]
    assert found.offloaded_offset == found.stable_offset == 5


async def test_a_stretch_without_a_committed_record_has_no_file(world):
    txn = (await world.broker.transactions.begin(60_000)).id
    await world.broker.records.produce(TOPIC, records("aborted"), transaction=txn)
    await world.broker.transactions.abort(txn)
    published = await world.offload()
    assert (published.offloaded_offset, published.ledgers_dropped) == (2, 1)
    [segment] = (await world.offload_state()).segments
    assert (segment.file, segment.records, segment.bytes) == ("", 0, 0)
    assert not world.home.exists()


async def test_only_old_records_are_planned(world):
    # Given a ledger an hour old, and one of now
    await world.produce("old")
    await world.roll()
    world.clock.advance(HOUR_MS)
    await world.produce("new")
    await world.roll()
    # Then a plan for records older than half an hour ends between them, one for any age has both
    plan = await world.plan(older_than_ms=HOUR_MS // 2)
    assert edges(plan) == [(0, 1)]
    await world.client.offload.abandon(TOPIC, 0, plan)
    assert await world.client.offload.plan(TOPIC, 0, older_than_ms=HOUR_MS + 1) is None
    assert edges(await world.plan()) == [(0, 2)]


async def test_a_ledger_with_young_records_is_not_sealed_for_old_ones(world):
    await world.produce("old")
    world.clock.advance(HOUR_MS)
    await world.produce("new")
    assert edges(await world.plan(seal=True, older_than_ms=HOUR_MS // 2)) == [(0, 1)]
    assert (await world.state()).active_ledger == 1


async def test_deleted_records_are_not_planned(world):
    for value in "abc":
        await world.produce(value)
        await world.roll()
    await world.offload()
    for value in "def":
        await world.produce(value)
        await world.roll()
    await world.broker.topics.delete_records(TOPIC, 0, 5)
    assert edges(await world.plan()) == [(5, 6)]


async def test_a_delay_ledger_is_dropped_when_none_of_its_records_waits(world):
    # Given only a scheduled record, which has fallen due
    position = await world.client.scheduled.schedule(TOPIC, "soon", deliver_after=200)
    assert position.scheduled is not None

    async def has_come() -> bool:
        return bool((await world.state()).stable_offset == 1)

    await eventually(has_come, True)
    assert await world.client.offload.plan(TOPIC, 0) is None
    # When its ledger is sealed, too
    await world.client.scheduled.clear(TOPIC)
    # Then a plan ends at its last record, and its payload is dropped
    assert edges(await world.plan()) == [(0, 1)]
    published = await world.offload()
    assert (published.offloaded_offset, published.ledgers_dropped) == (1, 1)
    assert -1 not in await world.ledgers()


@pytest.mark.parametrize(("below", "is_kept"), [(3, True), (4, False), (5, False)])
async def test_a_plan_whose_records_are_deleted_is_replaced(world, below, is_kept):
    # Given a plan whose job is gone, and records after it
    await world.produce("a", "b", "c", "d")
    plan = await world.plan(seal=True)
    await world.produce("e", "f")
    # When retention deletes a part of it, or all
    await world.broker.topics.delete_records(TOPIC, 0, below)
    world.clock.advance(365 * 24 * HOUR_MS)
    # Then a later request still gets that plan, unless all of it was deleted
    found = await world.plan(seal=True)
    assert (found == plan) is is_kept
    assert edges(found) == ([(0, 4)] if is_kept else [(below, 6)])
    assert (await world.offload_state()).plan == found


async def test_a_plan_whose_records_are_deleted_is_abandoned_without_a_successor(world):
    await world.produce("a")
    await world.plan(seal=True)
    await world.broker.topics.delete_records(TOPIC, 0, 1)
    assert await world.client.offload.plan(TOPIC, 0) is None
    assert (await world.offload_state()).plan is None


async def test_a_broker_with_a_cached_deleted_topic_refreshes_it(redis_url, prefix, world):
    await world.produce("a")
    assert edges(await world.plan(seal=True)) == [(0, 1)]
    async with one(redis_url, prefix, **KEEPS) as other:
        await other.topics.delete(TOPIC)
        await other.topics.create(TOPIC, 1)
    assert await world.client.offload.plan(TOPIC, 0, seal=True) is None


async def test_a_plan_for_a_former_topic_is_refused_and_seals_nothing(redis_url, prefix, world):
    # Given a topic that was deleted and created again after a job read its id
    meant = await world.topic_id()
    async with one(redis_url, prefix, **KEEPS) as other:
        await other.topics.delete(TOPIC)
        await other.topics.create(TOPIC, 1)
    await world.produce("a")
    # When the job requests it, then it gets an error and nothing has changed
    with pytest.raises(errors.UnknownTopic, match=f"was deleted and created again: its id is .*, not {meant}"):
        await world.client.offload.plan(TOPIC, 0, seal=True, topic_id=meant)
    assert (await world.offload_state()).plan is None
    assert await world.ledgers() == [1]
    # And the new topic has a plan
    assert edges(await world.client.offload.plan(TOPIC, 0, seal=True, topic_id=await world.topic_id())) == [(0, 1)]


async def test_a_broker_without_an_object_store_refuses_plans(redis_url, prefix, tmp_path):
    nothing = Segment(0, 1, "", 0, 0, -1, -1, "")
    async with offload_topic(redis_url, prefix, tmp_path, offload_home="") as world:
        offload = world.client.offload
        for call in (
            offload.plan(TOPIC, 0), offload.publish(TOPIC, 0, "x", [nothing]), world.swap(0, [0], [nothing]),
        ):  # fmt: skip
            with pytest.raises(errors.OffloadDisabled, match=r"Set offload_home \(serve --offload-home\)"):
                await call
        assert (await offload.describe(TOPIC)).home == ""
        assert await offload.forget(TOPIC, 0) == []
