"""Acknowledgements in transactions: their storage, their visibility to other brokers, and unknown outcomes."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from redis_ledger import AsyncClient, errors
from redis_ledger.client import TxnState
from redis_ledger.cursor import scripts
from redis_ledger.cursor.ranges import to_ranges
from redis_ledger.errors import InvalidTopicName, NotDelivered, NotYourMessage, TransactionConflict
from redis_ledger.ids import MessageId, TxnId
from tests.support.broker import eventually, one, receive_values, records, two, vanish
from tests.support.proxy import proxy
from tests.support.threaded_broker import threaded_broker


async def filled(broker, count, name="s"):
    """A topic with that many records, all received by c1; their ids."""
    await broker.topics.create("t")
    await broker.subscriptions.create("t", name)
    await broker.records.produce("t", records(*[str(n) for n in range(count)]))
    ids = list(await receive_values(broker, "t", name, max_records=count))
    assert len(ids) == count
    return ids


async def cursor_stats(broker, name="s"):
    (cursor,) = (await broker.subscriptions.stats("t", name)).cursors
    return cursor


@pytest.mark.parametrize("name", ["a/b", "s|pending", "s:leases", "{t:1}", "ü s"])
async def test_pending_acks_are_in_the_cursor_under_any_name_and_no_topic_name_reaches_them(redis_url, prefix, name):
    """AK-17: plain acknowledgements leave nothing there."""
    async with one(redis_url, prefix, end_overdue_ms=60_000) as broker:
        ids = await filled(broker, 3, name)
        await broker.subscriptions.create("t", "s")
        keys = (await broker.catalog.partition("t", 0)).keys
        pending = keys.sub(name).pending
        empty = await broker.store.command("HLEN", pending, key=keys.state)
        await broker.subscriptions.ack("t", name, "c1", ids[:1])
        assert await broker.store.command("HLEN", pending, key=keys.state) == empty
        txn = (await broker.transactions.begin()).id
        await broker.subscriptions.ack("t", name, "c1", ids[1:], transaction=txn)
        assert await broker.store.command("HLEN", pending, key=keys.state) == empty + 1
        assert ((await cursor_stats(broker, name)).pending, (await cursor_stats(broker)).pending) == (2, 0)
        for forbidden in (pending.decode(), f"t:0:sub:{name}", "{t:0}"):
            with pytest.raises(InvalidTopicName):
                await broker.topics.create(forbidden)


async def test_pending_acks_are_the_same_at_another_broker_and_after_it(redis_url, prefix):
    """AK-19: of 1 000 messages half are acknowledged in an open transaction and half in a committed one."""
    async with two(redis_url, prefix) as (first, second):
        ids = await filled(first, 1_000)
        t, u = [(await first.transactions.begin()).id for _ in range(2)]
        await first.subscriptions.ack("t", "s", "c1", ids[::2], transaction=t)
        await first.subscriptions.ack("t", "s", "c1", ids[1::2], transaction=u)
        await first.transactions.commit(u)
        await vanish(first)
        for id_ in (ids[0], ids[1], ids[500], ids[501], ids[998], ids[999]):
            v = (await second.transactions.begin()).id
            with pytest.raises(TransactionConflict):
                await second.subscriptions.ack("t", "s", "c1", [id_], transaction=v)
        assert (await cursor_stats(second)).pending == 500
        await second.transactions.abort(t)
        await vanish(second)
        async with one(redis_url, prefix) as third:
            w = (await third.transactions.begin()).id
            assert await third.subscriptions.ack("t", "s", "c1", ids[::2], transaction=w) == 500
            await third.transactions.commit(w)
            assert (await cursor_stats(third)).mark_delete == 1_000


@pytest.mark.parametrize("ending", [0, 1])
async def test_acks_left_by_ended_transactions_are_given_back_by_the_next_end_of_their_coordinator(
    redis_url, prefix, ending
):
    """AK-21: all leftovers of that coordinator at or below its watermark, and none of another's."""
    async with one(redis_url, prefix, coordinators=2) as broker:
        ids = await filled(broker, 10)
        lives = dict[int, list[TxnId]]({0: [], 1: []})
        while min(map(len, lives.values())) < 4:
            txn = (await broker.transactions.begin()).id
            lives[txn.coordinator].append(txn)
        partition = await broker.catalog.partition("t", 0)
        # Given two ended transactions of each coordinator whose acknowledgements got past every fence
        for coordinator, first in ((0, 0), (1, 2)):
            for n in (0, 1):
                txn = lives[coordinator][n]
                await broker.transactions.abort(txn)
                await scripts.pending_ack(
                    broker.store, partition.keys, partition.topic_id, "s", "c1", txn,
                    to_ranges([ids[first + n].offset]), now_ms=broker.clock.now_ms(),
                )  # fmt: skip
        assert (await cursor_stats(broker)).pending == 4
        # When a later transaction of one coordinator ends on this subscription
        later = lives[ending][2]
        await broker.subscriptions.ack("t", "s", "c1", ids[8:9], transaction=later)
        await broker.transactions.commit(later)
        # Then its leftovers are delivered again, and the other's are not
        assert (await cursor_stats(broker)).pending == 2
        again = await receive_values(broker, "t", "s", "c2")
        assert sorted(id_.offset for id_ in again) == ([0, 1] if ending == 0 else [2, 3])


async def test_an_ack_of_unknown_outcome_fails_leaves_only_abort_and_loses_nothing(redis, redis_url, prefix):
    """AK-22: Redis carries the acknowledgement out, and no reply comes for as long as a call may take."""
    settings: dict[str, Any] = {"redis_timeout_ms": 1_000, "redis_retry_ms": 1_000, "end_overdue_ms": 60_000}
    async with proxy("127.0.0.1", redis.port) as relay, one(redis_url, prefix) as other:
        first, second = await filled(other, 2)
        await other.topics.create("out")
        stack = contextlib.ExitStack()
        brokers = await asyncio.to_thread(stack.enter_context, threaded_broker(relay.url, prefix, **settings))
        try:
            async with AsyncClient(brokers.urls, timeout_ms=1_500, attempt_ms=1_000) as client:
                txn = client.transaction(timeout_ms=8_000)
                await (await txn.send("out", "never")).result()
                await txn.ack(("t", "s", "c1"), str(first))
                # When every reply is lost from now on
                relay.muted = 1_000_000

                async def pending():
                    return (await cursor_stats(other)).pending

                acking = asyncio.create_task(txn.ack(("t", "s", "c1"), str(second)))
                assert await eventually(pending, 2, 5) == 2
                with pytest.raises(errors.LedgerError):
                    await acking
                # Then no consumer receives the message, and a commit only aborts
                assert await receive_values(other, "t", "s", "c2") == {}
                relay.muted = 0
                relay.cut()
                with pytest.raises(errors.TransactionAbortOnly):
                    await txn.commit()
                assert txn.state is TxnState.ABORTED
        finally:
            await asyncio.to_thread(stack.close)
        assert await receive_values(other, "t", "s", "c2", wait_ms=10_000) == {first: "0", second: "1"}
        assert await receive_values(other, "t", "s", "c3") == {}
        assert (await cursor_stats(other)).pending == 0


@pytest.mark.parametrize("transactional", [True, False])
async def test_a_list_with_a_message_that_cannot_be_acknowledged_acknowledges_none_of_it(
    redis_url, prefix, transactional
):
    """AK-27: the others stay leased, and the transaction stays open."""
    async with one(redis_url, prefix) as broker:
        ids = await filled(broker, 3)
        await broker.records.produce("t", records("3", "4"))
        (others, undelivered) = (MessageId(0, 3), MessageId(0, 4))
        assert list(await receive_values(broker, "t", "s", "c2", max_records=1)) == [others]
        txn = (await broker.transactions.begin()).id if transactional else None
        for refused, error in ((undelivered, NotDelivered), (others, NotYourMessage)):
            with pytest.raises(error):
                await broker.subscriptions.ack("t", "s", "c1", [*ids, refused], transaction=txn)
            cursor = await cursor_stats(broker)
            assert (cursor.mark_delete, cursor.acked_ahead, cursor.leased, cursor.pending) == (0, 0, 4, 0)
        assert await broker.subscriptions.ack("t", "s", "c1", ids, transaction=txn) == 3
        if txn is not None:
            await broker.transactions.commit(txn)
        assert (await cursor_stats(broker)).mark_delete == 3
