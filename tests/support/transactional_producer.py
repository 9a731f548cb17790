"""The requests of a Kafka client's transactions, sent to a broker without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.produce.append import BatchSource
from redis_ledger.ledger.append_request import Accepted
from redis_ledger.records.build import encode
from redis_ledger.txn.coordinator import Participant

BY_ID = "etl"


class TransactionalProducer:
    """Of topic `t`.  asks: adds partitions by AddPartitionsToTxn; else by its batches (transaction.version 2)."""

    def __init__(self, broker: Broker, *, asks: bool) -> None:
        self.broker, self.asks, self.sequences = broker, asks, dict[int, int]()
        self.pid = self.epoch = 0

    async def init(self) -> None:
        self.pid, self.epoch = await self.broker.producers.init(BY_ID, 60_000)
        self.sequences.clear()

    async def add(self, number: int = 0) -> None:
        """Waits for the answer of Redis."""
        await self.broker.producers.add(BY_ID, self.pid, self.epoch, await self._participants(number))

    async def add_early(self, number: int = 0) -> None:
        """As AddPartitionsToTxn does."""
        participants = await self._participants(number)
        await self.broker.producers.add_early(BY_ID, self.pid, self.epoch, participants, principal="")

    async def _participants(self, number: int) -> Sequence[Participant]:
        return [Participant("t", (await self.broker.catalog.partition("t", number)).topic_id, number)]

    async def send(self, value: str, number: int = 0) -> asyncio.Future[Accepted]:
        sequence = self.sequences.get(number, 0)
        self.sequences[number] = sequence + 1
        rows = [(None, value.encode(), (), 1_700_000_000_000)]
        data = encode(rows, producer_id=self.pid, epoch=self.epoch, sequence=sequence, transactional=True)
        where = await self.broker.catalog.partition("t", number)
        source = BatchSource(BY_ID, adds_partitions=not self.asks)
        return await self.broker.appends.append_batch(where, data, source, 1 << 20)

    async def produce(self, value: str, number: int = 0) -> Accepted:
        return await (await self.send(value, number))

    async def end(self, *, commit: bool = True) -> None:
        bump = not self.asks
        self.pid, self.epoch = await self.broker.producers.end(BY_ID, self.pid, self.epoch, commit, bump)
        if bump:
            self.sequences.clear()
