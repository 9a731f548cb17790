"""groups/classic.py: the connection of a JoinGroup or SyncGroup closes while the request waits."""

from __future__ import annotations

import pytest

from redis_ledger.errors import NotCoordinator, RebalanceInProgress
from redis_ledger.groups.member import GroupState
from tests.support.classic import DELAY, REBALANCE, SESSION, Play

EMPTY, PREPARING, COMPLETING, STABLE = GroupState.EMPTY, GroupState.PREPARING, GroupState.COMPLETING, GroupState.STABLE


@pytest.fixture
def play():
    return Play()


def completing(play, *names):
    """A group whose members have joined and have no assignment yet; their ids, the leader's first."""
    tickets = [play.join(name=name) for name in names]
    play.run(2 * DELAY)
    return [play.answers[ticket].member_id for ticket in tickets]


# -- a waiting JoinGroup -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("has_id", [False, True])
def test_a_new_member_is_removed_with_its_connection(play, has_id):
    # Given a member that joins again, and a new one, with or without an id that it was given before
    one = play.stable("a")[0]
    new_id = ""
    if has_id:
        new_id = play.answers[play.join(name="b", is_called=True)].facts["member_id"]
    lost = play.join(new_id, name="b")
    lost_id = new_id or f"b-{lost}"
    # When the connection of the new one closes
    play.withdraw(lost_id, lost)
    ticket = play.join(one)
    play.run()
    # Then the other one has a generation of its own at once
    assert play.answer_of(lost) is RebalanceInProgress
    assert [each.member_id for each in play.answers[ticket].members] == [one]
    assert not play.group._roster.pending


def test_the_last_one_that_others_wait_for_is_removed_and_the_generation_begins(play):
    one, two = play.stable("a", "b")
    lost = play.join(name="c")
    again = [play.join(one), play.join(two)]
    play.stores = False
    play.withdraw(f"c-{lost}", lost)
    assert play.group.wants_generation
    play.stores = True
    play.run()
    assert {play.answers[ticket].generation for ticket in again} == {2}


def test_an_empty_group_is_empty_again_when_its_first_member_is_lost(play):
    lost = play.join(name="a")
    play.withdraw(f"a-{lost}", lost)
    play.run(3 * DELAY)
    assert play.group.state is EMPTY
    assert play.group.is_idle


def test_a_known_member_has_its_session_to_come_back_in(play):
    # Given a member that waits for another for longer than its session
    one, two = play.stable("a", "b")
    lost = play.join(one)
    play.run(SESSION - 1)
    with pytest.raises(RebalanceInProgress):
        play.beat(two)
    # When its connection closes
    play.withdraw(one, lost)
    assert play.answer_of(lost) is RebalanceInProgress
    # Then it can join again for a session
    play.run(SESSION - 1)
    again, other = play.join(one), play.join(two)
    play.run()
    assert play.answers[again].generation == play.answers[other].generation == 2
    assert play.answers[again].member_id == one


@pytest.mark.parametrize("lost", [0, 1])
def test_a_known_member_that_does_not_come_back_costs_the_others_one_session(play, lost):
    # Given two members that join again, of which the first leads, and a third that has not
    ids = play.stable("a", "b", "c")
    tickets = [play.join(ids[0]), play.join(ids[1])]
    # When one of the two is killed, and the third joins
    play.withdraw(ids[lost], tickets[lost])
    last = play.join(ids[2])
    play.run(SESSION - 1)
    assert last not in play.answers
    play.run(1)
    # Then the generation is without it, and one of the living leads
    kept = ids[1 - lost]
    assert play.answers[last].generation == 2
    assert play.answers[last].leader == kept
    assert [each.member_id for each in play.answers[tickets[1 - lost]].members] == [kept, ids[2]]


def test_the_lead_goes_to_a_living_member_when_new_ones_were_killed_again_and_again(play):
    # Given members that were killed while they were in a generation, and ten times new ones that were killed waiting
    play.stable("a", "b")
    for _ in range(10):
        lost = [play.join(name="x"), play.join(name="y")]
        play.run(SESSION // 20)
        for ticket, name in zip(lost, "xy", strict=True):
            play.withdraw(f"{name}-{ticket}", ticket)
    # When two new ones stay
    stay = [play.join(name="x"), play.join(name="y")]
    play.run(SESSION // 2)
    # Then they are in a generation as soon as the session of the first ones is over, and no other member is
    answers = [play.answers[ticket] for ticket in stay]
    assert [each.member_id for each in answers[0].members] == [each.member_id for each in answers]
    assert play.group.state is COMPLETING


def test_a_static_member_keeps_its_place_for_a_session_even_if_it_is_new(play):
    one = play.stable("a")[0]
    lost = play.join(name="s", instance_id="i")
    play.withdraw(f"s-{lost}", lost)
    again = play.join(one)
    play.run(SESSION // 2)
    assert again not in play.answers
    # It comes back in time
    back = play.join(name="s", instance_id="i")
    play.run()
    assert play.answers[back].generation == play.answers[again].generation == 2
    assert len(play.answers[again].members) == 2


def test_a_new_static_member_that_does_not_come_back_is_out_after_a_session(play):
    one = play.stable("a")[0]
    lost = play.join(name="s", instance_id="i")
    play.withdraw(f"s-{lost}", lost)
    again = play.join(one)
    play.run(SESSION)
    assert [each.member_id for each in play.answers[again].members] == [one]


# -- while a generation is being stored --------------------------------------------------------------------------------


def test_a_known_member_can_come_back_until_the_generation_is_stored(play):
    # Given two members that have joined again, and a generation that is on its way
    one, two = play.stable("a", "b")
    play.stores = False
    kept, lost = play.join(one), play.join(two)
    play.run()
    assert play.group.wants_generation
    # When one loses its connection and joins again on another
    play.withdraw(two, lost)
    back = play.join(two)
    play.stores = True
    play.run()
    # Then it is in the generation
    assert [each.member_id for each in play.answers[kept].members] == [one, two]
    assert play.answers[back].generation == 2


def test_a_known_member_that_does_not_come_back_is_not_in_a_generation_that_was_on_its_way(play):
    one, two = play.stable("a", "b")
    play.stores = False
    kept, lost = play.join(one), play.join(two)
    play.run()
    play.withdraw(two, lost)
    play.stores = True
    play.run()
    assert [each.member_id for each in play.answers[kept].members] == [one]
    assert two not in play.group._roster.members


def test_members_keep_their_places_if_all_lose_their_connections_while_a_generation_is_stored(play):
    ids = play.stable("a", "b")
    play.stores = False
    lost = [play.join(each) for each in ids]
    play.run()
    for member_id, ticket in zip(ids, lost, strict=True):
        play.withdraw(member_id, ticket)
    play.stores = True
    play.run()
    assert play.group.state is PREPARING
    back = [play.join(each) for each in ids]
    play.run()
    assert [play.answers[ticket].generation for ticket in back] == [2, 2]


def test_a_new_member_is_removed_while_a_generation_is_stored(play):
    play.stores = False
    kept, lost = play.join(name="a"), play.join(name="b")
    play.run(2 * DELAY)
    assert play.group.wants_generation
    play.withdraw(f"b-{lost}", lost)
    play.stores = True
    play.run()
    assert [each.member_id for each in play.answers[kept].members] == [f"a-{kept}"]


# -- a waiting SyncGroup -----------------------------------------------------------------------------------------------


def test_a_follower_that_waits_for_its_assignment_has_a_session_to_come_back_in(play):
    # Given a follower that has waited for longer than a session
    lead, follower = completing(play, "a", "b")
    lost = play.sync(follower)
    play.run(SESSION - 1)
    play.beat(lead)
    # When its connection closes, and the leader assigns
    play.withdraw(follower, lost)
    assert play.answer_of(lost) is RebalanceInProgress
    play.sync(lead, assignments={lead: b"1", follower: b"2"})
    assert play.group.state is STABLE
    # Then it finds its assignment for a session
    play.run(SESSION - 1)
    play.beat(lead)
    assert play.answers[play.sync(follower)].assignment == b"2"


def test_a_follower_that_does_not_come_back_is_out_after_a_session(play):
    lead, follower = completing(play, "a", "b")
    play.withdraw(follower, play.sync(follower))
    play.run(SESSION // 2)
    play.sync(lead, assignments={lead: b"1", follower: b"2"})
    play.run(SESSION // 2)
    assert play.group.state is PREPARING
    assert follower not in play.group._roster.members


def test_a_dead_leader_and_dead_followers_cost_one_session_together(play):
    # Given a generation whose leader never assigns, and followers that wait; one of them lives
    lead, dead, living = completing(play, "a", "b", "c")
    lost, waiting = play.sync(dead), play.sync(living)
    play.withdraw(dead, lost)
    # When a session is over, and the living one joins again as its answer says
    play.run(SESSION)
    assert play.answer_of(waiting) is RebalanceInProgress
    again = play.join(living)
    play.run()
    # Then it is alone
    assert [each.member_id for each in play.answers[again].members] == [living]
    assert lead not in play.group._roster.members


def test_a_follower_without_its_assignment_is_out_when_the_rebalance_timeout_ends(play):
    lead, follower = completing(play, "a", "b")
    play.withdraw(follower, play.sync(follower))
    play.sync(lead, assignments={})
    for _ in range(2 * REBALANCE // SESSION):
        play.beat(lead, follower)
        play.run(SESSION // 2)
    assert follower not in play.group._roster.members


# -- nothing to withdraw -----------------------------------------------------------------------------------------------


def test_a_request_that_was_replaced_is_not_withdrawn(play):
    one, two = play.stable("a", "b")
    old, new = play.join(one), play.join(one)
    play.withdraw(one, old)
    play.join(two)
    play.run()
    assert play.answers[new].generation == 2


@pytest.mark.parametrize("member_id", ["", "unknown", "a-1"])
def test_a_request_that_does_not_wait_is_not_withdrawn(play, member_id):
    play.stable("a")
    play.withdraw(member_id, 1)
    assert play.group.state is STABLE
    play.beat("a-1")


def test_nothing_is_withdrawn_from_a_group_that_moved_away(play):
    one, _ = play.stable("a", "b")
    waiting = play.join(one)
    play.die()
    play.withdraw(one, waiting)
    assert play.answer_of(waiting) is NotCoordinator
