"""lua/cursor/claim and leave of failover subscriptions: one active consumer, stand-bys in a fixed order."""

from __future__ import annotations

import pytest

from redis_ledger.store.script_status import Status
from tests.support.cursor_scripts import SESSION, Subscription


@pytest.fixture
def sub(log):
    log.append(10)
    return Subscription(log, kind="failover")


def consumers_of(sub):
    return {k.decode(): v.decode() for k, v in sub.log.client.hgetall(sub.keys.cursor).items() if k.startswith(b"@")}


def test_stand_bys_take_over_in_the_order_in_which_they_joined(sub):
    assert sub.own("c1") == [Status.OK, 1]
    for n, name in enumerate(("c3", "c2", "c4")):
        sub.now += 1
        assert sub.own(name) == [Status.OK, -1, "c1", SESSION - 1 - n]
    # When the active one closes, and the last of the order calls first
    sub.leave("c1")
    assert sub.own("c4") == [Status.OK, -1, "c3", SESSION - 2]
    # Then the first of the order is active
    assert sub.own("c2")[:3] == [Status.OK, -1, "c3"]
    assert sub.own("c3") == [Status.OK, 2]
    sub.leave("c3")
    assert sub.own("c2") == [Status.OK, 3]


def test_of_stand_bys_that_joined_at_once_the_first_by_name_takes_over(sub):
    sub.own("c1")
    for name in ("b", "a", "c"):
        sub.own(name)
    sub.leave("c1")
    assert sub.own("c")[:3] == [Status.OK, -1, "a"]


def test_a_stand_by_takes_over_when_the_session_of_the_active_one_ends(sub):
    sub.own("c1")
    sub.own("c2")
    sub.now += SESSION - 1
    assert sub.own("c2") == [Status.OK, -1, "c1", 1]
    sub.now += 1
    assert sub.own("c2") == [Status.OK, 2]
    # And the earlier one stands by when it comes back
    assert sub.own("c1") == [Status.OK, -1, "c2", SESSION]
    assert "@c1" in consumers_of(sub)


def test_a_stand_by_that_is_silent_is_passed_over_and_forgotten_after_its_session(sub):
    sub.own("c1")
    sub.own("silent")
    sub.now += SESSION // 2
    sub.own("c3")
    sub.leave("c1")
    assert sub.own("c3") == [Status.OK, 2]
    sub.now += SESSION // 2
    assert sub.own("c3") == [Status.OK, 2]
    assert set(consumers_of(sub)) == {"@c3"}


def test_a_silent_stand_by_stays_known_while_it_has_messages(log, sub):
    log.append(3)
    sub.receive("c2")
    sub.leave("c2")
    sub.own("c1")
    sub.own("c2")
    sub.own("c3")
    sub.now += SESSION + 1
    sub.own("c1")
    assert set(consumers_of(sub)) == {"@c1", "@c2"}


def test_the_active_consumer_and_the_stand_bys_keep_their_places_after_an_outage(sub):
    sub.own("c1")
    sub.own("c2")
    sub.own("c3")
    sub.now += 10 * SESSION
    pause = (10 * SESSION - 10, 10)
    assert sub.own("c3", pause=pause) == [Status.OK, -1, "c1", SESSION - 10]
    sub.leave("c1")
    assert sub.own("c3", pause=pause)[:3] == [Status.OK, -1, "c2"]


def test_extending_makes_no_consumer_a_stand_by(sub):
    sub.own("c1")
    assert sub.own("c2", take=False) == [Status.OK, -1, "c1", SESSION]
    assert set(consumers_of(sub)) == {"@c1"}
    sub.leave("c1")
    assert sub.own("c1", take=False) == [Status.OK, -1, "", 0]
    assert consumers_of(sub) == {}


def test_the_number_of_consumers_is_bounded(sub):
    for n in range(100):
        assert sub.own(f"c{n}")[0] == Status.OK
    assert sub.own("c100") == [Status.TOO_MANY]
    assert sub.own("c99")[0] == Status.OK
    sub.now += SESSION
    assert sub.own("c101") == [Status.OK, 2]
    assert set(consumers_of(sub)) == {"@c101"}


def test_a_consumer_whose_session_was_over_joins_anew_also_by_a_receive(log, sub):
    # Given an active consumer that has messages, and whose session ends
    log.append(3)
    epoch = sub.own("c1")[1]
    sub.receive("c1", epoch=epoch)
    sub.now += SESSION
    joined = sub.now
    # When it receives before anybody has taken over
    sub.receive("c1", epoch=epoch)
    # Then it has joined at that time
    since, *_ = sub.log.client.hget(sub.keys.cursor, "@c1").split()
    assert int(since) == joined


def test_a_repeated_leave_changes_nothing_that_came_after(sub):
    sub.own("c1")
    sub.own("c2")
    assert sub.leave("c1") == sub.leave("c1") == [Status.OK]
    assert sub.own("c2") == [Status.OK, 2]
    assert sub.leave("c1") == [Status.OK]
    assert sub.own("c2") == [Status.OK, 2]


def test_the_new_active_consumer_receives_what_the_lost_one_did_not_acknowledge_and_then_new_records(sub):
    assert list(sub.receive("c1", 5).offsets) == [0, 1, 2, 3, 4]
    sub.ack([1], "c1")
    assert sub.own("c2")[:3] == [Status.OK, -1, "c1"]
    sub.leave("c1")
    assert sub.receive("c2", 7).offsets == {0: 1, 2: 1, 3: 1, 4: 1, 5: 0, 6: 0, 7: 0}
    assert sub.receive_raw("c1", epoch=1) == [Status.NOT_OWNER]
    assert sub.ack([2], "c1") == [Status.NOT_LEASED, 2, "c2"]
    assert sub.ack_cumulative(7, "c2") == [Status.OK, 7, 8]
    sub.content()


def test_an_exclusive_subscription_is_free_as_soon_as_its_consumer_closes(log):
    exclusive = Subscription(log, kind="exclusive")
    exclusive.own("c1")
    assert exclusive.own("c2") == [Status.CONSUMER_BUSY, "c1", SESSION]
    exclusive.leave("c1")
    assert exclusive.own("c1", take=False) == [Status.CONSUMER_BUSY, "", 0]
    assert exclusive.own("c2") == [Status.OK, 2]
