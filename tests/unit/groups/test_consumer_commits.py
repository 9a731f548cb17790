"""Commits to a consumer group, and its other requests."""

from __future__ import annotations

import pytest

from redis_ledger.errors import (
    InvalidRequest,
    LedgerError,
    NotCoordinator,
    StaleMember,
    UnknownMember,
    UnsupportedAssignor,
)
from redis_ledger.groups.consumer_member import Heartbeat, check
from tests.support.consumer_group import (
    OWNS_NOTHING,
    World,
    joining,
    shared,
    slices,
)


@pytest.fixture
def world() -> World:
    return World(t=4)


# -- commits -----------------------------------------------------------------------------------------------------------


def test_a_member_commits_with_its_epoch_as_fence(world):
    shared(world)
    assert world.commit("a", 2) == 2
    assert world.group.check_fetch("a", 2) == 2


@pytest.mark.parametrize("epoch", [0, 3, -1, -2])
def test_a_member_cannot_commit_in_an_epoch_it_was_never_in(world, epoch):
    shared(world)
    with pytest.raises(StaleMember):
        world.commit("a", epoch)
    with pytest.raises(StaleMember):
        world.group.check_fetch("a", epoch)


def test_commit_with_the_previous_epoch_is_fenced_by_the_new_one(world):
    shared(world)
    assert world.commit("a", 1) == 1
    with pytest.raises(StaleMember):
        world.commit("b", 1)  # b came in epoch 2
    with pytest.raises(StaleMember):
        world.group.check_fetch("a", 1)


def test_requests_from_before_a_rejoin_are_ignored(world):
    shared(world)
    world.join("a", "t")
    assert world.commit("a", 2) == 2
    with pytest.raises(StaleMember):
        world.commit("a", 1)


def test_a_stranger_can_commit_only_while_the_group_is_empty(world):
    assert world.commit("", -1) == -1
    world.join("a", "t")
    for member, epoch in (("", -1), ("x", 1), ("x", -1)):
        with pytest.raises(UnknownMember):
            world.commit(member, epoch)
    assert world.group.check_fetch(None, -1) == -1
    with pytest.raises(UnknownMember):
        world.group.check_fetch("x", 1)


def test_a_transaction_of_an_older_client_commits_without_naming_a_member(world):
    world.join("a", "t")
    assert world.commit("", -1, transactional=True) == -1
    with pytest.raises(UnknownMember):
        world.commit("x", 1, transactional=True)


def test_a_static_member_that_is_away_cannot_commit(world):
    world.join("a", "t", instance_id="i1")
    world.send(Heartbeat("a", -2, instance_id="i1"))
    for epoch in (1, -2):
        with pytest.raises(StaleMember):
            world.commit("a", epoch)


# -- the rest ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("beat", "error"),
    [
        (joining("", "t"), InvalidRequest),
        (joining("a" * 2_000, "t"), InvalidRequest),
        (joining("a", "t", instance_id=""), InvalidRequest),
        (joining("a", "t", rack_id=""), InvalidRequest),
        (joining("a", "t", rebalance_ms=-1), InvalidRequest),
        (joining("a", "t", rebalance_ms=-7), InvalidRequest),
        (joining("a", "t", owned=None), InvalidRequest),
        (joining("a", "t", owned=slices(t=[0])), InvalidRequest),
        (joining("a", names=None), InvalidRequest),
        (joining("a", *["x" * 30_000] * 50), InvalidRequest),
        (joining("a", "t", assignor="sticky"), UnsupportedAssignor),
        (Heartbeat("a", -3), InvalidRequest),
        (Heartbeat("a", -2), InvalidRequest),
    ],
)
def test_a_heartbeat_that_can_never_work_is_refused(beat: Heartbeat, error: type[LedgerError]):
    with pytest.raises(error):
        check(beat)


def test_group_description_has_its_state():
    world = World(t=2)
    world.send(
        Heartbeat(
            "a", 0, "i", "r", 9, ("z", "t"), "t.*", "range", OWNS_NOTHING, client_id="app", client_host="10.0.0.1"
        )
    )
    described = world.group.describe()
    assert (described.state, described.epoch, described.assignor) == ("Stable", 1, "range")
    (member,) = described.members
    assert member == (
        "a", "i", "r", 1, "app", "10.0.0.1", ["t", "z"], "t.*", slices(t=[0, 1]), slices(t=[0, 1])
    )  # fmt: skip


def test_a_group_counts_what_its_members_cost():
    world = World(t=1)
    empty = world.group.size
    world.join("a", "t")
    small = world.group.size
    world.beat("a", 1, names=["x" * 200] * 1 + [f"{n:0200}" for n in range(50)])
    assert small > empty
    assert world.group.size > small + 50 * 200
    world.send(Heartbeat("a", -1))
    assert world.group.size == empty


def test_released_group_answers_waiting_members(world):
    world.join("a", "t")
    world.group.heartbeat(joining("b", "t"), world.topics, 7, world.now)
    gone = NotCoordinator()
    assert world.group.die(gone) == [(7, gone)]
    assert world.state == "Dead"
    assert not world.group.wants_generation
    with pytest.raises(NotCoordinator):
        world.beat("a", 1)
