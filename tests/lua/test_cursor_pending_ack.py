"""lua/cursor/pending_ack, include/end_pending_acks: acknowledgements in transactions (requirements AK-01 to AK-30)."""

from __future__ import annotations

import pytest

from redis_ledger.store.script_status import Status
from tests.support.cursor_scripts import ACK_TIMEOUT, Subscription
from tests.support.fake_log import TOPIC_ID

OK, CONFLICT = Status.OK, Status.TXN_CONFLICT


@pytest.fixture
def exclusive(log):
    log.append(10)
    made = Subscription(log, kind="exclusive")
    made.receive()
    return made


def ways_to_ask_again(sub):
    yield lambda: sub.nack([3], "c1")
    yield lambda: sub.nack(None, "c1")
    yield lambda: setattr(sub, "now", sub.now + 10 * ACK_TIMEOUT)
    yield lambda: sub.create("shared")
    yield sub.stats


def test_records_acknowledged_in_a_transaction_are_not_delivered_until_it_aborts(sub):
    # Given a message acknowledged in an open transaction, and all others for good
    assert sub.hold("0-1", [3]) == [OK, 1, 0]
    sub.ack([o for o in range(10) if o != 3])
    # When it is asked for in every way there is
    for ask in ways_to_ask_again(sub):
        ask()
        for consumer in ("c1", "c2"):
            assert sub.receive(consumer).offsets == {}
    # Then it comes once the transaction has aborted, to anyone, counted as one more delivery
    assert sub.settle("0-1", commit=False) == 1
    assert sub.receive("c2").offsets == {3: 1}


def test_a_commit_acknowledges_for_good(sub):
    sub.hold("0-1", [0, 1, 5])
    assert sub.settle("0-1", commit=True) == 3
    assert sub.content().mark == 2
    sub.now += ACK_TIMEOUT
    assert set(sub.receive("c2").offsets) == {2, 3, 4, 6, 7, 8, 9}


def test_a_plain_ack_of_a_held_message_is_dropped_silently(sub):
    sub.hold("0-1", [3])
    assert sub.ack([2, 3]) == [OK, 1, 0]
    sub.settle("0-1", commit=False)
    assert sub.receive("c2").offsets == {3: 1}


def test_the_first_transaction_wins(sub):
    sub.hold("0-1", [3, 4])
    assert sub.hold("0-2", [4, 5]) == [CONFLICT, 4, "0-1"]
    sub.hold("0-10", [6])
    assert sub.hold("0-1", [6]) == [CONFLICT, 6, "0-10"]
    assert sub.settle("0-1", commit=True) == 2


def test_acknowledged_messages_cannot_be_held(sub):
    sub.ack([0, 3])
    sub.hold("0-9", [5])
    sub.settle("0-9", commit=True)
    for offset in (0, 3, 5):
        assert sub.hold("0-1", [offset]) == [CONFLICT, offset, ""]


def test_the_same_ack_again_in_the_same_transaction_is_answered_as_the_first(sub):
    first = sub.hold("0-1", [2, 3, 7])
    before = sub.content()
    assert sub.hold("0-1", [2, 3, 7]) == first
    assert sub.content() == before
    # Overlapping what it holds with what is free is fine as well
    assert sub.hold("0-1", [3, 4, 7]) == [OK, 3, 0]
    assert sub.settle("0-1", commit=True) == 4


def test_indexes_of_one_batch_are_held_one_by_one(sub):
    assert sub.hold("0-1", [0, 1])[0] == OK
    assert sub.hold("0-2", [2])[0] == OK
    assert sub.hold("0-3", [1]) == [CONFLICT, 1, "0-1"]
    sub.settle("0-1", commit=True)
    sub.settle("0-2", commit=False)
    assert sub.hold("0-4", [2])[0] == OK


def test_redelivery_leaves_out_what_is_held_or_acknowledged(sub):
    sub.hold("0-1", [0, 1, 2])
    sub.hold("0-2", [3, 4, 5])
    sub.ack([6, 7, 8, 9])
    sub.settle("0-2", commit=False)
    assert sub.receive("c2").offsets == {3: 1, 4: 1, 5: 1}


def test_one_conflict_refuses_the_whole_list(sub):
    sub.hold("0-1", [4])
    before = sub.content()
    assert sub.hold("0-2", [1, 4, 7]) == [CONFLICT, 4, "0-1"]
    assert sub.content() == before


def test_foreign_or_undelivered_messages_cannot_be_held(log, sub):
    log.append(2)
    assert sub.hold("0-1", [1, 10]) == [Status.NOT_DELIVERED, 10]
    sub.receive("c2", 1)
    assert sub.hold("0-1", [1, 10]) == [Status.NOT_LEASED, 10, "c2"]
    assert sub.content().pending == {}


def test_messages_of_different_delivery_counts_keep_them(sub):
    sub.nack([2, 3])
    sub.receive("c1")  # 2 and 3 a second time
    sub.hold("0-1", [0, 1])
    sub.hold("0-1", [2, 3])
    sub.hold("0-1", [4])
    sub.settle("0-1", commit=False)
    assert sub.receive("c2").offsets == {0: 1, 1: 1, 2: 2, 3: 2, 4: 1}


def test_an_aborted_ack_counts_as_a_delivery(sub):
    sub.nack([9])
    sub.receive("c1")  # a second time
    sub.hold("0-1", [9])
    sub.settle("0-1", commit=False)
    assert sub.receive("c2").offsets == {9: 2}


def test_neighbours_come_back_as_one_lease_in_whatever_order_they_were_held(log):
    log.append(12)
    sub = Subscription(log)
    sub.receive()
    for offset in (11, 8, 10, 9):
        sub.hold("0-1", [offset])
    assert sub.settle("0-1", commit=False) == 4
    assert {*log.client.hkeys(sub.keys.leases)} == {b"", b"0", b"8"}


def test_neighbours_of_one_transaction_share_one_range(log, sub):
    for offset in range(8):
        sub.hold("0-1", [offset])
    assert log.client.hget(sub.keys.pending, "0-1") == f"I t{sub.now} @c1:8 0-7-0".encode()


@pytest.mark.parametrize("commit", [True, False])
def test_ends_are_idempotent_and_tolerant(sub, commit):
    sub.hold("0-1", [1])
    assert [sub.settle("0-1", commit=commit) for _ in range(3)] == [1, 0, 0]
    assert sub.settle("5-5", commit=commit) == 0
    sub.delete()
    assert sub.settle("0-1", commit=commit) == 0


def test_an_ack_that_comes_after_the_end_of_its_transaction_is_refused(log, sub):
    log.client.zadd(log.keys.ended, {"3-20": 1})
    log.client.hset(log.keys.watermarks, "4", "99")
    assert sub.hold("3-20", [1]) == [Status.TXN_ENDED]
    assert sub.hold("4-99", [1]) == [Status.TXN_ENDED]
    assert sub.hold("4-9", [1]) == [Status.TXN_ENDED]
    assert sub.hold("4-100", [1])[0] == OK
    assert sub.hold("3-21", [2])[0] == OK


def test_serials_beyond_double_precision_are_distinct(log, sub):
    # Given serials that become equal when they are taken for numbers
    low, high = "32767-9007199254740992", "32767-9007199254740993"
    assert float(low[6:]) == float(high[6:])
    sub.hold(low, [1])
    sub.hold(high, [2])
    assert sub.hold(high, [1]) == [CONFLICT, 1, low]
    assert sub.settle_leftovers(32767, 9007199254740992) == 1
    assert set(sub.content().pending) == {2}
    log.client.hset(log.keys.watermarks, "32767", "9007199254740992")
    assert sub.hold(low, [1]) == [Status.TXN_ENDED]
    assert sub.hold(high, [3])[0] == OK


def test_leftovers_below_the_watermark_of_their_coordinator_are_aborted(sub):
    for offset, txn in enumerate(("1-8", "1-9", "1-10", "1-11", "2-3")):
        sub.hold(txn, [offset])
    assert sub.settle_leftovers(1, 10) == 3
    assert sub.receive("c2").offsets == {0: 1, 1: 1, 2: 1}
    assert {txn for txn, _ in sub.content().pending.values()} == {"1-11", "2-3"}


def test_a_cumulative_ack_is_one_transactions_at_a_time(exclusive):
    assert exclusive.hold_cumulative("0-1", 3) == [OK, 4, 0]
    for offset in (2, 3, 5):
        assert exclusive.hold_cumulative("0-2", offset)[0] == CONFLICT
    exclusive.settle("0-1", commit=False)
    assert exclusive.hold_cumulative("0-2", 5) == [OK, 6, 0]


def test_a_cumulative_ack_only_goes_forward(exclusive):
    exclusive.ack_cumulative(1)
    assert exclusive.hold_cumulative("0-1", 1) == [CONFLICT, 1, ""]
    assert exclusive.hold_cumulative("0-1", 6) == [OK, 5, 2]
    assert exclusive.hold_cumulative("0-1", 6) == [OK, 5, 2]  # a repetition
    assert exclusive.hold_cumulative("0-1", 5) == [CONFLICT, 5, "0-1"]
    assert exclusive.hold_cumulative("0-1", 7) == [OK, 6, 2]
    exclusive.settle("0-1", commit=True)
    assert exclusive.content().mark == 8


def test_an_aborted_cumulative_ack_comes_back_in_order(exclusive):
    exclusive.hold_cumulative("0-1", 3)
    exclusive.settle("0-1", commit=False)
    exclusive.nack(None)
    assert list(exclusive.receive().offsets) == list(range(10))


@pytest.mark.parametrize("commit_first", [True, False])
@pytest.mark.parametrize("commit_second", [True, False])
def test_individual_and_cumulative_acks_of_two_transactions_conflict(exclusive, commit_first, commit_second):
    # Given a cumulative ack, inside of which an individual one of another transaction is refused
    exclusive.hold_cumulative("0-1", 4)
    assert exclusive.hold("0-2", [2]) == [CONFLICT, 2, "0-1"]
    # And an individual one beyond it, which refuses the cumulative one to go on over it
    assert exclusive.hold("0-2", [7])[0] == OK
    assert exclusive.hold_cumulative("0-1", 8) == [CONFLICT, 7, "0-2"]
    assert exclusive.hold_cumulative("0-1", 6) == [OK, 7, 0]
    # When both end
    assert exclusive.settle("0-2", commit=commit_second) == 1
    assert exclusive.settle("0-1", commit=commit_first) == 7
    # Then each has decided for its own
    exclusive.nack(None)
    back = [*(() if commit_first else range(7)), *(() if commit_second else (7,)), 8, 9]
    assert list(exclusive.receive().offsets) == back


def test_a_cumulative_ack_over_its_own_individual_ones_takes_them_in(exclusive):
    exclusive.hold("0-1", [2, 5])
    exclusive.ack([3])
    assert exclusive.hold_cumulative("0-1", 4) == [OK, 5, 0]  # 0 1 2 4 5
    assert exclusive.settle("0-1", commit=True) == 5
    assert exclusive.content().mark == 6


def test_another_cumulative_ack_waits_though_the_first_holds_only_what_is_beyond(log, exclusive):
    exclusive.hold("0-1", [8])
    exclusive.hold_cumulative("0-1", 3)
    log.trim(4)  # takes its cumulative part and leaves 8
    exclusive.receive()
    assert exclusive.hold_cumulative("0-2", 5) == [CONFLICT, 5, "0-1"]


@pytest.mark.parametrize("records", [4, 1_000])
def test_a_cumulative_ack_can_be_repeated_when_retention_has_removed_what_it_held(log, records):
    # Given a transaction with a cumulative ack, in one range or in very many, and an individual ack beyond it
    log.append(2 * records)
    exclusive = Subscription(log, kind="exclusive")
    exclusive.receive(most=2 * records)
    if records > 4:
        exclusive.ack(range(1, records, 2), most=records)
    held = records if records == 4 else records // 2
    exclusive.hold("0-1", [records + 2])
    assert exclusive.hold_cumulative("0-1", records - 1, most=records) == [OK, held + 1, 0]
    assert exclusive.hold_cumulative("0-1", records - 1, most=records) == [OK, held + 1, 0]
    # When retention removes a part of it, and all of it
    for start in (records - 2, records, records + 3):
        log.trim(start)
        for _ in range(5):
            exclusive.receive()
        # Then the same ack succeeds with what is left
        left = (start < records) + (start <= records + 2) + (start < records and records == 4)
        assert exclusive.hold_cumulative("0-1", records - 1, most=records)[:2] == [OK, left]
        assert exclusive.stats()["held"] == left
    assert exclusive.settle("0-1", commit=False) == 0


def test_seeking_drops_what_transactions_hold(sub):
    sub.hold("0-1", [3])
    sub.hold("0-2", [6])
    sub.seek(5)
    assert sub.settle("0-1", commit=False) == 0
    assert sub.settle("0-2", commit=True) == 0
    assert list(sub.receive().offsets) == list(range(5, 10))


def test_the_end_of_a_transaction_settles_every_subscription_it_names(log, sub):
    # Given two subscriptions in which two transactions hold acks
    other = Subscription(log, name="other")
    other.receive()
    sub.hold("0-1", [0, 1])
    other.hold("0-1", [0])
    other.hold("0-2", [1, 2])
    # When one call of txn/end commits the first and aborts the second
    keys = (*log.keys.end_keys, *sub.keys.all(), *other.keys.all())
    ends = [*(1, 0, 1, 1, "", 1, 2, 0, 1), *(2, 0, 2, 0, "", 1, 1, 1)]
    assert sub.run("txn/end", keys, TOPIC_ID, sub.now, 600_000, 2, log.keys.wake, *ends)[0] == OK
    # Then each cursor has been settled
    assert (sub.content().mark, other.content().mark) == (2, 1)
    assert other.receive("c2").offsets == {1: 1, 2: 1}
    assert sub.hold("0-1", [5]) == [Status.TXN_ENDED]
