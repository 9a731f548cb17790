"""Concurrent transactional acks: one script call for all, or one each if one of them is not simple."""

from __future__ import annotations

import asyncio

import pytest

from redis_ledger.cursor import scripts
from redis_ledger.cursor.ranges import Range
from redis_ledger.errors import AlreadyAborted, NotDelivered, NotYourMessage, TransactionConflict
from redis_ledger.ids import MessageId
from tests.support.broker import eventually, live_transactions, one, records

pytestmark = pytest.mark.usefixtures("both_ways")

COUNT = 40


@pytest.fixture
async def broker(redis_url, prefix):
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("t")
        await broker.subscriptions.create("t", "s")
        await broker.records.produce("t", records(*[str(n) for n in range(COUNT)]))
        yield broker


async def received(broker, consumer="c1", most=COUNT):
    return [m.id.offset for m in await broker.subscriptions.receive("t", "s", consumer, max_records=most)]


async def begun(broker, count):
    return [(await broker.transactions.begin()).id for _ in range(count)]


def ack(broker, txn, *offsets, consumer="c1"):
    return broker.subscriptions.ack("t", "s", consumer, [MessageId(0, o) for o in offsets], transaction=txn)


async def together(broker, txns, offsets_of):
    """All at once; partitions are registered first, so that the acks really meet."""
    for txn in txns:
        await broker.transactions.add_subscriptions(txn, [("t", "s")])
    return await asyncio.gather(*(ack(broker, t, *offsets_of(i)) for i, t in enumerate(txns)), return_exceptions=True)


async def pending(broker):
    return (await broker.subscriptions.stats("t", "s")).cursors[0].pending


async def test_acks_that_come_together_after_the_end_of_one_of_them_are_not_held(broker):
    """AK-03: else the ended one would hold its message for ever."""
    await received(broker)
    _, ended, open_ = await begun(broker, 3)  # the first keeps the watermark low: only the tombstone names the second
    await broker.transactions.add_subscriptions(ended, [("t", "s")])
    await broker.transactions.commit(ended)
    partition = await broker.catalog.partition("t", 0)
    holds = [("c1", ended, [Range(0, 0)]), ("c1", open_, [Range(1, 1)])]
    where = (broker.store, partition.keys, partition.topic_id, "s")
    assert not await scripts.pending_ack_many(*where, holds, now_ms=broker.clock.now_ms())
    assert await pending(broker) == 0


async def test_an_end_gives_back_the_acks_that_transactions_below_the_watermark_left_pending(redis_url, prefix):
    async with one(redis_url, prefix, coordinators=1, end_overdue_ms=60_000) as broker:
        await broker.topics.create("t")
        await broker.subscriptions.create("t", "s")
        await broker.records.produce("t", records("a", "b"))
        assert await received(broker) == [0, 1]
        lost, other = await begun(broker, 2)
        await ack(broker, lost, 0)
        await ack(broker, other, 1)
        # Given a transaction whose coordinator is done with it, and whose end never came here
        await broker.coordinators.decide(lost, commit=False)
        await broker.coordinators.done(lost, lazy=False)
        assert await pending(broker) == 2
        await broker.transactions.commit(other)
        await eventually(lambda: live_transactions(broker), 0)
        # When another ends here, whose watermark has passed both
        (third,) = await begun(broker, 1)
        await broker.transactions.add_subscriptions(third, [("t", "s")])
        await broker.transactions.commit(third)
        assert await pending(broker) == 0
        assert await received(broker, "c2") == [0]


async def test_interleaved_acks_of_many_transactions_end_as_each_transaction_does(broker):
    """AK-03, AK-04, AK-09: every tenth offset belongs to one of ten transactions."""
    assert await received(broker) == list(range(COUNT))
    txns = await begun(broker, 10)
    assert await together(broker, txns, lambda i: range(i, COUNT, 10)) == [4] * 10
    stats = (await broker.subscriptions.stats("t", "s")).cursors[0]
    assert (stats.pending, stats.leased) == (COUNT, 0)
    # When the even ones commit and the odd ones abort
    ends = [broker.transactions.commit(t) if i % 2 == 0 else broker.transactions.abort(t) for i, t in enumerate(txns)]
    await asyncio.gather(*ends)
    # Then exactly what the odd ones held comes back
    assert await received(broker, "c2") == [o for o in range(COUNT) if o % 2 == 1]
    stats = (await broker.subscriptions.stats("t", "s")).cursors[0]
    assert (stats.pending, stats.leased, stats.mark_delete) == (0, COUNT // 2, 1)


async def test_one_conflict_among_many_acks_is_the_loser_s_alone(broker):
    """AK-05: two consumers acknowledge offset 0; one succeeds, and all others are unaffected."""
    await received(broker)
    txns = await begun(broker, 8)
    outcomes = await together(broker, txns, lambda i: [0] if i in (2, 5) else [10 + i])
    refused = [i for i, outcome in enumerate(outcomes) if isinstance(outcome, TransactionConflict)]
    assert refused in ([2], [5])
    assert [o for i, o in enumerate(outcomes) if i not in refused] == [1] * 7
    assert (await broker.subscriptions.stats("t", "s")).cursors[0].pending == 7


async def test_each_doubtful_ack_gets_its_own_answer(broker):
    first = await received(broker, "c1", 10)
    other = await received(broker, "c2", 10)
    ended, *txns = await begun(broker, 4)
    await broker.transactions.add_subscriptions(ended, [("t", "s")])
    asked = [[first[0]], [other[0]], [COUNT - 1], [first[1]]]
    for txn in txns:
        await broker.transactions.add_subscriptions(txn, [("t", "s")])
    await broker.transactions.abort(ended)
    outcomes = await asyncio.gather(
        *(ack(broker, txn, *offsets) for txn, offsets in zip([*txns, ended], asked, strict=True)),
        return_exceptions=True,
    )
    assert outcomes[0] == 1
    assert isinstance(outcomes[1], NotYourMessage)
    assert isinstance(outcomes[2], NotDelivered)
    assert isinstance(outcomes[3], AlreadyAborted)


async def test_repeated_call_changes_nothing(broker):
    """A lost reply: the store sends the call again, and what it finds is its own work."""
    await received(broker)
    txns = await begun(broker, 2)
    for txn in txns:
        await broker.transactions.add_subscriptions(txn, [("t", "s")])
    partition = await broker.catalog.partition("t", 0)
    holds = [("c1", txns[0], [Range(0, 3)]), ("c1", txns[1], [Range(4, 5), Range(8, 8)])]
    where = (broker.store, partition.keys, partition.topic_id, "s")
    answers = [await scripts.pending_ack_many(*where, holds, now_ms=broker.clock.now_ms()) for _ in range(2)]
    assert answers == [True, False]
    again = [await scripts.pending_ack(*where, *hold, now_ms=broker.clock.now_ms()) for hold in holds]
    assert again == [4, 3]
    assert (await broker.subscriptions.stats("t", "s")).cursors[0].pending == 7


async def test_acks_of_one_call_that_overlap_are_left_to_be_taken_one_by_one(broker):
    await received(broker)
    txns = await begun(broker, 2)
    partition = await broker.catalog.partition("t", 0)
    holds = [("c1", txns[0], [Range(0, 3)]), ("c1", txns[1], [Range(3, 5)])]
    where = (broker.store, partition.keys, partition.topic_id, "s")
    assert not await scripts.pending_ack_many(*where, holds, now_ms=broker.clock.now_ms())
    assert (await broker.subscriptions.stats("t", "s")).cursors[0].pending == 0


async def test_acks_of_one_call_are_left_to_be_taken_one_by_one_if_another_transaction_has_one_of_them(broker):
    await received(broker)
    first, *txns = await begun(broker, 3)
    await ack(broker, first, 3)
    partition = await broker.catalog.partition("t", 0)
    holds = [("c1", txns[0], [Range(0, 1)]), ("c1", txns[1], [Range(2, 4)])]
    where = (broker.store, partition.keys, partition.topic_id, "s")
    assert not await scripts.pending_ack_many(*where, holds, now_ms=broker.clock.now_ms())
    assert await pending(broker) == 1
