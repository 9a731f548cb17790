"""Redis comes back with older data: transactions and transactional ids."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from redis_ledger.errors import LedgerError, ProducerFenced, UnknownTransactionalId
from tests.support.broker import eventually, records, status, values_of
from tests.support.older_redis import KEEPS, Backup, brokers, holds
from tests.support.redis_servers import Server, redis_server


@pytest.fixture
def redis() -> Iterator[Server]:
    with redis_server(**KEEPS) as server:
        yield server


async def test_open_transactions_are_aborted_and_ids_go_on(redis: Server, prefix: str):
    async with brokers(redis, prefix, 2) as [first, second]:
        await first.topics.create("orders", 1)
        txn = (await first.transactions.begin()).id
        await first.records.produce("orders", records("part one"), transaction=txn)
        backup = Backup(redis)
        await first.records.produce("orders", records("part two"), transaction=txn)
        backup.restore()
        with pytest.raises(LedgerError):
            await first.transactions.commit(txn)
        assert await eventually(lambda: status(second, txn), "aborted", 10)
        await second.records.produce("orders", records("after"))
        assert await eventually(lambda: values_of(second, "orders"), ["after"], 10)
        assert (await second.transactions.begin()).id > txn


async def test_a_coordinator_that_lost_writes_aborts_transactions_whose_partitions_have_everything(
    redis: Server, prefix: str
):
    async with brokers(redis, prefix, 1) as [broker]:
        await broker.topics.create("orders", 1)
        txn = (await broker.transactions.begin()).id
        await broker.records.produce("orders", records("in doubt"), transaction=txn)
        backup = Backup(redis)
        await broker.transactions.begin()
        backup.restore()
        await holds(lambda: "coordinator" in broker.lost_writes.kinds)
        assert await eventually(lambda: status(broker, txn), "aborted", 10) == "aborted"
        assert list(broker.lost_writes.partitions) == []


async def test_a_transaction_that_its_coordinator_has_lost_does_not_hold_readers_back(redis: Server, prefix: str):
    async with brokers(redis, prefix, 1) as [broker]:
        await broker.topics.create("orders", 1)
        backup = Backup(redis)
        txn = (await broker.transactions.begin(300_000)).id
        await broker.records.produce("orders", records("in doubt"), transaction=txn)
        backup.restore()
        await holds(lambda: "coordinator" in broker.lost_writes.kinds)
        await broker.records.produce("orders", records("plain"))
        assert await values_of(broker, "orders") == ["plain"]
        with pytest.raises(LedgerError):
            await broker.transactions.commit(txn)


async def test_epochs_of_a_transactional_id_are_not_handed_out_twice(redis: Server, prefix: str):
    async with brokers(redis, prefix, 2) as [first, second]:
        await first.topics.create("orders", 1)
        await first.producers.init("pay", 60_000)
        backup = Backup(redis)
        lost_id = await first.producers.init("pay", 60_000)
        backup.restore()
        await holds(lambda: "coordinator" in first.lost_writes.kinds)
        with pytest.raises(ProducerFenced):
            await first.producers.end("pay", *lost_id, commit=False, bump=False)
        identity = await second.producers.init("pay", 60_000)
        assert identity != lost_id
        with pytest.raises(UnknownTransactionalId):
            await first.producers.end("pay", *lost_id, commit=False, bump=False)
        assert await second.producers.end("pay", *identity, commit=False, bump=True) == (identity[0], 1)


async def test_transactional_ids_are_listed_and_expire_after_a_loss(redis: Server, prefix: str):
    async with brokers(redis, prefix, 1, transactional_id_expiration_ms=60_000) as [broker]:
        await broker.topics.create("orders", 1)
        backup = Backup(redis)
        await broker.producers.init("before", 60_000)
        backup.restore()
        await holds(lambda: "coordinator" in broker.lost_writes.kinds)
        producer_id, _ = await broker.producers.init("pay", 60_000)
        assert (await broker.producers.describe_transaction("pay")).producer_id == producer_id
        assert [each.transactional_id for each in await broker.producers.list_transactions()] == ["pay"]
        await broker.producers.forget_idle(broker.clock.now_ms() + 60_001)
        assert await broker.producers.list_transactions() == []
