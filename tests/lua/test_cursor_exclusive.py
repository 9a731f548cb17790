"""lua/cursor/claim, and receive and cumulative acks of exclusive subscriptions: one owner, in order."""

from __future__ import annotations

import pytest

from redis_ledger.store.script_status import Status
from tests.support.cursor_scripts import ACK_TIMEOUT, SESSION, Subscription


@pytest.fixture
def exclusive(log):
    log.append(10)
    return Subscription(log, kind="exclusive")


def test_an_exclusive_subscription_has_one_consumer_at_a_time(log):
    sub = Subscription(log, kind="exclusive")
    log.append(700)
    for last in range(-1, 599):
        sub.receive("c1", 1, after=last)
    # When another asks while the first one's session lives
    sub.now += 1_000
    assert sub.receive_raw("c2") == [Status.CONSUMER_BUSY, "c1", SESSION - 1_000]
    assert sub.ack_cumulative(3, "c2") == [Status.NOT_LEASED, 0, "c1"]
    assert sub.ack([0], "c1")[0] == Status.OK
    # And the first one prolongs its session
    assert sub.own("c1", take=False) == [Status.OK, 1]
    assert sub.receive_raw("c2")[2] == SESSION
    # Then after it, the new one finds everything in order, long before any lease runs out
    sub.now += SESSION
    seen: list[int] = []
    while got := sub.receive("c2", 250, after=seen[-1] if seen else "").offsets:
        seen.extend(got)
    assert seen == list(range(1, 700))
    assert sub.ack([1], "c1") == [Status.NOT_LEASED, 1, "c2"]
    sub.content()


@pytest.mark.parametrize("epoch", [9, 99])
def test_epochs_of_owners_are_compared_as_numbers(exclusive, epoch):
    exclusive.own("c1")
    exclusive.log.client.hset(exclusive.keys.cursor, "owner_epoch", epoch)
    assert list(exclusive.receive("c1", 2, epoch=epoch).offsets) == [0, 1]
    # When the next owner receives, then the one before it is refused
    exclusive.leave("c1")
    assert exclusive.own("c2") == [Status.OK, epoch + 1]
    assert list(exclusive.receive("c2", 2, epoch=epoch + 1).offsets) == [0, 1]
    assert exclusive.receive_raw("c1", epoch=epoch) == [Status.NOT_OWNER]


def test_an_exclusive_consumer_that_names_nothing_gets_all_it_has_not_acknowledged(exclusive):
    assert list(exclusive.receive(most=4).offsets) == [0, 1, 2, 3]
    exclusive.ack([1])
    assert exclusive.receive(most=4, unseen=False).offsets == {0: 1, 2: 1, 3: 1, 4: 0}
    assert exclusive.ack_cumulative(3) == [Status.OK, 3, 4]
    assert list(exclusive.receive(most=2, unseen=False).offsets) == [4, 5]
    exclusive.content()


def test_an_exclusive_consumer_gets_what_lies_behind_the_last_it_has_in_order(exclusive):
    # Given answers that arrived up to 3, and one that was lost
    exclusive.receive(most=4)
    assert list(exclusive.receive(most=3, after=3).offsets) == [4, 5, 6]
    # When the consumer asks again from 3 on, then it gets the lost ones first, with their count
    assert exclusive.receive(most=2, after=3).offsets == {4: 0, 5: 0}
    assert exclusive.receive(most=9, after=5).offsets == {6: 0, 7: 0, 8: 0, 9: 0}
    # And what it has had too long comes again, in order
    exclusive.now += ACK_TIMEOUT
    assert exclusive.receive(most=5, after=9).offsets == {0: 1, 1: 1, 2: 1, 3: 1, 4: 1}
    exclusive.content()


def test_a_delivery_that_was_not_seen_does_not_count_though_its_time_is_over(exclusive):
    # Given one lease of ten messages, of which the consumer saw five
    exclusive.receive()
    exclusive.now += ACK_TIMEOUT
    # When it asks again after their time, then only the five count as delivered once more
    assert exclusive.receive(after=4).offsets == dict.fromkeys(range(5), 1) | dict.fromkeys(range(5, 10), 0)
    # Also in two pages that end within the lease
    exclusive.now += ACK_TIMEOUT
    assert exclusive.receive(most=7, after=4).offsets == dict.fromkeys(range(5), 2) | {5: 0, 6: 0}
    assert exclusive.receive(most=7, after=6).offsets == {7: 0, 8: 0, 9: 0}


def test_nothing_new_is_delivered_before_hundreds_of_leases_that_were_lost(log):
    sub = Subscription(log, kind="exclusive")
    log.append(1_200)
    for last in range(-1, 1_000):
        sub.receive(most=1, after=last)
    seen: list[int] = []
    while got := sub.receive(most=1_000, after=seen[-1] if seen else "").offsets:
        seen.extend(got)
    assert seen == list(range(1_200))


def test_a_consumer_without_the_newest_epoch_gets_nothing(exclusive):
    assert exclusive.receive_raw("c1", epoch="") == [Status.NOT_OWNER]
    assert exclusive.own("c1") == [Status.OK, 1]
    assert list(exclusive.receive("c1", 2).offsets) == [0, 1]
    exclusive.now += SESSION
    assert exclusive.own("c2") == [Status.OK, 2]
    # Until the new owner has come to this partition, the old one may still acknowledge what it has
    assert exclusive.ack_cumulative(0, "c1") == [Status.OK, 1, 1]
    assert exclusive.receive("c2", 3).offsets == {1: 1, 2: 0, 3: 0}
    assert exclusive.receive_raw("c1", epoch=1) == [Status.NOT_OWNER]
    assert exclusive.own("c1") == [Status.CONSUMER_BUSY, "c2", SESSION]
    assert exclusive.ack_cumulative(1, "c1") == [Status.NOT_LEASED, 1, "c2"]


@pytest.mark.parametrize("took", [SESSION // 2, SESSION, 10 * SESSION])
def test_a_pause_of_redis_does_not_cost_the_owner_its_subscription(exclusive, took):
    exclusive.own("c1")
    # Given a pause that began a second after the owner's last call
    exclusive.now += 1_000 + took + 10
    pause = (took + 10, 10)
    # When another consumer is the first to call
    left = max(SESSION - 1_000 - took - 10, SESSION - 10)
    assert exclusive.own("c2", pause=pause) == [Status.CONSUMER_BUSY, "c1", left]
    # Then the owner still owns it, without a new epoch
    assert exclusive.own("c1", pause=pause) == [Status.OK, 1]


def test_an_owner_that_does_not_come_back_after_a_pause_loses_its_subscription_a_session_later(exclusive):
    exclusive.own("c1")
    exclusive.now += 10 * SESSION
    assert exclusive.own("c2", pause=(9 * SESSION + 10_000, SESSION - 1)) == [Status.CONSUMER_BUSY, "c1", 1]
    exclusive.now += 1
    assert exclusive.own("c2", pause=(9 * SESSION + 10_001, SESSION)) == [Status.OK, 2]


def test_a_session_that_had_ended_before_a_pause_is_not_revived(exclusive):
    exclusive.own("c1")
    exclusive.now += 2 * SESSION
    assert exclusive.own("c2", pause=(SESSION, 10)) == [Status.OK, 2]


def test_a_session_that_ended_can_only_be_prolonged_by_its_owner(exclusive):
    exclusive.own("c1")
    exclusive.now += SESSION
    assert exclusive.own("c2", take=False) == [Status.CONSUMER_BUSY, "c1", 0]
    assert exclusive.own("c1", take=False) == [Status.OK, 1]
    assert exclusive.own("c2") == [Status.CONSUMER_BUSY, "c1", SESSION]


@pytest.mark.parametrize("in_txn", [True, False])
def test_a_cumulative_ack_over_what_was_not_delivered_to_this_consumer_is_refused(exclusive, in_txn):
    def upto(offset, consumer="c2"):
        ack = exclusive.ack_cumulative if not in_txn else lambda *at: exclusive.hold_cumulative("0-9", *at)
        return ack(offset, consumer)

    # Given leases of an earlier owner, one that a transaction held at the change, and one that was handed back unseen
    exclusive.receive("c1", 6)
    exclusive.hold("0-1", [1], "c1")
    exclusive.now += SESSION
    assert list(exclusive.receive("c2", 1).offsets) == [0]
    assert upto(3) == ([Status.TXN_CONFLICT, 1, "0-1"] if in_txn else [Status.NOT_LEASED, 2, "c1"])
    assert list(exclusive.receive("c2", 9, after=0).offsets) == [2, 3, 4, 5, 6, 7, 8, 9]
    exclusive.settle("0-1", commit=False)
    exclusive.nack([4], "c2", unseen=True)
    # When the new owner acknowledges over them, it is refused
    assert upto(3) == [Status.NOT_DELIVERED, 1]
    assert exclusive.receive("c2", 1, after=9).offsets == {1: 1}
    assert upto(5) == [Status.NOT_DELIVERED, 4]
    # Then it may as soon as it was given them
    assert exclusive.receive("c2", 1, after=9).offsets == {4: 1}
    assert upto(5)[0] == Status.OK
    assert exclusive.content().mark == (0 if in_txn else 6)


def test_messages_nacked_by_the_consumer_do_not_block_its_cumulative_ack(exclusive):
    exclusive.receive("c1", 5)
    exclusive.nack([1], "c1", delay=1_000)
    assert exclusive.ack_cumulative(3) == [Status.OK, 4, 4]


def test_a_repeated_request_goes_on_behind_what_its_first_call_delivered(log):
    """A request on several partitions may call each of them more than once."""
    sub = Subscription(log, kind="exclusive")
    log.append(6)
    sub.receive("c1", 4, request="r1.0")
    assert list(sub.receive("c1", 2, request="r1.1", again=1).offsets) == [0, 1]
    assert list(sub.receive("c1", 2, request="r1.1", again=1, after=1).offsets) == [2, 3]
    assert list(sub.receive("c1", 2, request="r1.1", again=1, after=3).offsets) == [4, 5]
