"""Acknowledgement through a broker, inside and outside transactions: leases and redelivery."""

from __future__ import annotations

import asyncio

import pytest

from redis_ledger.errors import (
    NotDelivered,
    TransactionConflict,
    TransactionEnded,
    TransactionError,
    WrongSubscriptionKind,
)
from redis_ledger.txn.coordinator import Participant
from redis_ledger.txn.states import TxnState
from tests.support.acks import ack, ack_upto, at, cursor, filled, offsets
from tests.support.broker import begun, one, records, two, values_of, vanish


@pytest.fixture
async def broker(broker):
    await broker.subscriptions.create("t", "s")
    return broker


@pytest.fixture
async def pair(pair):
    await pair[0].subscriptions.create("t", "s")
    return pair


async def test_a_transactional_ack_outlives_its_broker(pair):
    """AK-01, AK-05: not delivered, and a conflict for others."""
    first, second = pair
    await filled(first, 1)
    txn = await begun(first)
    assert await ack(first, [0], txn) == 1
    await vanish(first)
    assert await offsets(second, consumer="other") == []
    with pytest.raises(TransactionConflict):
        await ack(second, [0], await begun(second), consumer="other")
    await second.transactions.commit(txn)
    assert (await cursor(second)).mark_delete == 1


async def test_a_plain_ack_of_a_pending_message_is_dropped(broker):
    """AK-02"""
    await filled(broker, 1)
    txn = await begun(broker)
    await ack(broker, [0], txn)
    assert await ack(broker, [0]) == 0
    await broker.transactions.abort(txn)
    assert await offsets(broker) == [0]


async def test_after_a_commit_the_message_is_gone_for_good(pair):
    """AK-03"""
    first, second = pair
    await filled(first, 2)
    txn = await begun(first)
    await ack(first, [0], txn)
    await first.transactions.commit(txn)
    assert await first.subscriptions.nack("t", "s", "c1", None) == 1
    assert await offsets(second) == [1]


async def test_after_an_abort_the_message_is_delivered_again_and_counts(broker):
    """AK-04"""
    await filled(broker, 1)
    for count in (1, 2):
        txn = await begun(broker)
        await ack(broker, [0], txn)
        await broker.transactions.abort(txn)
        (message,) = await broker.subscriptions.receive("t", "s", "c1", wait_ms=1_000)
        assert message.deliveries == count


async def test_the_first_of_two_transactions_wins_and_the_other_can_only_abort(pair):
    """AK-05, CL-16: its output is never seen, its input comes back."""
    first, second = pair
    await filled(first, 2)
    await first.topics.create("out")
    t1, t2 = await begun(first), await begun(second)
    await ack(first, [0], t1)
    await second.records.produce("out", records("never"), transaction=t2)
    await ack(second, [1], t2)
    with pytest.raises(TransactionConflict) as conflict:
        await ack(second, [0], t2)
    assert conflict.value.facts["transaction"] == str(t1)
    with pytest.raises(TransactionError):
        await second.transactions.commit(t2)
    await first.transactions.commit(t1)
    assert await values_of(first, "out") == []
    assert await offsets(first, wait_ms=1_000) == [1]
    assert (await cursor(first)).mark_delete == 1


@pytest.mark.parametrize("how", ["plainly", "in a transaction"])
async def test_a_message_that_is_acknowledged_already_is_a_conflict(broker, how):
    """AK-06: behind the mark-delete position, in front of it, and never delivered."""
    await filled(broker, 4)
    for acknowledged in (2, 0):
        txn = None if how == "plainly" else await begun(broker)
        await ack(broker, [acknowledged], txn)
        if txn is not None:
            await broker.transactions.commit(txn)
    assert (await cursor(broker)).mark_delete == 1
    for offset in (0, 2):
        with pytest.raises(TransactionConflict):
            await ack(broker, [offset], await begun(broker))
    with pytest.raises(NotDelivered):
        await ack(broker, [99], await begun(broker))


async def test_the_same_ack_again_succeeds(broker):
    """AK-07"""
    await filled(broker, 3)
    txn = await begun(broker)
    assert [await ack(broker, [0, 1], txn) for _ in range(3)] == [2, 2, 2]
    assert (await cursor(broker)).pending == 2
    await broker.transactions.commit(txn)
    assert (await cursor(broker)).mark_delete == 2


async def test_a_pending_message_is_not_delivered_whatever_is_tried(redis_url, prefix):
    """AK-08, AK-28"""
    async with two(redis_url, prefix) as (first, second):
        await first.topics.create("t")
        await first.subscriptions.create("t", "s")
        await first.records.produce("t", records("a"))
        assert await offsets(first, ack_timeout_ms=100) == [0]
        txn = await begun(first)
        await ack(first, [0], txn)
        assert await first.subscriptions.nack("t", "s", "c1", at(0)) == 0  # nack
        assert await first.subscriptions.nack("t", "s", "c1", None) == 0  # redeliver all
        assert await offsets(first, wait_ms=200) == []  # the lease it had has run out
        assert await offsets(first, consumer="c2") == []
        assert await offsets(second, consumer="c1") == []  # reconnect, elsewhere
        await vanish(first)
        async with one(redis_url, prefix) as third:  # restart
            assert await offsets(third, consumer="c3") == []
            await third.transactions.abort(txn)
            assert await offsets(third, consumer="c3", wait_ms=1_000) == [0]
            assert await offsets(third, consumer="c4") == []


async def test_transactions_on_different_records_of_one_batch_do_not_conflict(broker):
    """AK-09"""
    await filled(broker, 5)
    t1, t2, t3 = [await begun(broker) for _ in range(3)]
    await ack(broker, [0, 1], t1)
    await ack(broker, [2], t2)
    with pytest.raises(TransactionConflict):
        await ack(broker, [1], t3)
    await broker.transactions.commit(t1)
    await broker.transactions.abort(t2)
    assert await ack(broker, [2], await begun(broker)) == 1


async def test_redelivery_leaves_out_what_is_pending_or_acknowledged(broker):
    """AK-10"""
    await filled(broker, 9)
    t1, t2 = await begun(broker), await begun(broker)
    await ack(broker, [0, 1, 2], t1)
    await ack(broker, [3, 4, 5], t2)
    await ack(broker, [6, 7, 8])
    await broker.transactions.abort(t2)
    assert await offsets(broker, wait_ms=1_000) == [3, 4, 5]
    assert await offsets(broker) == []


async def test_pending_messages_take_no_place_in_what_is_delivered(broker):
    """AK-11"""
    await broker.records.produce("t", records(*"012345"))
    assert await offsets(broker, max_records=4) == [0, 1, 2, 3]
    t1, t2 = await begun(broker), await begun(broker)
    await ack(broker, [0, 1], t1)
    await ack(broker, [2, 3], t2)
    await broker.transactions.commit(t2)
    assert await offsets(broker, consumer="c2", max_records=2) == [4, 5]


async def test_one_transaction_at_a_time_acknowledges_cumulatively(broker):
    """AK-12"""
    await filled(broker, 8, "x", "exclusive")
    t1 = await begun(broker)
    await ack_upto(broker, 3, t1)
    for offset in (3, 5):
        with pytest.raises(TransactionConflict):
            await ack_upto(broker, offset, await begun(broker))
    await broker.transactions.abort(t1)
    assert await ack_upto(broker, 5, await begun(broker)) == 6


async def test_a_cumulative_ack_in_a_transaction_moves_forward_or_repeats_itself(broker):
    """AK-13, AK-07: going back is refused and is no reason to abort; a repetition succeeds and changes nothing."""
    await filled(broker, 15, "x", "exclusive")
    txn = await begun(broker)
    assert await ack_upto(broker, 10, txn) == 11
    assert await ack_upto(broker, 10, txn) == 11
    for offset in (9, 0):
        with pytest.raises(TransactionConflict):
            await ack_upto(broker, offset, txn)
    assert await ack_upto(broker, 11, txn) == 12
    await broker.transactions.commit(txn)
    assert (await cursor(broker, "x")).mark_delete == 12


@pytest.mark.parametrize("in_transaction", [True, False])
@pytest.mark.parametrize("kind", ["shared", "key_shared"])
async def test_cumulative_acks_on_a_shared_subscription_are_refused(broker, kind, in_transaction):
    """AK-14: the messages stay unacknowledged, and the transaction can go on."""
    await broker.subscriptions.create("t", kind, kind)
    await filled(broker, 2, kind)
    txn = await begun(broker) if in_transaction else None
    with pytest.raises(WrongSubscriptionKind):
        await ack_upto(broker, 1, txn, name=kind)
    before = await cursor(broker, kind)
    assert (before.mark_delete, before.backlog) == (0, 2)
    assert await ack(broker, [0, 1], txn, name=kind) == 2
    if txn is not None:
        await broker.transactions.commit(txn)
    assert (await cursor(broker, kind)).mark_delete >= 2


async def test_after_a_cumulative_abort_everything_comes_again_in_order(broker):
    """AK-15"""
    await filled(broker, 5, "x", "exclusive")
    txn = await begun(broker)
    await ack_upto(broker, 3, txn)
    await broker.transactions.abort(txn)
    await broker.subscriptions.nack("t", "x", "c1", None)
    assert await offsets(broker, "x", wait_ms=1_000) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("cumulative_first", [True, False])
async def test_single_and_cumulative_acks_of_two_transactions_conflict(pair, cumulative_first, commit):
    """AK-16: in either order; what the winner then does is what is there, at another broker as well."""
    first, second = pair
    await filled(first, 6, "x", "exclusive")
    winner, loser = await begun(first), await begun(first)
    if cumulative_first:
        await ack_upto(first, 3, winner)
        with pytest.raises(TransactionConflict):
            await ack(first, [2], loser, name="x")
    else:
        await ack(first, [2], winner, name="x")
        with pytest.raises(TransactionConflict):
            await ack_upto(first, 3, loser)
    await (first.transactions.commit if commit else first.transactions.abort)(winner)
    cursor_stats = await cursor(second, "x")
    assert cursor_stats.pending == 0
    acknowledged = (4 if cumulative_first else 1) if commit else 0
    assert cursor_stats.backlog == 6 - acknowledged
    await second.subscriptions.nack("t", "x", "c1", None)
    gone = set(range(4)) if cumulative_first else {2}
    left = set(range(6)) - (gone if commit else set())
    assert await offsets(second, "x", wait_ms=1_000) == sorted(left)


async def test_ends_of_what_is_not_there_succeed(broker):
    """AK-20: repeated, on a subscription that was deleted, and of a transaction that a partition has never seen."""
    await filled(broker, 2)
    txn = await begun(broker)
    await ack(broker, [0], txn)
    decision = await broker.coordinators.decide(txn, commit=True)
    for _ in range(3):
        await broker.transactions._participants.end(decision)
    assert (await cursor(broker)).mark_delete == 1
    other = await begun(broker)
    await ack(broker, [1], other)
    await broker.subscriptions.delete("t", "s")
    assert (await broker.transactions.commit(other)).status == "committed"
    await broker.subscriptions.create("t", "untouched")
    topic_id = (await broker.catalog.partition("t", 0)).topic_id
    participants = [Participant("t", topic_id, 0, name) for name in ("untouched", "never created")]
    unseen = decision._replace(txn=await begun(broker), participants=participants)
    for state in (TxnState.COMMITTING, TxnState.ABORTING):
        await broker.transactions._participants.end(unseen._replace(state=state))
    assert (await cursor(broker, "untouched")).mark_delete == 0


async def test_a_late_ack_of_an_ended_transaction_is_refused(broker):
    """AK-21: by one who registered in time and was asleep since."""
    await filled(broker, 2)
    await begun(broker)  # an older one, so that only the tombstone knows
    txn = await begun(broker)
    await ack(broker, [0], txn)
    await broker.transactions.commit(txn)
    partition = await broker.catalog.partition("t", 0)
    late = Participant("t", partition.topic_id, 0, "s")
    broker.subscriptions._registry._known[txn] = {late: asyncio.get_running_loop().time()}
    with pytest.raises(TransactionEnded):
        await ack(broker, [1], txn)
    assert (await cursor(broker)).pending == 0


@pytest.mark.parametrize(("commit", "unacked"), [(True, 25), (False, 50)])
async def test_a_transactional_ack_counts_when_it_is_committed(broker, commit, unacked):
    """AK-25"""
    await filled(broker, 50)
    txn = await begun(broker)
    await ack(broker, range(25), txn)
    cursor_stats = await cursor(broker)
    assert (cursor_stats.leased, cursor_stats.pending, cursor_stats.backlog) == (25, 25, 50)
    await (broker.transactions.commit if commit else broker.transactions.abort)(txn)
    assert (await cursor(broker)).backlog == unacked


async def test_a_refused_list_leaves_none_of_its_messages_pending(pair):
    """AK-27"""
    first, second = pair
    await filled(first, 3)
    await ack(first, [1], await begun(first))
    with pytest.raises(TransactionConflict):
        await ack(first, [0, 1, 2], await begun(first))
    cursor_stats = await cursor(second)
    assert (cursor_stats.leased, cursor_stats.pending) == (2, 1)
    assert await ack(second, [0, 2], await begun(second)) == 2


@pytest.mark.parametrize("commit", [True, False])
async def test_a_seek_drops_pending_acks_and_their_end_changes_nothing(broker, commit):
    """AK-30"""
    await filled(broker, 3)
    txn = await begun(broker)
    await ack(broker, [0, 1], txn)
    await broker.subscriptions.seek("t", "s", to="latest")
    await (broker.transactions.commit if commit else broker.transactions.abort)(txn)
    cursor_stats = await cursor(broker)
    assert (cursor_stats.mark_delete, cursor_stats.pending, cursor_stats.backlog) == (cursor_stats.end, 0, 0)
    assert await offsets(broker) == []
    await broker.subscriptions.seek("t", "s", offsets={0: 1})
    assert await offsets(broker) == [1, 2]
