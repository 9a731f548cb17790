"""Why readers of committed records do not advance: what holds the last stable offset of each partition of a topic.

    offset   0   1    2   3    4        t1 was begun first, so it holds the stable offset at 1,
    record   a   b·t1 c   d·t2 e        and with it 4 records, those of t2 and of others included
                 ^ stable

`advice` is pure.  Source: Kafka's "hanging transactions" (KIP-664).
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple
from urllib.parse import unquote

from redis_ledger.broker.topics.service import Topics
from redis_ledger.broker.types import SubscriptionKind
from redis_ledger.clock import Clock
from redis_ledger.errors import CoordinatorNotFound, TransactionNotFound
from redis_ledger.ids import TxnId
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.open_row import parse_open
from redis_ledger.ledger.partition import Partition
from redis_ledger.store.store import Store
from redis_ledger.txn.coordinator import Coordinators, TransactionRecord
from redis_ledger.txn.states import TxnState

PARTITIONS_MAX = 100  # partitions described
READERS_MAX = 100  # subscriptions and groups read for one partition


class WaitingReader(NamedTuple):
    """A subscription, or (kind kafka) a consumer group, that has read up to the stable offset."""

    name: str
    kind: SubscriptionKind


class HeldPartition(NamedTuple):
    """A partition whose stable offset is below its end.  transaction: the one that holds it.  record: None if its
    coordinator does not have it.  waiting_is_cut: only some of the readers were looked at."""

    partition: int
    stable_offset: int
    end_offset: int
    transaction: TxnId
    record: TransactionRecord | None
    waiting: list[WaitingReader]
    waiting_is_cut: bool

    @property
    def held_records(self) -> int:
        """Offsets from the stable offset to the end, markers included."""
        return self.end_offset - self.stable_offset


class HeldTopic(NamedTuple):
    """now_ms: when it was read.  is_cut: further partitions are held."""

    now_ms: int
    partitions: list[HeldPartition]
    is_cut: bool


def advice(txn: TxnId, record: TransactionRecord | None, now_ms: int) -> str:
    """What an operator can do about a transaction that holds a stable offset."""
    if record is None:
        return (
            "Its coordinator does not have the transaction: Redis has lost it, or it was ended just now. A broker ends "
            "it within some minutes; kafka-transactions.sh abort does it at once."
        )
    if record.state is not TxnState.OPEN:
        decided = "committed" if record.state in (TxnState.COMMITTING, TxnState.COMMITTED) else "aborted"
        return (
            f"It is decided, and is being {decided}; there is nothing to do. If it stays, a partition cannot be "
            "reached: see `redis-ledger doctor`."
        )
    if record.deadline_ms <= now_ms:
        return "Its deadline has passed: a broker aborts it within two seconds."
    wait = f"It is aborted at its deadline, in {(record.deadline_ms - now_ms + 999) // 1000} s."
    act = f"If its producer does not run any more, `redis-ledger txns abort {txn}` ends it now."
    if record.producer is None:
        return f"{wait} {act}"
    return f"{wait} {act} A producer that starts with the same transactional id ends it, too."


def waits(position: int, stable_offset: int) -> bool:
    """position: the next offset that the subscription reads, or the offset that the group has committed; -1: none."""
    return position >= stable_offset


class HeldOffsets:
    def __init__(
        self, store: Store, catalog: Catalog, topics: Topics, coordinators: Coordinators, clock: Clock
    ) -> None:
        self._store, self._catalog, self._topics = store, catalog, topics
        self._coordinators, self._clock = coordinators, clock

    async def of(self, topic: str) -> HeldTopic:
        """Raises UnknownTopic.  Cost: that of describing the topic, and a read for every reader of a held partition."""
        _, states = await self._topics.describe(topic)
        held = [state.partition for state in states if state.stable_offset < state.end_offset]
        found = []
        for number in held[:PARTITIONS_MAX]:
            described = await self._describe(await self._catalog.partition(topic, number))
            if described is not None:
                found.append(described)
        return HeldTopic(self._clock.now_ms(), found, len(held) > PARTITIONS_MAX)

    async def _describe(self, partition: Partition) -> HeldPartition | None:
        """None if nothing holds it any more."""
        k, command = partition.keys, self._store.command
        first = await command("ZRANGEBYSCORE", k.firsts, 0, "+inf", "LIMIT", 0, 1, key=k.state)
        row = await command("HGET", k.open, first[0], key=k.state) if first else None
        if not row:
            return None
        txn = parse_open(row).txn
        record, head, (waiting, is_cut) = await asyncio.gather(
            self._record(txn), partition.offsets.head(), self._waiting(partition)
        )
        if head.stable_offset >= head.end_offset:
            return None
        readers = [reader for reader, position in waiting if waits(position, head.stable_offset)]
        return HeldPartition(
            partition.number, head.stable_offset, head.end_offset, txn, record, sorted(readers), is_cut
        )

    async def _record(self, txn: TxnId) -> TransactionRecord | None:
        try:
            return await self._coordinators.get(txn)
        except (TransactionNotFound, CoordinatorNotFound):
            return None

    async def _waiting(self, partition: Partition) -> tuple[list[tuple[WaitingReader, int]], bool]:
        """Readers of the partition with their positions; and whether there are more."""
        k, command = partition.keys, self._store.command
        count, flat = await asyncio.gather(
            command("HLEN", k.subs, key=k.state),
            command("HRANDFIELD", k.subs, READERS_MAX + 1, "WITHVALUES", key=k.state),
        )
        pairs = zip(flat[::2], flat[1::2], strict=True)
        readers = [WaitingReader(unquote(name.decode()), kind.decode()) for name, kind in pairs if name]
        reads = (command("HMGET", k.sub(each.name).cursor, "read", "offset", key=k.state) for each in readers)
        rows = await asyncio.gather(*reads)
        positions = [int((offset if reader.kind == "kafka" else read) or -1)
                     for reader, (read, offset) in zip(readers, rows, strict=True)]  # fmt: skip
        return list(zip(readers, positions, strict=True)), count > READERS_MAX + 1
