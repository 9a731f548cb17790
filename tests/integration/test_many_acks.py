"""A transaction acknowledges thousands of messages out of order: held in regions, settled in pages, by any broker."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.types import NewRecord
from redis_ledger.errors import StoreUnavailable
from redis_ledger.ids import MessageId, TxnId
from tests.support.broker import eventually, live_transactions, one, two, vanish

COUNT = 2_400
DAY_MS = 86_400_000


async def received(broker: Broker) -> list[MessageId]:
    await broker.topics.create("t", 1)
    await broker.records.produce("t", [NewRecord(None, b"v")] * COUNT)
    await broker.subscriptions.create("t", "s")
    return [m.id for m in await broker.subscriptions.receive("t", "s", "c1", max_records=COUNT)]


async def holding(broker: Broker, ids: list[MessageId]) -> TxnId:
    """A transaction that holds every other message."""
    txn = (await broker.transactions.begin(600_000)).id
    assert await broker.subscriptions.ack("t", "s", "c1", ids[::2], transaction=txn) == COUNT // 2
    return txn


async def cursor_stats(broker: Broker) -> Any:
    (cursor,) = (await broker.subscriptions.stats("t", "s")).cursors
    return cursor


@pytest.mark.parametrize("commit", [True, False])
async def test_the_end_settles_all_of_it_before_it_is_answered(redis_url, prefix, commit):
    async with one(redis_url, prefix) as broker:
        ids = await received(broker)
        txn = await holding(broker, ids)
        assert (await cursor_stats(broker)).pending == COUNT // 2
        await (broker.transactions.commit if commit else broker.transactions.abort)(txn)
        assert (await cursor_stats(broker)).pending == 0
        await broker.subscriptions.ack("t", "s", "c1", ids[1::2])
        back: list[MessageId] = []
        while some := await broker.subscriptions.receive("t", "s", "c2", max_records=COUNT):
            back += [m.id for m in some]  # an answer ends where enough has been decoded
        assert sorted(back) == ([] if commit else ids[::2])


async def test_another_broker_settles_what_one_has_left(redis_url, prefix, monkeypatch):
    async with two(redis_url, prefix) as (first, second):
        ids = await received(first)
        txn = await holding(first, ids)
        call, ends = first.store.call, []

        def cut_off(script: Any, *rest: Any, **more: Any) -> Any:
            if script.name == "txn/end":
                ends.append(script)
                if len(ends) > 2:
                    raise StoreUnavailable
            return call(script, *rest, **more)

        monkeypatch.setattr(first.store, "call", cut_off)
        ending = asyncio.ensure_future(first.transactions.commit(txn))
        await eventually(_async(lambda: len(ends) > 2), True)
        ending.cancel()
        await vanish(first)
        assert await eventually(lambda: live_transactions(second), 0, within_s=5) == 0
        assert (await cursor_stats(second)).pending == 0
        await second.subscriptions.ack("t", "s", "c1", ids[1::2])
        assert (await cursor_stats(second)).mark_delete == COUNT


def _async(value: Any) -> Any:
    async def ask() -> Any:
        return value()

    return ask


async def test_a_list_is_refused_as_a_whole_before_its_first_page(redis_url, prefix):
    async with one(redis_url, prefix) as broker:
        ids = await received(broker)
        await broker.subscriptions.nack("t", "s", "c1", [ids[-2]])
        await broker.subscriptions.receive("t", "s", "c2")
        with pytest.raises(Exception, match="is leased to consumer 'c2'"):
            await broker.subscriptions.ack("t", "s", "c1", ids[::2])
        assert ((await cursor_stats(broker)).leased, (await cursor_stats(broker)).acked_ahead) == (COUNT, 0)
