"""groups/coordinator.py: timers, generations and ownership of a group, with a stub Redis."""

from __future__ import annotations

import asyncio

import pytest

from redis_ledger.errors import (
    GroupFull,
    GroupNotFound,
    InconsistentProtocol,
    NotCoordinator,
    RebalanceInProgress,
    StoreUnavailable,
)
from redis_ledger.groups import coordinator as module
from tests.support.group_coordinator import ME, Redis, coordinating, join, joining, settled


@pytest.fixture
def redis():
    return Redis()


@pytest.fixture
async def coordinator(redis):
    async with coordinating(redis) as made:
        yield made


async def test_many_that_open_a_group_at_once_share_one_claim(coordinator, redis):
    groups = await asyncio.gather(*(coordinator.open("g", "classic") for _ in range(20)))
    assert len(set(map(id, groups))) == 1
    assert redis.calls == [("claim", "g")]


async def test_failed_claim_is_retried_by_the_next_request(coordinator, redis):
    redis.away = 1
    with pytest.raises(StoreUnavailable):
        await coordinator.open("g", "classic")
    assert coordinator.held("g") is None
    assert (await settled(coordinator)).generation == 1


async def test_a_generation_is_asked_for_until_it_is_stored(coordinator, redis, monkeypatch):
    monkeypatch.setattr(module, "PAUSE_S", 0.001)
    group = await coordinator.open("g", "classic")
    redis.away = 4
    assert (await join(coordinator, group, joining())).generation == 1
    assert (redis.away, redis.generations["g"]) == (0, 1)


async def test_waiters_get_an_error_if_another_broker_owns_the_group(coordinator, redis):
    group = await coordinator.open("g", "classic")
    redis.owners["g"] = "b2"
    with pytest.raises(NotCoordinator):
        await join(coordinator, group, joining())
    assert coordinator.groups == []
    assert coordinator.size == 0


async def test_a_request_whose_connection_closes_is_withdrawn_and_one_that_was_answered_is_not(coordinator):
    group = await settled(coordinator)

    def joins(join, closing):
        return coordinator.wait(
            group, lambda ticket, now: group.join(join, ticket, now),
            lambda ticket, now: group.withdraw(join.member_id or join.new_id, ticket, now), closing,
        )  # fmt: skip

    # A new member, whose connection closes while it waits
    closing = asyncio.Event()
    waiting = asyncio.create_task(joins(joining("", name="b"), closing))
    while len(group.describe().members) < 2:
        await asyncio.sleep(0)
    closing.set()
    with pytest.raises(RebalanceInProgress):
        await waiting
    assert [member.member_id for member in group.describe().members] == ["m-1"]
    # Another one's connection closes while the answer waits to be stored
    closing = asyncio.Event()
    waiting = asyncio.create_task(joins(joining("m-1"), closing))
    while group.generation < 2:
        await asyncio.sleep(0)
    assert not waiting.done()
    closing.set()
    assert (await waiting).generation == 2


async def test_groups_owned_by_others_are_dropped_and_the_rest_kept(coordinator, redis):
    mine, lost = await settled(coordinator, "mine"), await settled(coordinator, "lost")
    redis.owners["lost"] = "b2"
    redis.away = 1
    with pytest.raises(StoreUnavailable):
        await coordinator.check_ownership()
    assert set(coordinator.groups) == {mine, lost}  # what is not known changes nothing
    await coordinator.check_ownership()
    assert coordinator.groups == [mine]
    with pytest.raises(NotCoordinator):
        lost.heartbeat("m-1", None, 1, 0)


async def test_lost_claim_is_renewed_unless_another_broker_owned_the_group(coordinator, redis):
    # Given that Redis has lost two claims, and that another broker has had one of the groups and given it up
    kept, lost = await settled(coordinator, "kept"), await settled(coordinator, "lost")
    redis.owners.clear()
    redis.generations["lost"] += 1
    await coordinator.check_ownership()
    # Then the other one goes on as if nothing had happened
    assert coordinator.groups == [kept]
    kept.heartbeat("m-1", None, 1, coordinator.now())
    assert redis.owners == {"kept": ME}
    with pytest.raises(NotCoordinator):
        lost.heartbeat("m-1", None, 1, 0)


async def test_it_looks_after_its_groups_by_itself(coordinator, redis, monkeypatch):
    monkeypatch.setattr(module, "WATCH_S", 0.001)
    monkeypatch.setattr(module, "TIDY_S", 0.005)
    await settled(coordinator)
    redis.away = 2
    redis.owners["g"] = "b2"
    while coordinator.groups or not redis.forgotten:
        await asyncio.sleep(0.001)
    assert set(redis.forgotten) == {"tidy"}


async def test_expired_member_is_removed_without_a_request(coordinator):
    group = await settled(coordinator, session_ms=300)
    while not group.is_empty:
        await asyncio.sleep(0.005)
    assert group.generation == 2


async def test_a_broker_that_was_held_up_excuses_its_members_once(coordinator):
    group = await settled(coordinator, session_ms=1_500)
    held = coordinator._held["g"]
    # Given a timer that comes two seconds late
    held.timer_due = coordinator.now() - 2_000
    coordinator._fire(held)
    assert held.is_excused
    assert group.due > coordinator.now() + 2_000
    # Then the next one counts, late or not, and forgives nothing
    held.timer_due = coordinator.now() - 60_000
    coordinator._fire(held)
    assert not held.is_excused


async def test_bug_in_a_group_answers_all_waiting_members(coordinator, monkeypatch):
    group = await coordinator.open("g", "classic")
    monkeypatch.setattr(group, "begin", lambda generation, now: 1 / 0)
    with pytest.raises(NotCoordinator):
        await join(coordinator, group, joining())
    monkeypatch.undo()
    again = await coordinator.open("g", "classic")
    monkeypatch.setattr(again, "tick", lambda now: 1 / 0)
    with pytest.raises(NotCoordinator):
        await join(coordinator, again, joining())
    assert coordinator.groups == []


async def test_empty_group_is_released_after_a_while(coordinator, redis, monkeypatch):
    await coordinator.open("empty", "classic")
    await settled(coordinator, "used")
    await coordinator.check_ownership()
    assert redis.forgotten == []
    monkeypatch.setattr(module, "IDLE_MS", 0)
    await coordinator.check_ownership()
    assert redis.forgotten == ["empty"]
    assert [group.name for group in coordinator.groups] == ["used"]


async def test_an_empty_group_becomes_one_of_the_kind_that_comes(coordinator, redis):
    group = await coordinator.open("g", "classic")
    assert await coordinator.open("g", "classic") is group
    other = await coordinator.open("g", "consumer")
    assert (other.kind, redis.kinds["g"]) == ("consumer", "consumer")
    with pytest.raises(NotCoordinator):
        await join(coordinator, group, joining())  # through a reference to the former one


@pytest.mark.parametrize(("kind", "comes", "error"), [
    ("classic", "consumer", GroupNotFound), ("consumer", "classic", InconsistentProtocol),
])  # fmt: skip
async def test_a_group_with_members_keeps_its_kind(coordinator, kind, comes, error):
    group = await coordinator.open("g", kind)
    await join(coordinator, group, joining())
    with pytest.raises(error):
        await coordinator.open("g", comes)
    assert coordinator.held("g") is group


async def test_member_memory_is_bounded_and_tighter_for_new_members(coordinator):
    await settled(coordinator)
    room = 50_000 - coordinator.size
    coordinator.check_room("other", room, is_known=False)
    with pytest.raises(GroupFull):
        coordinator.check_room("other", room + 1, is_known=False)
    coordinator.check_room("other", room + 50_000, is_known=True)
    with pytest.raises(GroupFull):
        coordinator.check_room("other", room + 50_001, is_known=True)


async def test_groups_themselves_are_bounded_too(coordinator):
    for number in range(49):
        await coordinator.open(f"g{number}", "classic")
    with pytest.raises(GroupFull):
        await coordinator.open("one more", "classic")
    assert await coordinator.open("g7", "classic") is coordinator.held("g7")


async def test_close_answers_all_members_and_releases_every_group(coordinator, redis):
    one, two = await settled(coordinator, "one"), await coordinator.open("two", "classic")
    redis.away = 10**9
    waiting = asyncio.create_task(join(coordinator, two, joining()))
    while ("advance", "two") not in redis.calls:
        await asyncio.sleep(0)
    redis.away = 0
    await coordinator.close()
    with pytest.raises(NotCoordinator):
        await waiting
    with pytest.raises(NotCoordinator):
        one.heartbeat("m-1", None, 1, 0)
    with pytest.raises(NotCoordinator):
        await coordinator.open("three", "classic")
    assert redis.owners == {}
    assert coordinator.size == 0


async def test_a_claim_under_way_while_closing_is_taken_back(coordinator, redis):
    opening = asyncio.create_task(coordinator.open("g", "classic"))
    while not redis.calls:
        await asyncio.sleep(0)
    await coordinator.close()
    with pytest.raises(NotCoordinator):
        await opening
    assert redis.owners == {}
