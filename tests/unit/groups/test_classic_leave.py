"""groups/classic.py: leaving members, commits, and metrics."""

from __future__ import annotations

import pytest

from redis_ledger.errors import (
    IllegalGeneration,
    NotCoordinator,
    RebalanceInProgress,
    UnknownMember,
)
from redis_ledger.groups.classic import NEW_MEMBER_MS
from redis_ledger.groups.member import GroupState
from tests.support.classic import DELAY, REBALANCE, SESSION, Play


@pytest.fixture
def play():
    return Play()


# -- going -------------------------------------------------------------------------------------------------------------


def test_a_member_that_leaves_makes_the_others_rebalance(play):
    one, two = play.stable("a", "b")
    assert play.leave(two, "unknown", two) == [None, UnknownMember, UnknownMember]
    ticket = play.join(one)
    play.run()
    assert play.answers[ticket].generation == 2


def test_emptied_group_advances_its_generation(play):
    play.leave(*play.stable("a", "b"))
    play.run()
    assert play.group.state is GroupState.EMPTY
    assert play.group.is_idle
    assert play.group.generation == 2


def test_an_id_that_was_given_can_be_given_back_without_a_rebalance(play):
    play.stable("a")
    play.join(name="b", is_called=True)
    assert play.leave("b-3") == [None]
    assert play.group.state is GroupState.STABLE


def test_removed_waiting_member_gets_an_error(play):
    one, two = play.stable("a", "b")
    waiting = play.join(one)
    play.leave(one)
    assert play.answer_of(waiting) is UnknownMember
    assert play.answers[waiting].facts["member_id"] == ""
    again = play.join(two)
    play.run()
    assert play.answers[again].leader == two


def test_a_member_that_is_silent_for_its_session_is_out(play):
    one, two = play.stable("a", "b")
    play.run(SESSION - 1)
    play.beat(one)
    play.run(1)
    with pytest.raises(RebalanceInProgress):
        play.beat(one)
    assert two not in play.group._roster.members


def test_joining_member_needs_no_heartbeat(play):
    one, two = play.stable("a", "b", session_ms=REBALANCE // 3)
    ticket = play.join(one)
    for _ in range(7):
        play.run(REBALANCE // 8)
        with pytest.raises(RebalanceInProgress):
            play.beat(two)
    play.join(two)
    play.run()
    assert len(play.answers[ticket].members) == 2


def test_a_new_member_does_not_wait_for_ever(play):
    # It does not know its id, so its silence says nothing; but it may be gone for long
    play.stores = False
    ticket = play.join(name="b")
    play.run(NEW_MEMBER_MS - 1)
    assert ticket not in play.answers
    play.run(1)
    assert play.answer_of(ticket) is UnknownMember


def test_stalled_broker_removes_no_member(play):
    one = play.stable("a")[0]
    play.now += 3 * SESSION
    play.group.put_off(3 * SESSION)
    play.run()
    play.beat(one)
    assert play.group.state is GroupState.STABLE


def test_takeover_of_the_group_answers_all_waiting_members(play):
    one, two = play.stable("a", "b")
    waiting = play.join(one)
    play.die()
    assert play.answer_of(waiting) is NotCoordinator
    assert play.answer_of(play.join()) is NotCoordinator
    assert play.answer_of(play.sync(two)) is NotCoordinator
    with pytest.raises(NotCoordinator):
        play.beat(two)
    assert not play.group.wants_generation


def test_generation_of_an_emptied_group_is_not_sent(play):
    # Given a static member that has not come back, and another that has
    play.join(name="a", instance_id="i", session_ms=10 * REBALANCE)
    other = play.join(name="b")
    play.run(2 * DELAY)
    other = play.answers[other].member_id
    play.sync("a-1", assignments={})
    play.sync(other)
    play.join(other, protocols={"range": b"changed"})
    # When the other goes while the generation is being stored
    play.stores = False
    play.run(REBALANCE)
    assert play.group.wants_generation
    play.leave(other)
    play.stores = True
    play.run()
    # Then the static one hears of it when it comes back, and no other member before
    assert play.group.generation == 1
    ticket = play.join("a-1", instance_id="i")
    play.run()
    assert play.answers[ticket].generation == 2


# -- commits -----------------------------------------------------------------------------------------------------------

EMPTY, PREPARING, COMPLETING, STABLE = GroupState.EMPTY, GroupState.PREPARING, GroupState.COMPLETING, GroupState.STABLE


def brought_to(state):
    """A group at generation 1 in this state, and its member."""
    play = Play()
    if state is COMPLETING:
        ticket = play.join()
        play.run(DELAY)
        return play, play.answers[ticket].member_id
    member = play.stable("a")[0]
    if state is EMPTY:
        play.leave(member)
        play.run()
    elif state is PREPARING:
        play.join(name="b")
    assert play.group.state is state
    return play, member


@pytest.mark.parametrize(
    ("state", "who", "generation", "outcome"),
    [
        (EMPTY, "unknown", -1, -1),
        (EMPTY, "member", -1, -1),
        (EMPTY, "member", 1, UnknownMember),
        (STABLE, "unknown", -1, UnknownMember),
        (STABLE, "member", -1, IllegalGeneration),
        (STABLE, "stranger", 1, UnknownMember),
        (STABLE, "member", 0, IllegalGeneration),
        (STABLE, "member", 1, 1),
        (PREPARING, "member", 1, 1),
        (PREPARING, "member", 0, IllegalGeneration),
        (COMPLETING, "member", 1, RebalanceInProgress),
        (COMPLETING, "member", 0, IllegalGeneration),
        (COMPLETING, "stranger", 1, UnknownMember),
    ],
)
def test_a_commit_is_checked_against_state_member_and_generation(state, who, generation, outcome):
    play, member = brought_to(state)
    member_id = {"unknown": "", "member": member, "stranger": "s"}[who]
    if isinstance(outcome, int):
        assert play.group.check_commit(member_id, None, generation, play.now) == outcome
    else:
        with pytest.raises(outcome):
            play.group.check_commit(member_id, None, generation, play.now)


@pytest.mark.parametrize("state", [EMPTY, PREPARING, COMPLETING, STABLE])
def test_transactional_commit_without_a_member_is_accepted_in_any_state(state):
    play, member = brought_to(state)
    assert play.group.check_commit("", None, -1, play.now, transactional=True) == -1
    if state is COMPLETING:
        assert play.group.check_commit(member, None, 1, play.now, transactional=True) == 1


def test_a_commit_counts_as_a_heartbeat(play):
    one = play.stable("a")[0]
    for _ in range(5):
        play.run(SESSION - 1)
        assert play.group.check_commit(one, None, 1, play.now) == 1
    assert play.group.state is GroupState.STABLE


def test_a_reader_of_offsets_raises_the_generation_that_was_handed_out(play):
    assert play.group.check_fetch(None, -1) == 0
    play.stable("a")
    assert play.group.check_fetch(None, -1) == 1


# -- books -------------------------------------------------------------------------------------------------------------


def test_member_memory_is_counted_and_released(play):
    nothing = play.group.size
    one, two = play.stable("a", "b")
    play.join(one, protocols={"range": b"x" * 5_000, "sticky": b""})
    play.join(two)
    play.run()
    play.sync(one, assignments={two: b"y" * 70_000})
    assert play.group.size > nothing + 75_000
    play.join(name="c", is_called=True)
    play.leave(one, two)
    play.run(SESSION)
    assert play.group.size == nothing


def test_a_stable_group_is_described_with_what_members_sent_and_were_given(play):
    one = play.stable("a")[0]
    described = play.group.describe()
    assert (described.state, described.protocol_type, described.protocol) == ("Stable", "consumer", "range")
    assert described.members == [(one, None, "a", "/h", b"r", b"a")]
    play.join(name="b")
    described = play.group.describe()
    assert (described.state, described.protocol) == ("PreparingRebalance", "")
    assert described.members[0] == (one, None, "a", "/h", b"", b"")
