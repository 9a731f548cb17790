"""groups/classic.py: answers to the members of a classic group, and when they are sent."""

from __future__ import annotations

import pytest

from redis_ledger.errors import (
    GroupFull,
    IllegalGeneration,
    InconsistentProtocol,
    MemberIdRequired,
    RebalanceInProgress,
    UnknownMember,
)
from redis_ledger.groups.member import GroupState
from tests.support.classic import DELAY, RANGE, REBALANCE, SESSION, Play


@pytest.fixture
def play():
    return Play()


# -- joining -----------------------------------------------------------------------------------------------------------


def test_member_without_an_id_gets_one_and_must_rejoin(play):
    ticket = play.join(name="a", is_called=True)
    assert play.answer_of(ticket) is MemberIdRequired
    assert play.answers[ticket].facts["member_id"] == "a-1"
    again = play.join("a-1", is_called=True)
    play.run(DELAY)
    assert play.answers[again].member_id == "a-1"


def test_an_id_that_is_not_used_within_the_session_is_forgotten(play):
    play.join(name="a", is_called=True)
    play.run(SESSION)
    assert play.group.is_idle
    assert play.answer_of(play.join("a-1")) is UnknownMember


def test_first_member_leads_and_gets_all_members(play):
    first, second = play.join(name="a"), play.join(name="b", protocols={"range": b"of b"})
    play.run(2 * DELAY)
    assert play.answers[first].generation == play.answers[second].generation == 1
    assert play.answers[first].leader == play.answers[second].leader == "a-1"
    assert [(m.member_id, m.metadata) for m in play.answers[first].members] == [("a-1", b"r"), ("b-2", b"of b")]
    assert play.answers[second].members == ()
    assert play.group.state is GroupState.COMPLETING


def test_each_member_that_comes_to_an_empty_group_puts_the_first_generation_off():
    # Given a group that waits 100 ms for more members, and the first has a rebalance timeout of 250 ms
    play = Play(delay_ms=100)
    first = play.join(name="a", rebalance_ms=250)
    # When another member comes after 90 ms, and one after 180
    for name in "bc":
        play.run(90)
        play.join(name=name)
    # Then 250 ms after the first it begins
    play.run(69)
    assert first not in play.answers
    play.run(1)
    assert len(play.answers[first].members) == 3


def test_without_newcomers_the_first_generation_begins_after_one_delay():
    play = Play(delay_ms=100)
    first = play.join()
    play.run(99)
    assert first not in play.answers
    play.run(1)
    assert play.answers[first].generation == 1


def test_without_a_delay_the_first_generation_begins_at_once():
    play = Play(delay_ms=0)
    first = play.join()
    play.run(0)
    assert play.answers[first].generation == 1


def test_generation_is_not_sent_before_it_is_stored(play):
    play.stores = False
    first = play.join()
    play.run(DELAY)
    assert play.group.wants_generation
    assert play.group.generation == 0
    assert play.answers == {}
    # A member that joins while Redis is away is part of the generation
    second = play.join(name="b")
    play.run(10 * SESSION)
    play.stores = True
    play.run()
    assert play.answers[first].generation == play.answers[second].generation == 1


def test_generations_continue_from_the_one_that_was_stored_last():
    play = Play(generation=41)
    ticket = play.join()
    play.run(DELAY)
    assert play.answers[ticket].generation == 42


@pytest.mark.parametrize(
    ("protocol_type", "protocols"),
    [("consumer", {"sticky": b""}), ("connect", RANGE), ("", RANGE), ("consumer", {})],
)
def test_member_without_a_common_protocol_is_refused(play, protocol_type, protocols):
    play.stable("a")
    assert play.answer_of(play.join(name="b", protocol_type=protocol_type, protocols=protocols)) is InconsistentProtocol
    assert play.group.state is GroupState.STABLE


@pytest.mark.parametrize(
    ("likes", "chosen"),
    [
        (["ab", "ab", "ba"], "a"),
        (["ab", "ba", "ba"], "b"),
        (["ab", "ba"], "a"),  # of equals the earlier member's
        (["abc", "cb", "bc"], "b"),  # not all support a, so the first votes for b
        (["a", "ba"], "a"),
    ],
)
def test_the_protocol_with_most_votes_of_those_that_all_have_is_chosen(play, likes, chosen):
    tickets = [play.join(name=f"m{i}", protocols={p: p.encode() for p in liked}) for i, liked in enumerate(likes)]
    play.run(2 * DELAY)
    assert {play.answers[ticket].protocol for ticket in tickets} == {chosen}
    assert {member.metadata for member in play.answers[tickets[0]].members} == {chosen.encode()}


def test_a_group_has_as_many_members_as_it_may_and_no_more():
    play = Play(members_max=2)
    one, two = play.stable("a", "b")
    refused = play.join(name="c")
    assert play.answer_of(refused) is GroupFull
    assert play.answers[refused].facts["member_id"] == ""
    # An id that was given out counts: ids are bounded as well
    play.leave(two)
    play.join(one)
    play.run()
    assert play.answer_of(play.join(name="d", is_called=True)) is MemberIdRequired
    assert play.answer_of(play.join(name="e", is_called=True)) is GroupFull


def test_of_a_group_that_is_too_large_the_last_to_join_again_are_left_out():
    play = Play(members_max=2)
    one, two = play.stable("a", "b")
    waiting = play.join(one)
    play.join(name="c")
    assert waiting not in play.answers
    assert play.answer_of(play.join(two)) is GroupFull
    play.run()
    assert [member.member_id for member in play.answers[waiting].members] == [one, "c-6"]


# -- members that come again -------------------------------------------------------------------------------------------


def test_unchanged_follower_is_redirected_to_the_new_coordinator(play):
    _, follower = play.stable("a", "b")
    ticket = play.join(follower)
    assert play.answers[ticket].generation == 1
    assert play.answers[ticket].members == ()
    assert play.group.state is GroupState.STABLE


def test_a_leader_that_joins_again_begins_a_rebalance(play):
    leader, follower = play.stable("a", "b")
    ticket = play.join(leader)
    assert play.group.state is GroupState.PREPARING
    play.join(follower)
    play.run()
    assert play.answers[ticket].generation == 2
    assert len(play.answers[ticket].members) == 2


def test_a_member_with_other_metadata_begins_a_rebalance(play):
    leader, follower = play.stable("a", "b")
    play.join(follower, protocols={"range": b"other topics"})
    with pytest.raises(RebalanceInProgress):
        play.beat(leader)
    ticket = play.join(leader)
    play.run()
    assert [m.metadata for m in play.answers[ticket].members] == [b"r", b"other topics"]


def test_before_the_assignment_a_member_that_lost_its_answer_gets_it_again(play):
    tickets = [play.join(name=name) for name in "ab"]
    play.run(2 * DELAY)
    for ticket in tickets:
        first = play.answers[ticket]
        assert play.answers[play.join(first.member_id)] == first


def test_second_join_of_a_member_answers_the_first(play):
    one, two = play.stable("a", "b")
    first = play.join(one)
    second = play.join(one)
    assert play.answer_of(first) is RebalanceInProgress
    play.join(two)
    play.run()
    assert play.answers[second].generation == 2


def test_member_that_does_not_rejoin_in_time_is_removed(play):
    one, two = play.stable("a", "b", session_ms=10 * REBALANCE)
    ticket = play.join(one)
    play.run(REBALANCE - 1)
    assert ticket not in play.answers
    play.run(1)
    assert [member.member_id for member in play.answers[ticket].members] == [one]
    with pytest.raises(UnknownMember):
        play.group.heartbeat(two, None, 2, play.now)


def test_the_rebalance_waits_for_the_slowest_member(play):
    one = play.stable("a", session_ms=10 * REBALANCE, rebalance_ms=1_000)[0]
    slow = play.join(name="b", rebalance_ms=50_000)
    play.run(40_000)
    assert slow not in play.answers
    play.join(one)
    play.run()
    assert play.answers[slow].generation == 2


def test_member_with_a_new_id_is_waited_for(play):
    one = play.stable("a")[0]
    play.join(name="b", is_called=True, session_ms=20_000)
    ticket = play.join(one)
    assert ticket not in play.answers
    assert play.group.state is GroupState.PREPARING
    play.join(f"b-{ticket - 1}")
    play.run()
    assert len(play.answers[ticket].members) == 2


def test_last_joiner_leads_if_the_leader_is_missing(play):
    leader, follower = play.stable("a", "b", session_ms=10 * REBALANCE)
    ticket = play.join(follower, protocols={"range": b"changed"})
    play.run(REBALANCE)
    assert play.answers[ticket].leader == follower != leader


# -- assignments -------------------------------------------------------------------------------------------------------


def test_assignments_wait_for_the_leader_and_go_to_whom_they_are_for(play):
    tickets = [play.join(name=name) for name in "abc"]
    play.run(2 * DELAY)
    a, b, c = (play.answers[ticket].member_id for ticket in tickets)
    waiting = play.sync(b)
    assert waiting not in play.answers
    led = play.sync(a, assignments={a: b"1", b: b"2", "a stranger": b"3"})
    assert (play.answers[led].assignment, play.answers[waiting].assignment) == (b"1", b"2")
    assert play.answers[play.sync(c)].assignment == b""  # the leader has forgotten it
    assert play.answers[led].protocol == "range"
    assert play.group.state is GroupState.STABLE


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"generation": 0}, IllegalGeneration),
        ({"generation": 2}, IllegalGeneration),
        ({"protocol_type": "connect"}, InconsistentProtocol),
        ({"protocol": "sticky"}, InconsistentProtocol),
        ({"instance_id": "i"}, UnknownMember),
        ({"protocol_type": "consumer", "protocol": "range"}, None),
    ],
)
def test_a_sync_must_fit_the_group(play, more, error):
    one = play.stable("a")[0]
    answer = play.answers[play.sync(one, **more)]
    assert type(answer) is error if error else answer.assignment == b"a"


def test_rebalance_answers_members_waiting_for_an_assignment(play):
    tickets = [play.join(name=name) for name in "ab"]
    play.run(2 * DELAY)
    follower = play.answers[tickets[1]].member_id
    waiting = play.sync(follower)
    play.join(name="c")
    assert play.answer_of(waiting) is RebalanceInProgress
    assert play.answer_of(play.sync(follower)) is RebalanceInProgress


def test_a_leader_that_never_assigns_is_out_after_the_rebalance_timeout(play):
    tickets = [play.join(name=name, session_ms=10 * REBALANCE) for name in "ab"]
    play.run(2 * DELAY)
    leader, follower = (play.answers[ticket].member_id for ticket in tickets)
    waiting = play.sync(follower)
    play.run(REBALANCE)
    assert play.answer_of(waiting) is RebalanceInProgress
    again = play.join(follower)
    play.run()
    assert play.answers[again].leader == follower
    assert leader not in play.group._roster.members


def test_a_follower_that_never_asks_for_its_assignment_is_out_too(play):
    tickets = [play.join(name=name, session_ms=10 * REBALANCE) for name in "ab"]
    play.run(2 * DELAY)
    leader, follower = (play.answers[ticket].member_id for ticket in tickets)
    play.sync(leader, assignments={leader: b"all"})
    assert play.group.state is GroupState.STABLE
    play.run(REBALANCE)
    assert follower not in play.group._roster.members
    with pytest.raises(RebalanceInProgress):
        play.beat(leader)
