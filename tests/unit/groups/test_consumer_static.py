"""Static members of a consumer group, and expired members."""

from __future__ import annotations

import pytest

from redis_ledger.errors import (
    FencedInstance,
    FencedMember,
    UnknownMember,
    UnreleasedInstance,
)
from redis_ledger.groups.consumer_member import Heartbeat, HeartbeatResult
from tests.support.consumer_group import (
    SESSION_MS,
    World,
    joining,
    shared,
    slices,
)


@pytest.fixture
def world() -> World:
    return World(t=4)


# -- static members ----------------------------------------------------------------------------------------------------


def test_static_member_returns_to_its_partitions_without_a_rebalance(world):
    # Given two static members that share
    world.join("a", "t", instance_id="i1")
    world.join("b", "t", instance_id="i2")
    world.beat("a", 1, slices(t=[0, 1]), instance_id="i1")
    world.beat("b", 2, instance_id="i2")
    # When one leaves for a while and comes back under another id
    assert world.send(Heartbeat("a", -2, instance_id="i1")) == HeartbeatResult("a", -2)
    assert world.beat("b", 2, instance_id="i2") == HeartbeatResult("b", 2, None)
    assert world.join("c", "t", instance_id="i1") == HeartbeatResult("c", 2, slices(t=[0, 1]))
    # Then the group is in the epoch it was in
    assert world.state == "Stable"
    assert world.beat("b", 2, instance_id="i2") == HeartbeatResult("b", 2, None)
    assert set(world.group.members) == {"b", "c"}


def test_a_static_member_that_stays_away_is_put_out_when_its_session_is_over(world):
    world.join("a", "t", instance_id="i1")
    world.send(Heartbeat("a", -2, instance_id="i1"))
    world.pass_ms(SESSION_MS)
    assert world.state == "Empty"
    assert world.join("b", "t", instance_id="i1").assigned == slices(t=range(4))


def test_a_static_member_that_goes_for_a_while_releases_what_it_had_to_give_up(world):
    world.join("a", "t", instance_id="i1")
    world.join("b", "t")
    world.beat("a", 1, slices(t=range(4)), instance_id="i1")
    world.send(Heartbeat("a", -2, instance_id="i1"))
    assert world.beat("b", 2) == HeartbeatResult("b", 2, slices(t=[2, 3]))
    assert world.join("c", "t", instance_id="i1") == HeartbeatResult("c", 2, slices(t=[0, 1]))


def test_absent_member_cannot_continue(world):
    world.join("a", "t", instance_id="i1")
    world.send(Heartbeat("a", -2, instance_id="i1"))
    for epoch in (1, 2):
        with pytest.raises(FencedMember):
            world.beat("a", epoch, slices(t=range(4)), instance_id="i1")


@pytest.mark.parametrize("name", ["a", "another"])
def test_a_static_member_that_is_back_commits_in_its_new_epoch(world, name):
    world.join("a", "t", instance_id="i1")
    world.send(Heartbeat("a", -2, instance_id="i1"))
    assert world.join(name, "t", instance_id="i1") == HeartbeatResult(name, 1, slices(t=range(4)))
    assert world.commit(name, 1) == 1


def test_an_instance_in_use_is_not_given_to_another_member(world):
    world.join("a", "t", instance_id="i1")
    with pytest.raises(UnreleasedInstance):
        world.join("b", "t", instance_id="i1")
    assert world.join("a", "t", instance_id="i1").assigned == slices(t=range(4))


def test_replaced_static_member_is_fenced(world):
    world.join("a", "t", instance_id="i1")
    world.send(Heartbeat("a", -2, instance_id="i1"))
    world.join("b", "t", instance_id="i1")
    for beat in (
        Heartbeat("a", 1, instance_id="i1"),
        Heartbeat("a", -1, instance_id="i1"),
        Heartbeat("a", -2, instance_id="i1"),
    ):
        with pytest.raises(FencedInstance):
            world.send(beat)
    with pytest.raises(UnknownMember):
        world.beat("b", 1, instance_id="another")


def test_a_static_member_that_leaves_for_good_is_forgotten(world):
    world.join("a", "t", instance_id="i1")
    world.send(Heartbeat("a", -1, instance_id="i1"))
    assert world.state == "Empty"
    with pytest.raises(UnknownMember):
        world.beat("a", 1, instance_id="i1")


# -- time --------------------------------------------------------------------------------------------------------------


def test_a_silent_member_is_put_out_and_its_partitions_go_to_the_others(world):
    shared(world)
    world.pass_ms(SESSION_MS - 1)
    world.beat("a", 2)
    world.pass_ms(1)
    assert set(world.group.members) == {"a"}
    assert world.beat("a", 2) == HeartbeatResult("a", 3, slices(t=range(4)))
    with pytest.raises(UnknownMember):
        world.beat("b", 2)


def test_a_member_that_does_not_give_up_in_time_is_put_out(world):
    # Given a member that is to give up half, and goes on sending heartbeats without doing so
    world.join("a", "t", rebalance_ms=5_000)
    world.join("b", "t")
    world.beat("a", 1, slices(t=range(4)))
    for _ in range(4):
        world.pass_ms(1_000)
        world.beat("a", 1, slices(t=range(4)))
        world.beat("b", 2)
    assert "a" in world.group.members
    # When its time is over
    world.pass_ms(1_000)
    # Then it is out, and the other gets everything
    with pytest.raises(UnknownMember):
        world.beat("a", 1, slices(t=[0, 1]))
    assert world.beat("b", 2) == HeartbeatResult("b", 3, slices(t=range(4)))


def test_a_member_that_gave_up_in_time_is_not_put_out_later(world):
    world.join("a", "t", rebalance_ms=5_000)
    world.join("b", "t")
    world.beat("a", 1, slices(t=range(4)))
    world.beat("a", 1, slices(t=[0, 1]))
    world.pass_ms(5_000)
    assert world.beat("a", 2) == HeartbeatResult("a", 2, None)


def test_waiting_for_a_generation_is_no_silence(world):
    world.group.heartbeat(joining("a", "t"), world.topics, 1, world.now)
    world.pass_ms(3 * SESSION_MS)
    ((_, answer),) = world.group.begin(1, world.now)
    assert answer == HeartbeatResult("a", 1, slices(t=range(4)))


def test_a_broker_that_was_held_up_gives_members_the_time_back(world):
    world.join("a", "t")
    world.group.put_off(10_000)
    world.pass_ms(SESSION_MS + 9_000)
    assert "a" in world.group.members
    world.pass_ms(1_000)
    assert world.state == "Empty"
