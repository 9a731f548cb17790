"""A Kafka group's offsets through a broker, for tests."""

from __future__ import annotations

from typing import Any

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.groups.offsets import OffsetEntry
from redis_ledger.errors import LedgerError
from redis_ledger.ids import TxnId
from redis_ledger.ledger.partition import Partition
from redis_ledger.store.keys import CatalogKeys
from redis_ledger.txn.coordinator import Participant


async def commit(
    broker: Broker, *entries: tuple[Any, ...], group: str = "g", fence: int = -1, **more: Any
) -> list[LedgerError | None]:
    """entries: topic, partition, offset, and perhaps leader epoch and metadata."""
    return await broker.offsets.commit(group, [OffsetEntry(*entry) for entry in entries], fence=fence, **more)


async def offsets(
    broker: Broker, group: str = "g", partitions: list[tuple[str, int]] | None = None, **more: Any
) -> dict[tuple[str, int], int]:
    """(topic, partition) → offset; of all that are committed, or of these."""
    found = await broker.offsets.fetch(group, partitions, **more)
    return {(each.topic, each.partition): each.offset for each in found}


async def lags(broker: Broker, topic: str = "t", group: str = "g") -> list[int]:
    return [c.backlog for c in (await broker.subscriptions.stats(topic, group)).cursors]


async def in_transaction(broker: Broker, *entries: tuple[Any, ...], group: str = "g") -> TxnId:
    """A new transaction, with these offsets committed in it."""
    txn = (await broker.transactions.begin()).id
    made = [OffsetEntry(*entry) for entry in entries]
    places = await broker.offsets.locate((e.topic, e.partition) for e in made)
    await broker.coordinators.add(
        txn, [Participant(p.topic, p.topic_id, p.number, group) for p in places if isinstance(p, Partition)]
    )
    assert await broker.offsets.commit(group, made, fence=-1, transaction=txn, places=places) == [None] * len(made)
    return txn


async def registry(broker: Broker) -> dict[bytes, bytes]:
    """Every group that is known, as it is stored."""
    k = CatalogKeys(broker.store.prefix)
    rows = await broker.store.command("HGETALL", k.groups, key=k.groups)
    return dict(zip(rows[::2], rows[1::2], strict=True))
