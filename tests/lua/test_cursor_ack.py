"""lua/cursor/ack, ack_cumulative, nack: all offsets of a call, or none; and the position of the mark."""

from __future__ import annotations

from itertools import pairwise

import pytest

from redis_ledger.cursor import ack_chunks
from redis_ledger.store.script_status import Status
from tests.support.cursor_scripts import ACK_TIMEOUT, CHUNK, Subscription
from tests.support.fake_log import FakeLog


def test_acks_in_order_move_the_mark_and_set_no_bit(log, sub):
    assert sub.ack([0, 1, 2]) == [Status.OK, 3, 3]
    assert log.client.hlen(sub.keys.acks) == 1  # the sentinel
    assert sub.ack(range(3, 10)) == [Status.OK, 7, 10]
    assert sub.content().leases == {}


def test_acks_out_of_order_wait_for_the_mark(sub):
    assert sub.ack([1, 2, 5, 9]) == [Status.OK, 4, 0]
    assert sub.content().bits == {1, 2, 5, 9}
    assert sub.ack([0]) == [Status.OK, 1, 3]
    assert sub.ack([3, 4, 6, 7, 8]) == [Status.OK, 5, 10]


def test_a_repeated_ack_is_answered_as_the_first_and_changes_nothing(sub):
    first = sub.ack([2, 3, 7])
    before = sub.content()
    assert sub.ack([2, 3, 7]) == first
    assert sub.content() == before


def test_splitting_a_lease_keeps_its_consumer_count_and_deadline(sub):
    sub.now += ACK_TIMEOUT
    sub.receive("c2")
    sub.ack([3, 6], "c2")
    leases = sub.content().leases
    assert set(leases) == {0, 1, 2, 4, 5, 7, 8, 9}
    assert set(leases.values()) == {("c2", 1, sub.now + ACK_TIMEOUT)}


@pytest.mark.parametrize(
    ("offsets", "answer"),
    [
        ([0, 10], [Status.NOT_DELIVERED, 10]),  # not dispatched: it is beyond the stable offset
        ([1, 11], [Status.NOT_DELIVERED, 11]),
        ([1, 99], [Status.NOT_DELIVERED, 99]),
        ([2, 12], [Status.NOT_DELIVERED, 12]),
    ],
)
def test_undelivered_messages_cannot_be_acknowledged(log, sub, offsets, answer):
    log.append(producer="7", in_txn=True)
    log.append(2)
    sub.receive()
    assert sub.ack(offsets) == answer
    assert sub.content().mark == 0
    assert sub.content().bits == set()


def test_markers_and_aborted_records_can_be_acknowledged_without_effect(log, sub):
    log.append(2, producer="7", in_txn=True)
    log.end("7", commit=False)
    log.append()
    sub.receive()
    before = sub.content()
    assert sub.ack([10, 11, 12]) == [Status.OK, 3, 0]
    assert sub.content() == before


def test_one_offset_of_another_consumer_refuses_the_whole_call(log, sub):
    log.append(2)
    sub.receive("c 2".replace(" ", "%20"))
    assert sub.ack([0, 5, 11]) == [Status.NOT_LEASED, 11, "c%202"]
    assert len(sub.content().leases) == 12


@pytest.mark.parametrize("start", [0, CHUNK - 5, CHUNK, 2 * CHUNK - 1])
def test_acknowledged_offsets_go_over_the_borders_of_their_chunks(client, prefix, start):
    # Given four chunks' worth of records from anywhere in a chunk
    log = FakeLog(client, prefix, next_offset=start)
    size = 3 * CHUNK + 17
    log.append(size)
    sub = Subscription(log)
    sub.receive(most=size)
    # When all but the first are acknowledged, backwards, in pieces that straddle every border
    bounds = [*range(start + 1, start + size, 1_000), start + size]
    for first, last in reversed(list(pairwise(bounds))):
        assert sub.ack(range(first, last)) == [Status.OK, last - first, start]
    assert sub.content().bits == set(range(start + 1, start + size))
    assert (
        sum(len(text) for text in client.hvals(sub.keys.acks)) < 16
    )  # lists of the first and the last chunk, full ones
    # Then acknowledging the first one passes over all of them and forgets the chunks
    assert sub.ack([start]) == [Status.OK, 1, start + size]
    last = (start + size) // CHUNK
    assert set(client.hkeys(sub.keys.acks)) <= {b"", b"8e90", ack_chunks.list_name(last)}


@pytest.mark.parametrize("stop", [8, 9, 15, 16, 63, 64, 8_191, 8_192, 8_193, 16_384])
def test_the_mark_stops_at_the_first_offset_that_is_not_acknowledged(client, prefix, stop):
    log = FakeLog(client, prefix)
    log.append(20_000)
    sub = Subscription(log)
    sub.receive(most=20_000)
    sub.ack([*range(1, stop), *range(stop + 1, stop + 40)])
    assert sub.ack([0]) == [Status.OK, 1, stop]
    assert sub.ack([stop]) == [Status.OK, 1, stop + 40]
    sub.content()


def test_a_cumulative_ack_takes_all_up_to_an_offset(log):
    log.append(10)
    sub = Subscription(log, kind="exclusive")
    sub.receive()
    sub.ack([2, 6])
    assert sub.ack_cumulative(5) == [Status.OK, 5, 7]
    assert sub.ack_cumulative(5) == [Status.OK, 0, 7]
    assert sub.ack_cumulative(9) == [Status.OK, 3, 10]
    sub.content()


def test_a_cumulative_ack_leaves_what_a_transaction_holds(log):
    log.append(10)
    sub = Subscription(log, kind="exclusive")
    sub.receive()
    sub.hold("0-1", [3, 4])
    assert sub.ack_cumulative(7) == [Status.OK, 6, 3]
    assert set(sub.content().pending) == {3, 4}
    assert sub.settle("0-1", commit=True) == 2
    assert sub.content().mark == 8


def test_a_cumulative_ack_does_not_cover_undelivered_records(log):
    # Given a record, one in an open transaction, and one behind it
    log.append()
    log.append(producer="7", in_txn=True)
    log.append()
    sub = Subscription(log, kind="exclusive")
    sub.receive()
    # When a consumer acknowledges up to the last
    assert sub.ack_cumulative(2) == [Status.NOT_DELIVERED, 1]
    # Then it is refused, and after the commit both are delivered
    log.end("7", commit=True)
    assert list(sub.receive(after=0).offsets) == [1, 2]


def test_a_cumulative_ack_on_a_shared_subscription_is_refused(sub):
    assert sub.ack_cumulative(3) == [Status.WRONG_KIND, "shared"]
    assert sub.hold_cumulative("0-1", 3) == [Status.WRONG_KIND, "shared"]


def test_nacked_messages_are_redelivered_to_any_consumer(sub):
    assert sub.nack([1, 2, 8]) == [Status.OK, 3]
    assert sub.receive("c2").offsets == {1: 1, 2: 1, 8: 1}
    assert sub.nack([1, 2, 8]) == [Status.OK, 0]  # it is another consumer's now


def test_nacked_messages_are_redelivered_after_their_delay(sub):
    sub.nack([1], delay=500)
    got = sub.receive("c2")
    assert (got.offsets, got.next_due) == ({}, sub.now + 500)
    sub.now += 500
    assert sub.receive("c2").offsets == {1: 1}


def test_undelivered_records_come_again_as_a_first_delivery(sub):
    assert sub.nack([1, 2], unseen=True) == [Status.OK, 2]
    assert sub.nack([3]) == [Status.OK, 1]
    assert sub.receive("c2").offsets == {1: 0, 2: 0, 3: 1}
    assert sub.nack([2, 3], "c2", unseen=True) == [Status.OK, 2]
    assert sub.receive("c3").offsets == {2: 0, 3: 1}
    assert sub.ack([1], "c1")[0] == Status.NOT_LEASED
    sub.nack([3], "c3", unseen=True)
    assert sub.ack([3], "c1")[:2] == [Status.OK, 1], "no lease is left, and c1 had it once"


def test_nack_without_ranges_returns_all_leases_of_a_consumer(log, sub):
    log.append(2)
    sub.receive("c2")
    sub.ack([4])
    sub.hold("0-1", [5])
    assert sub.nack(None) == [Status.OK, 8]
    assert set(sub.receive("c3").offsets) == {0, 1, 2, 3, 6, 7, 8, 9}


def test_nacked_messages_can_be_acknowledged_until_redelivery(sub):
    sub.nack([0, 1])
    assert sub.ack([0, 1]) == [Status.OK, 2, 2]
