"""Transactions with more participants than their row holds, through the broker."""

from __future__ import annotations

import asyncio

import pytest

from redis_ledger.broker.types import ExecuteRecords
from redis_ledger.errors import StoreUnavailable
from redis_ledger.txn.coordinator import Participant
from tests.support.broker import eventually, live_transactions, one, records, two, vanish, visible

pytestmark = pytest.mark.usefixtures("both_ways")

PARTITIONS = 300


async def written(broker, txn) -> None:
    await broker.records.produce("t", [records(f"v{n}", partition=n)[0] for n in range(PARTITIONS)], transaction=txn.id)


async def left(broker) -> list[bytes]:
    found = []
    for each in broker.coordinators:
        found += await broker.store.command("ZRANGE", each.keys.wide, 1, -1, key=each.keys.state)
    return found


@pytest.mark.parametrize("commit", [True, False])
async def test_a_transaction_over_many_partitions_ends_on_all_of_them(redis_url, prefix, commit):
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("t", PARTITIONS)
        txn = await broker.transactions.begin(60_000)
        await written(broker, txn)
        assert len((await broker.transactions.get(txn.id)).partitions) == PARTITIONS
        (listed,) = await broker.transactions.list()
        assert len(listed.partitions) == PARTITIONS
        await (broker.transactions.commit if commit else broker.transactions.abort)(txn.id)
        seen = {(n, v) for n, values in (await visible(broker, "t")).items() for v in values if v != "[marker]"}
        assert seen == ({(n, f"v{n}") for n in range(PARTITIONS)} if commit else set())
        assert await eventually(lambda: live_transactions(broker), 0) == 0
        assert await left(broker) == []


async def test_another_broker_ends_what_one_has_decided(redis_url, prefix, monkeypatch):
    async with two(redis_url, prefix) as (first, second):
        await first.topics.create("t", PARTITIONS)
        txn = await first.transactions.begin(60_000)
        await written(first, txn)
        read = first.coordinators._further

        async def cut_off(of):
            await read(of)
            raise StoreUnavailable

        monkeypatch.setattr(first.coordinators, "_further", cut_off)
        ending = asyncio.ensure_future(first.transactions.commit(txn.id))
        await asyncio.sleep(0.05)  # it has decided, and cannot read whom it concerns
        ending.cancel()
        await vanish(first)
        assert await eventually(lambda: live_transactions(second), 0, within_s=5) == 0
        assert len(await visible(second, "t")) == PARTITIONS
        assert await left(second) == []


async def test_a_step_over_many_partitions_is_one_step(redis_url, prefix):
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("t", PARTITIONS)
        rows = [records(f"v{n}", partition=n)[0] for n in range(PARTITIONS)]
        await broker.execute.run([], [ExecuteRecords("t", rows)], nonce="n1")
        assert (await broker.execute.run([], [ExecuteRecords("t", rows)], nonce="n1")).replayed
        assert len(await visible(broker, "t")) == PARTITIONS


async def test_a_transactional_id_takes_many_partitions(redis_url, prefix):
    async with one(redis_url, prefix) as broker:
        every = [Participant("t", "0" * 32, n) for n in range(700)]
        made = await broker.transactional_ids.init("tid", 60_000, -1, -1)
        txn = await broker.transactional_ids.add("tid", made.producer_id, made.epoch, every)
        assert await broker.transactional_ids.verify("tid", made.producer_id, made.epoch, every) == txn
        ended = await broker.transactional_ids.end("tid", made.producer_id, made.epoch, commit=False, bump=True)
        assert ended.decision is not None
        assert sorted((await broker.coordinators.whole(ended.decision)).participants) == sorted(every)
