"""groups/classic.py: static members, with a group.instance.id (KIP-345)."""

from __future__ import annotations

import pytest

from redis_ledger.errors import (
    FencedInstance,
    InvalidRequest,
    UnknownMember,
)
from redis_ledger.groups.member import GroupState
from tests.support.classic import DELAY, REBALANCE, Play


@pytest.fixture
def play():
    return Play()


# -- static members ----------------------------------------------------------------------------------------------------


def stable_statics(play):
    tickets = [play.join(name=name, instance_id=name, session_ms=10 * REBALANCE) for name in "ab"]
    play.run(2 * DELAY)
    a, b = (play.answers[ticket].member_id for ticket in tickets)
    play.sync(b, instance_id="b")
    play.sync(a, assignments={a: b"of a", b: b"of b"}, instance_id="a")
    return a, b


def test_returning_static_member_keeps_its_assignment_without_a_rebalance(play):
    a, b = stable_statics(play)
    back = play.answers[play.join(instance_id="b", name="b")]
    assert back.member_id not in (a, b)
    assert (back.generation, back.leader, back.members) == (1, a, ())
    assert play.answers[play.sync(back.member_id, instance_id="b")].assignment == b"of b"
    assert play.group.state is GroupState.STABLE
    # The one it replaced is fenced, whatever it asks
    assert play.answer_of(play.sync(b, instance_id="b")) is FencedInstance
    assert play.answer_of(play.join(b, instance_id="b")) is FencedInstance
    with pytest.raises(FencedInstance):
        play.group.heartbeat(b, "b", 1, play.now)
    with pytest.raises(FencedInstance):
        play.group.check_commit(b, "b", 1, play.now)
    assert play.leave_as((b, "b")) == [FencedInstance]


@pytest.mark.parametrize("can_skip", [True, False])
def test_a_static_leader_that_comes_back_does_not_assign(play, can_skip):
    a, b = stable_statics(play)
    back = play.answers[play.join(instance_id="a", name="a", can_skip=can_skip)]
    assert back.skip_assignment is can_skip
    if can_skip:
        assert back.leader == back.member_id
        assert {member.member_id for member in back.members} == {back.member_id, b}
    else:
        assert back.leader == a != back.member_id  # so that it takes itself for a follower
        assert back.members == ()
    assert play.answers[play.sync(back.member_id, instance_id="a")].assignment == b"of a"


def test_a_static_member_that_comes_back_with_another_protocol_makes_all_rebalance(play):
    tickets = [play.join(name=n, instance_id=n, protocols={"x": b"", "y": b""}) for n in "ab"]
    play.run(2 * DELAY)
    a, b = (play.answers[ticket].member_id for ticket in tickets)
    play.sync(b)
    play.sync(a, assignments={})
    waiting = play.join(instance_id="b", protocols={"y": b""})
    assert waiting not in play.answers
    play.join(a, instance_id="a", protocols={"x": b"", "y": b""})
    play.run()
    assert play.answers[waiting].protocol == "y"


def test_while_assignments_are_made_a_static_member_that_comes_back_begins_anew(play):
    tickets = [play.join(name=n, instance_id=n) for n in "ab"]
    play.run(2 * DELAY)
    a, b = (play.answers[ticket].member_id for ticket in tickets)
    fenced = play.sync(b, instance_id="b")
    waiting = play.join(instance_id="b", name="b")
    assert play.answer_of(fenced) is FencedInstance
    assert play.answers[fenced].facts["member_id"] == b
    play.join(a, instance_id="a")
    play.run()
    assert play.answers[waiting].generation == 2


def test_a_static_member_that_does_not_join_again_stays_until_its_session_ends(play):
    a, b = stable_statics(play)
    ticket = play.join(a, instance_id="a")
    play.run(REBALANCE)
    assert {member.member_id for member in play.answers[ticket].members} == {a, b}
    play.sync(a, assignments={a: b"", b: b"kept"}, instance_id="a")
    back = play.answers[play.join(instance_id="b")]
    assert play.answers[play.sync(back.member_id, instance_id="b")].assignment == b"kept"


def test_an_administrator_takes_a_static_member_out_by_its_instance(play):
    _, b = stable_statics(play)
    assert play.leave_as(("", "b"), ("", "unknown"), ("", None)) == [None, UnknownMember, UnknownMember]
    assert play.group.state is GroupState.PREPARING
    with pytest.raises(UnknownMember):
        play.group.heartbeat(b, "b", 1, play.now)


def test_an_instance_that_is_not_known_does_not_make_a_member_known(play):
    one = play.stable("a")[0]
    assert play.answer_of(play.join(one, instance_id="i")) is UnknownMember
    play.join(name="b", is_called=True)
    assert play.answer_of(play.join(f"b-{play.asked}", instance_id="i")) is InvalidRequest


def test_another_leads_while_a_static_leader_has_not_come_back(play):
    a, b = stable_statics(play)
    ticket = play.join(b, instance_id="b", protocols={"range": b"changed"})
    play.run(REBALANCE)
    assert play.answers[ticket].leader == b
    assert {member.member_id for member in play.answers[ticket].members} == {a, b}


def test_a_newcomer_does_not_wait_for_the_session_of_static_members_that_are_away(play):
    # Given two static members of which none has come back in time
    a, _ = stable_statics(play)
    play.join(a, instance_id="a", protocols={"range": b"changed"})
    play.leave_as((a, "a"))
    play.run(REBALANCE)
    # When a member joins
    ticket = play.join(name="c")
    # Then it waits for one rebalance timeout, and they stay members
    play.run(REBALANCE)
    assert play.answers[ticket].leader == f"c-{ticket}"
    assert len(play.answers[ticket].members) == 2


def test_a_static_member_that_came_back_has_to_ask_for_its_assignment_as_the_others(play):
    tickets = [play.join(name=n, instance_id=n, session_ms=10 * REBALANCE) for n in "ab"]
    play.run(2 * DELAY)
    a, _ = (play.answers[ticket].member_id for ticket in tickets)
    play.sync(a, instance_id="a")
    back = play.answers[play.join(instance_id="b", session_ms=10 * REBALANCE)]
    play.run(REBALANCE)
    with pytest.raises(UnknownMember):
        play.group.heartbeat(back.member_id, "b", 1, play.now)
