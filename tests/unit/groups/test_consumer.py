"""A consumer group in isolation: heartbeats in, responses out."""

from __future__ import annotations

import pytest

from redis_ledger.errors import (
    FencedMember,
    GroupFull,
    InvalidRegex,
    UnknownMember,
)
from redis_ledger.groups.consumer_member import Heartbeat, HeartbeatResult
from tests.support.consumer_group import (
    MEMBERS_MAX,
    OWNS_NOTHING,
    REBALANCE_MS,
    World,
    joining,
    shared,
    slices,
    topics,
)


@pytest.fixture
def world() -> World:
    return World(t=4)


# -- sharing -----------------------------------------------------------------------------------------------------------


def test_the_first_member_is_given_everything_in_the_first_epoch(world):
    assert world.join("a", "t") == HeartbeatResult("a", 1, slices(t=range(4)))
    assert world.state == "Stable"


def test_a_second_member_waits_until_the_first_has_given_up_its_share(world):
    # Given a member with all four partitions
    world.join("a", "t")
    # When another comes, it is given none yet
    assert world.join("b", "t") == HeartbeatResult("b", 2, OWNS_NOTHING)
    # and the first gets what it may keep, in its old epoch
    answer = world.beat("a", 1, slices(t=range(4)))
    assert answer.epoch == 1
    assert answer.assigned == slices(t=[0, 1])
    # While it has not said that it has given them up, they stay its own
    assert world.beat("b", 2) == HeartbeatResult("b", 2, None)
    assert world.beat("a", 1) == HeartbeatResult("a", 1, None)
    assert world.state == "Reconciling"
    # Then it says so, and the other gets them
    assert world.beat("a", 1, slices(t=[0, 1])) == HeartbeatResult("a", 2, None)
    assert world.beat("b", 2) == HeartbeatResult("b", 2, slices(t=[2, 3]))
    assert world.state == "Stable"


def test_leaving_member_frees_its_partitions(world):
    shared(world)
    assert world.send(Heartbeat("b", -1)) == HeartbeatResult("b", -1)
    assert world.state == "Assigning"
    assert world.beat("a", 2) == HeartbeatResult("a", 3, slices(t=range(4)))
    assert world.state == "Stable"


def test_group_without_members_is_empty(world):
    world.join("a", "t")
    world.send(Heartbeat("a", -1))
    assert (world.state, world.group.is_empty, world.group.is_idle) == ("Empty", True, True)


def test_assignment_is_sent_only_if_it_changed_or_after_a_full_heartbeat(world):
    world.join("a", "t")
    assert world.beat("a", 1).assigned is None
    assert world.beat("a", 1, slices(t=range(4))).assigned is None
    full = {"rebalance_ms": REBALANCE_MS, "names": ("t",)}
    assert world.beat("a", 1, slices(t=range(4)), **full).assigned == slices(t=range(4))
    assert world.beat("a", 1, slices(t=range(4)), rebalance_ms=REBALANCE_MS, regex="").assigned == slices(t=range(4))


def test_a_member_without_topics_is_a_member_all_the_same(world):
    assert world.join("a") == HeartbeatResult("a", 1, OWNS_NOTHING)
    assert world.state == "Stable"


def test_heartbeats_that_come_while_a_generation_is_stored_share_it(world):
    # Given two members that join before the first generation is there
    group, now = world.group, world.now
    assert group.heartbeat(joining("a", "t"), world.topics, 1, now) == []
    assert group.heartbeat(joining("b", "t"), world.topics, 2, now) == []
    assert group.wants_generation
    # When it is
    answer = dict(group.begin(1, now))
    # Then each gets its half
    assert answer[1] == HeartbeatResult("a", 1, slices(t=[0, 2]))
    assert answer[2] == HeartbeatResult("b", 1, slices(t=[1, 3]))
    assert not group.wants_generation


def test_member_that_leaves_while_it_waits_gets_unknown_member_id(world):
    group, now = world.group, world.now
    group.heartbeat(joining("a", "t"), world.topics, 1, now)
    ((_, left),) = group.heartbeat(Heartbeat("a", -1), world.topics, 2, now)
    assert left == HeartbeatResult("a", -1)
    ((_, refused),) = group.begin(1, now)
    assert isinstance(refused, UnknownMember)


# -- subscriptions -----------------------------------------------------------------------------------------------------


def test_a_subscription_that_changes_moves_the_member_to_other_topics():
    world = World(t=2, u=2)
    world.join("a", "t")
    answer = world.beat("a", 1, slices(t=[0, 1]), names=("u",))
    assert answer == HeartbeatResult("a", 1, OWNS_NOTHING)
    assert world.beat("a", 1, OWNS_NOTHING) == HeartbeatResult("a", 2, slices(u=[0, 1]))


def test_partitions_that_are_added_are_noticed_at_the_next_heartbeat(world):
    world.join("a", "t")
    world.topics = topics(t=5)
    assert world.beat("a", 1) == HeartbeatResult("a", 2, slices(t=range(5)))


def test_unsubscribed_topics_change_nothing(world):
    world.join("a", "t")
    world.topics = topics(t=4, other=9)
    assert world.beat("a", 1) == HeartbeatResult("a", 1, None)


def test_a_topic_that_is_deleted_has_to_be_given_up(world):
    world.join("a", "t", "u")
    world.topics = topics(u=1)
    assert world.beat("a", 1, slices(t=range(4))) == HeartbeatResult("a", 1, OWNS_NOTHING)
    assert world.beat("a", 1, OWNS_NOTHING) == HeartbeatResult("a", 2, slices(u=[0]))


def test_a_regular_expression_takes_in_topics_that_come_later():
    world = World(orders_1=1, payments=1)
    world.send(Heartbeat("a", 0, rebalance_ms=1, regex="orders_.*", owned=OWNS_NOTHING))
    world.topics = topics(orders_1=1, orders_2=1, payments=1, reorders_3=1)
    assert world.beat("a", 1) == HeartbeatResult("a", 2, slices(orders_1=[0], orders_2=[0]))


def test_names_and_expression_add_up():
    world = World(a1=1, b=1, c=1)
    answer = world.send(Heartbeat("m", 0, rebalance_ms=1, names=("b",), regex="a.", owned=OWNS_NOTHING))
    assert answer.assigned == slices(a1=[0], b=[0])
    assert world.beat("m", 1, slices(a1=[0], b=[0]), regex="").assigned == slices(b=[0])


def test_an_expression_that_cannot_be_used_changes_nothing(world):
    with pytest.raises(InvalidRegex):
        world.send(Heartbeat("a", 0, rebalance_ms=1, regex="(", owned=OWNS_NOTHING))
    assert world.group.members == {}
    assert world.state == "Empty"


def test_most_votes_choose_the_assignor():
    world = World(t=4, u=4)
    world.join("a", "t", "u", assignor="range")
    world.join("b", "t", "u")
    assert world.group.assignor == "range"
    assert world.group.members["a"].target == slices(t=[0, 1], u=[0, 1])
    world.join("c", "t", "u", assignor="uniform")
    world.join("d", "t", "u", assignor="uniform")
    assert world.group.assignor == "uniform"


# -- epochs ------------------------------------------------------------------------------------------------------------


def test_lost_answer_is_repeated_for_the_previous_epoch(world):
    # Given a member whose answer with epoch 2 was lost
    world.join("a", "t")
    world.topics = topics(t=5)
    lost = world.beat("a", 1)
    # When it says all there is to say, in the epoch it knows
    full = {"rebalance_ms": REBALANCE_MS, "names": ("t",)}
    again = world.beat("a", 1, slices(t=range(4)), **full)
    # Then it gets the same answer
    assert again == lost == HeartbeatResult("a", 2, slices(t=range(5)))


@pytest.mark.parametrize(
    ("epoch", "owned"),
    [
        (3, slices(t=[0, 1])),  # ahead of the group
        (1, None),  # the epoch before, and does not say what it owns
        (1, slices(t=range(4))),  # the epoch before, and owns what is another's
    ],
)
def test_a_member_in_another_epoch_is_fenced(world, epoch, owned):
    shared(world)
    with pytest.raises(FencedMember):
        world.beat("a", epoch, owned)


def test_an_epoch_further_back_than_the_last_is_fenced(world):
    world.join("a", "t")
    for count in (5, 6):
        world.topics = topics(t=count)
        world.beat("a", count - 4)
    with pytest.raises(FencedMember):
        world.beat("a", 1, slices(t=range(4)))


def test_a_fenced_member_begins_anew_with_epoch_0_under_the_same_id(world):
    shared(world)
    assert world.join("a", "t") == HeartbeatResult("a", 2, slices(t=[0, 1]))


def test_a_member_that_begins_anew_has_given_up_what_it_had_to(world):
    # Given a member that is to give up half
    world.join("a", "t")
    world.join("b", "t")
    world.beat("a", 1, slices(t=range(4)))
    # When it begins anew instead
    assert world.join("a", "t") == HeartbeatResult("a", 2, slices(t=[0, 1]))
    # Then the other half is free
    assert world.beat("b", 2) == HeartbeatResult("b", 2, slices(t=[2, 3]))


def test_a_group_that_was_taken_over_begins_above_the_stored_generation():
    world = World(t=1)
    world.group.generation = 17
    with pytest.raises(UnknownMember):
        world.beat("a", 17, slices(t=[0]))
    assert world.join("a", "t").epoch == 18


@pytest.mark.parametrize("ask", [lambda w: w.beat("x", 1), lambda w: w.send(Heartbeat("x", -1))])
def test_non_member_gets_unknown_member_id(world, ask):
    world.join("a", "t")
    with pytest.raises(UnknownMember):
        ask(world)


def test_full_group_accepts_only_its_members(world):
    for number in range(MEMBERS_MAX):
        world.join(f"m{number}", "t")
    with pytest.raises(GroupFull):
        world.join("one more", "t")
    assert world.join("m0", "t").member_id == "m0"
