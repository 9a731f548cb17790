"""Aborted transactions whose payload is deleted in several calls; see multi_write_work.py."""

from __future__ import annotations

from redis_ledger.broker.broker import Broker
from redis_ledger.ledger.reclaim import reclaim
from tests.support.broker import begun, records, visible

ABORTED = 300  # batches, more than one call reads with those between them


async def aborted(broker: Broker, topic: str) -> None:
    """In two ledgers, with a committed record behind each of them."""
    await broker.topics.create(topic, 1)
    for part in range(2):
        txn = await begun(broker)
        for n in range(ABORTED // 2):
            await broker.records.produce(topic, records("never"), transaction=txn)
            await broker.records.produce(topic, records(f"{part} {n}"))
        await broker.transactions.abort(txn)
        await (await broker.catalog.partition(topic, 0)).roll()


async def reclaim_all(broker: Broker, topic: str) -> None:
    partition = await broker.catalog.partition(topic, 0)
    stable = (await partition.offsets.head()).stable_offset
    await reclaim(broker.store, partition.keys, topic, partition.topic_id, stable)


async def only_committed_is_left(broker: Broker, topic: str) -> None:
    kept = [f"{part} {n}" for part in range(2) for n in range(ABORTED // 2)]
    assert await visible(broker, topic) == {0: kept}
    keys = (await broker.catalog.partition(topic, 0)).keys
    for ledger in (1, 2):
        row = await broker.store.command("HGET", keys.ledgers, ledger, key=keys.state)
        issued, deleted, *_ = map(int, row.split())
        assert await broker.store.command("XLEN", keys.data(ledger), key=keys.state) == issued - deleted == ABORTED // 2
