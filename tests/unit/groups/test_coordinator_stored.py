"""groups/coordinator.py: stored members, and their use by the next owner."""

from __future__ import annotations

import asyncio

import pytest

from redis_ledger.errors import NotCoordinator
from redis_ledger.groups import coordinator as module
from redis_ledger.groups.coordinator import Coordinator
from redis_ledger.groups.member import Sync
from redis_ledger.groups.ownership import Summary
from tests.support.busy_machine import wait_for
from tests.support.group_coordinator import Redis, coordinating, join, joining, settled


@pytest.fixture
def redis():
    return Redis()


@pytest.fixture
async def coordinator(redis):
    async with coordinating(redis) as made:
        yield made


async def successor(coordinator, redis):
    """The next owner after this one has died: it is silent from now on."""
    coordinator._watching.cancel()
    made = Coordinator(redis, coordinator._kinds, redis.give_up, redis.tidy, 50_000)
    redis.calls.clear()
    return made


async def test_the_next_owner_knows_every_member_before_it_answers(coordinator, redis):
    await settled(coordinator)
    after = await successor(coordinator, redis)
    group = await after.open("g", "classic")
    assert redis.calls[:2] == [("claim", "g"), ("rows", "g")]
    group.heartbeat("m-1", None, 1, after.now())
    assert group.check_commit("m-1", None, 1, after.now()) == 1
    assert after.size == group.size == coordinator.held("g").size
    await after.close()


async def test_an_answer_waits_until_what_it_depends_on_is_stored(coordinator, redis, monkeypatch):
    monkeypatch.setattr(module, "PAUSE_S", 0.001)
    group = await coordinator.open("g", "classic")
    joined = await join(coordinator, group, joining())
    # Given a Redis that stores nothing
    redis.away = 10**9
    redis.calls.clear()
    sync = Sync(joined.member_id, None, 1, None, None, {joined.member_id: b"all"})
    synced = asyncio.create_task(coordinator.wait(group, lambda ticket, now: group.sync(sync, ticket, now)))
    while redis.calls.count(("store", "g")) < 3:
        await asyncio.sleep(0.001)
    # Then no assignment is sent that the next owner would not know
    assert not synced.done()
    redis.away = 0
    assert (await synced).assignment == b"all"
    assert redis.stored["g"].members == 1
    after = await successor(coordinator, redis)
    assert (await after.open("g", "classic")).state.value == "Stable"
    await after.close()


async def test_waiters_for_a_change_refused_by_the_next_owner_are_redirected(coordinator, redis):
    group = await settled(coordinator)
    redis.owners["g"] = "b2"
    with pytest.raises(NotCoordinator):
        await join(coordinator, group, joining(name="other"))
    assert coordinator.groups == []
    assert set(redis.members["g"]) == {"m-1"}


@pytest.mark.parametrize("ends", ["it closes", "another broker takes over"])
async def test_waiters_for_an_unstored_change_are_answered_when_the_group_is_released(coordinator, redis, ends):
    group = await coordinator.open("g", "classic")
    joined = await join(coordinator, group, joining())
    # Given an assignment that Redis has not answered yet
    asked, answers = asyncio.Event(), asyncio.Event()

    async def store(group, kind, changes):
        asked.set()
        await answers.wait()

    redis.store = store
    sync = Sync(joined.member_id, None, 1, None, None, {joined.member_id: b"all"})
    synced = asyncio.create_task(coordinator.wait(group, lambda ticket, now: group.sync(sync, ticket, now)))
    await asked.wait()
    # When this broker does not own the group any more
    if ends == "it closes":
        await coordinator.close()
    else:
        redis.owners["g"] = "b2"
        await coordinator.check_ownership()
    # Then the member is sent to the next one
    with pytest.raises(NotCoordinator):
        await wait_for(synced, 5)


async def test_members_that_redis_has_lost_are_stored_again(coordinator, redis):
    await settled(coordinator)
    rows, summary = dict(redis.members["g"]), redis.stored["g"]
    for lost in ({}, {"ghost": b"row"}):
        redis.members["g"], redis.stored["g"] = lost, Summary(0, b"", len(lost))
        await coordinator.check_ownership()
        while coordinator._held["g"].storing is not None:
            await asyncio.sleep(0)
        assert (redis.members["g"], redis.stored["g"]) == (rows, summary)


async def test_members_that_cannot_be_read_are_removed_and_the_group_continues(coordinator, redis):
    redis.kinds["g"], redis.members["g"] = "classic", {"m": b"\xff"}
    redis.stored["g"] = Summary(3, b"\x08\x01", 1)
    redis.generations["g"] = 3
    group = await coordinator.open("g", "consumer")
    assert (group.kind, group.is_empty, group.generation) == ("consumer", True, 3)
    assert redis.members["g"] == {}


async def test_no_session_ends_while_redis_is_away(coordinator, redis, monkeypatch):
    monkeypatch.setattr(module, "AWAY_MS", 100)
    monkeypatch.setattr(module, "WATCH_S", 0.02)
    group = await settled(coordinator, session_ms=300)
    # Given a Redis that is away for longer than the member's session
    redis.away = 10**9
    redis.calls.clear()
    begun = coordinator.now()
    while coordinator.now() < begun + 500:
        await asyncio.sleep(0.01)
    assert not group.is_empty
    # When it is back, the member has a full session again, and no more
    redis.away, back = 0, coordinator.now()
    while not group.is_empty:
        await asyncio.sleep(0.01)
    assert coordinator.now() >= back + 100
