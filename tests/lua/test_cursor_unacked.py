"""Unacknowledged offsets: counted for each consumer, and limited by cursor/receive."""

from __future__ import annotations

import pytest

from redis_ledger.store.script_status import Status
from tests.support.cursor_scripts import ACK_TIMEOUT, SESSION, Subscription

CONSUMER, SUBSCRIPTION = 2, 3  # `more` of a receive that a limit stopped


@pytest.fixture
def sub(log):
    log.append(100)
    return Subscription(log)


def consumer(sub, name="c1"):
    """since, until, unacked, delivered, redelivered; None without a field."""
    text = sub.log.client.hget(sub.keys.cursor, f"@{name}")
    return text and [int(number) for number in text.split()[:5]]


def unacked(sub, name="c1"):
    return consumer(sub, name)[2]


def more(sub, name="c1", most=100, **options):
    reply = sub.receive_raw(name, most, **options)
    return sum(int(last) - int(first) + 1 for first, last in zip(reply[6::11], reply[7::11], strict=True)), reply[4]


@pytest.mark.parametrize("commit", [True, False])
def test_offsets_acknowledged_in_an_open_transaction_count_until_it_ends(sub, commit):
    """AK-25: of 50 received and 25 acknowledged in a transaction, 25 are left after a commit and 50 after an abort."""
    sub.receive("c1", 50)
    sub.hold("0-1", range(25), "c1")
    assert unacked(sub) == 50
    sub.content()
    sub.settle("0-1", commit=commit)
    sub.content()
    if not commit:  # delivered again, since an abort returns them
        assert list(sub.receive("c1", 25).offsets) == list(range(25))
    assert unacked(sub) == (25 if commit else 50)


def test_acks_nacks_and_takeovers_move_the_counters(sub):
    sub.receive("c1", 10)
    sub.receive("c2", 10)
    sub.ack([0, 3, 4], "c1")
    sub.nack([1], "c1")
    assert (unacked(sub), unacked(sub, "c2")) == (6, 10)
    # When a lease expires and another consumer gets it
    sub.now += ACK_TIMEOUT
    sub.receive("c2", 100)
    assert (unacked(sub), unacked(sub, "c2")) == (0, 97)
    assert consumer(sub, "c2")[3:] == [107, 17]
    sub.ack(range(100), "c2")
    assert unacked(sub, "c2") == 0
    sub.content()


def test_parts_of_a_transaction_that_ends_in_steps_leave_the_counters_step_by_step(sub):
    sub.receive("c1", 40)
    sub.receive("c2", 40)
    sub.hold("0-1", range(0, 40, 2), "c1")
    sub.hold("0-1", range(41, 80, 2), "c2")
    while sub.settle("0-1", commit=True, room=7):
        assert unacked(sub) + unacked(sub, "c2") == int(sub.content().fields["leased"]) + int(
            sub.content().fields["held"]
        )
    assert (unacked(sub), unacked(sub, "c2")) == (20, 20)


def test_a_consumer_at_its_limit_gets_no_more_until_it_acknowledges(sub):
    limits = (10, 0)
    assert more(sub, limits=limits) == (10, CONSUMER)
    assert more(sub, limits=limits) == (0, CONSUMER)
    assert more(sub, "c2", 5, limits=limits) == (5, 1)
    sub.ack([2, 3, 7], "c1")
    assert more(sub, limits=limits) == (3, CONSUMER)
    sub.nack([0], "c1")
    assert more(sub, limits=limits) == (1, CONSUMER)
    sub.content()


def test_a_subscription_at_its_limit_gives_no_consumer_more(sub):
    limits = (0, 10)
    assert more(sub, "c1", 6, limits=limits) == (6, 1)
    assert more(sub, "c2", limits=limits) == (4, SUBSCRIPTION)
    assert more(sub, "c3", limits=limits) == (0, SUBSCRIPTION)
    sub.hold("0-1", [0, 1], "c1")
    assert more(sub, "c3", limits=limits) == (0, SUBSCRIPTION)
    sub.settle("0-1", commit=True)
    assert more(sub, "c3", limits=limits) == (2, SUBSCRIPTION)


def test_offsets_of_others_transactions_take_nothing_from_a_new_consumer(sub):
    """AK-11: 0 and 1 are pending, 2 and 3 committed; a consumer with room for two gets 4 and 5."""
    sub.receive("c1", 4)
    sub.hold("0-1", [0, 1], "c1")
    sub.ack([2, 3], "c1")
    assert list(sub.receive("c2", 100, limits=(2, 0)).offsets) == [4, 5]


def test_a_repeated_request_gets_its_messages_at_the_limit(sub):
    """The response was lost: these are counted already."""
    assert list(sub.receive("c1", request="r1.0", limits=(3, 3)).offsets) == [0, 1, 2]
    assert list(sub.receive("c1", request="r1.1", again=1, limits=(3, 3)).offsets) == [0, 1, 2]
    assert unacked(sub) == 3


def test_what_another_consumer_left_is_redelivered_within_the_limit_of_the_subscription(sub):
    sub.receive("c1", 10, limits=(0, 10))
    sub.now += ACK_TIMEOUT
    assert more(sub, "c2", limits=(4, 10)) == (4, CONSUMER)
    assert more(sub, "c3", limits=(0, 10)) == (6, SUBSCRIPTION)
    assert (unacked(sub), unacked(sub, "c2"), unacked(sub, "c3")) == (0, 4, 6)


@pytest.mark.parametrize("kind", ["exclusive", "failover"])
def test_an_ordered_consumer_stays_in_order_at_its_limit(log, kind):
    log.append(10)
    sub = Subscription(log, kind=kind)
    sub.receive("c1", 5)
    sub.nack([1, 3], "c1")
    assert list(sub.receive("c1", 100, after=4, limits=(4, 0)).offsets) == [1]
    assert list(sub.receive("c1", 100, after=4, limits=(6, 0)).offsets) == [3, 5]
    sub.leave("c1")
    assert list(sub.receive("c2", 100, limits=(3, 0)).offsets) == [0, 1, 2]
    sub.content()


def test_a_cursor_whose_counters_do_not_fit_is_counted_anew(sub):
    """As after a repair."""
    client, keys = sub.log.client, sub.keys
    sub.receive("c1", 20)
    sub.receive("c2", 5)
    # Given fields that do not follow a change
    before = client.hgetall(keys.cursor)
    sub.ack(range(10), "c1")
    client.hset(keys.cursor, mapping={k: v for k, v in before.items() if k.startswith(b"@") or k == b"tracked"})
    assert unacked(sub) == 20
    # When the next script is called
    sub.ack([20], "c2")
    assert (unacked(sub), unacked(sub, "c2")) == (10, 4)
    # Then it also counts without the field
    client.hdel(keys.cursor, "tracked")
    sub.ack([10], "c1")
    assert unacked(sub) == 9
    sub.content()


def test_a_seek_leaves_nothing_unacknowledged(sub):
    sub.receive("c1", 20)
    sub.hold("0-1", [0, 1], "c1")
    sub.seek(50)
    assert more(sub, limits=(3, 3)) == (3, CONSUMER)
    assert unacked(sub) == 3


def test_a_consumer_that_closes_stays_listed_while_a_transaction_holds_its_messages(sub):
    sub.receive("c1", 4)
    sub.hold("0-1", [0, 1], "c1")
    sub.nack(None, "c1")
    sub.leave("c1")
    assert unacked(sub) == 2
    sub.settle("0-1", commit=True)
    assert unacked(sub) == 0
    assert sub.leave("c1") == [Status.OK]
    assert consumer(sub) is None


def test_the_number_of_consumers_that_are_kept_is_bounded(log):
    # Given consumers with a message each, and many that have none; the sessions of the first end first
    log.append(300)
    sub = Subscription(log)

    def receive_by(*numbers: int) -> None:
        for n in numbers:
            sub.now += 1
            sub.receive(f"c{n}", 1)

    receive_by(*range(100))
    until = sub.now + 1 + SESSION
    log.client.hset(sub.keys.cursor, mapping={f"@c{n}": f"{sub.now} {until} 0 0 0" for n in range(100, 990)})
    # When others follow, then a thousand are kept
    receive_by(*range(990, 1_100))
    names = [name for name in log.client.hkeys(sub.keys.cursor) if name.startswith(b"@")]
    assert sorted(names) == sorted(b"@c%d" % n for n in range(100, 1_100))
    # And those that are over and have nothing go first
    sub.ack(range(210), "c1099")
    sub.now += SESSION + ACK_TIMEOUT
    sub.receive("new", 1)
    assert consumer(sub, "new")[2:] == [1, 1, 1]


def test_of_consumers_that_are_not_kept_those_go_whose_own_session_is_over_and_who_have_nothing(log):
    log.append(100)
    sub = Subscription(log)
    begin = sub.now
    for n in range(70):
        sub.now = begin + 10 * n
        sub.receive(f"c{n}", 1)
        if n not in (3, 65):
            sub.ack([n], f"c{n}")
    # When another joins, while some of the sessions are over
    sub.now = begin + SESSION + 10 * 29
    sub.receive("new", 1)
    over = [n for n in range(70) if consumer(sub, f"c{n}") is None]
    # Then those remain that have messages, or a session
    assert over == [n for n in range(30) if n != 3]
    assert [unacked(sub, name) for name in ("c3", "c65", "new")] == [1, 1, 1]


def test_a_call_with_an_earlier_time_does_not_shorten_a_session(sub):
    """Clocks of brokers differ."""
    sub.receive("c1", 1)
    until = consumer(sub)[1]
    sub.now -= 1_000
    sub.receive("c1", 1)
    assert consumer(sub)[1] == until
