"""The largest inputs of the scripts that write to the sidecar buffer."""

from __future__ import annotations

import asyncio

from bench.growth.inputs_cursors import NOW_MS, ONE
from redis_ledger.broker.broker import Broker
from redis_ledger.ids import TxnId
from redis_ledger.ledger.append_request import AppendRequest
from redis_ledger.ledger.partition import Partition
from redis_ledger.ledger.release_sidecar import release_sidecar
from redis_ledger.ledger.settings import BUFFERS, TXN_BUFFER

BATCHES = 50_000  # of one transaction
LEDGERS = 1_000  # that one transaction has written to; each is of 1 MiB at least, or of a second
SMALL = 3_000  # transactions
AT_ONCE = 500


async def _created(broker: Broker) -> Partition:
    await broker.topics.create("t", settings={TXN_BUFFER: BUFFERS["sidecar"]})
    return await broker.catalog.partition("t", 0)


async def _begun(broker: Broker, count: int) -> list[TxnId]:
    txns = [(await broker.transactions.begin(600_000)).id for _ in range(count)]
    await asyncio.gather(*(broker.transactions.add_partitions(txn, [("t", 0)]) for txn in txns))
    return txns


async def _write(partition: Partition, txn: TxnId, count: int, value: bytes = ONE) -> None:
    for first in range(0, count, AT_ONCE):
        requests = [
            AppendRequest(value, 1, NOW_MS, producer_id=txn.producer_id, epoch=0)
            for _ in range(min(AT_ONCE, count - first))
        ]
        await asyncio.gather(*(partition.append(each, txn) for each in requests))


async def _release(broker: Broker, partition: Partition) -> None:
    await release_sidecar(broker.store, partition.keys, "t", partition.topic_id)


async def a_large_sidecar_transaction(broker: Broker) -> None:
    """It is committed, trimmed and released; another one is aborted."""
    partition = await _created(broker)
    for commit in (True, False):
        (txn,) = await _begun(broker, 1)
        await _write(partition, txn, BATCHES)
        await (broker.transactions.commit if commit else broker.transactions.abort)(txn)
        await partition.trim(retention_ms=-1, retention_bytes=0)
        await _release(broker, partition)


async def sidecar_transactions_of_large_batches(broker: Broker) -> None:
    partition = await _created(broker)
    (txn,) = await _begun(broker, 1)
    for _ in range(12):
        await _write(partition, txn, 1, bytes(7 << 20))
    await broker.transactions.abort(txn)
    await _release(broker, partition)


async def a_sidecar_transaction_in_many_ledgers(broker: Broker) -> None:
    """And remains of an interrupted call, repaired by the next append."""
    partition = await _created(broker)
    txn, other = await _begun(broker, 2)
    for each in (txn, other):
        for _ in range(LEDGERS):
            await _write(partition, each, 1)
            await partition._rotate()
        for _ in range(AT_ONCE):
            key = partition.keys.data(partition._calls.delay_ledger)
            await broker.store.command("XADD", key, "0-*", "b", ONE, key=partition.keys.state)
        await _write(partition, each, AT_ONCE)
    await broker.transactions.commit(txn)
    await broker.transactions.abort(other)
    await _release(broker, partition)


async def many_sidecar_transactions(broker: Broker) -> None:
    """Of two batches each; one call ends, and one call trims, as many as it can."""
    partition = await _created(broker)
    for commit in (True, False):
        txns = await _begun(broker, SMALL)
        for _ in range(2):
            await asyncio.gather(
                *(partition.append(AppendRequest(ONE, 1, NOW_MS, producer_id=t.producer_id, epoch=0), t) for t in txns)
            )
        end = broker.transactions.commit if commit else broker.transactions.abort
        await asyncio.gather(*(end(txn) for txn in txns[::-1]))
    await partition.trim(retention_ms=-1, retention_bytes=0)
    await _release(broker, partition)


INPUTS = (
    a_large_sidecar_transaction, sidecar_transactions_of_large_batches, a_sidecar_transaction_in_many_ledgers,
    many_sidecar_transactions,
)  # fmt: skip
