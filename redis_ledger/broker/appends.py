"""Kafka's Produce: a record batch into its partition, byte for byte.

    check ─▶ due later? cut apart ─▶ transaction of its (producer id, epoch)? ─▶ place ─▶ future of where it went
                                            └──────── once more ◀── refused: finish what is in the way, or ask again

`append` returns as soon as the batch has its place in the partition's queue, so that a client's requests keep their
order without waiting for each other.  Source: KIP-98; KIP-890 (the transaction a batch belongs to is verified).
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterator
from typing import NamedTuple

from redis_ledger.broker.delays import Delays
from redis_ledger.broker.producers import Producers
from redis_ledger.broker.scheduling import in_blocks
from redis_ledger.broker.transactions import Transactions
from redis_ledger.config import Config
from redis_ledger.errors import AlreadyCommitted, CorruptBatch, InvalidTxnStatus, RequestTooLarge, TransactionEnded
from redis_ledger.ids import TxnId
from redis_ledger.ledger.partition import Accepted, Partition
from redis_ledger.ledger.refusals import NotVerified, OtherOpen
from redis_ledger.records.batch import BatchHeader, check, read_header
from redis_ledger.records.later import STEP, Split, part
from redis_ledger.txn.coordinator import Participant

REFUSED = (NotVerified, OtherOpen, TransactionEnded)
ATTEMPTS_MAX = 4


class Source(NamedTuple):
    """Who sends the batches of a request.  may_begin: its protocol has no AddPartitionsToTxn, a batch adds its
    partition by itself (transaction.version 2)."""

    transactional_id: str | None
    may_begin: bool


class Arrival(NamedTuple):
    """A batch on its way into a partition.  split: what of it is due later, if anything is."""

    where: Partition
    data: memoryview | bytes
    header: BatchHeader
    source: Source
    split: Split | None

    def place(self, txn: TxnId | None) -> asyncio.Future[Accepted]:
        """txn: verified, and open as far as its coordinator knows."""
        header, split = self.header, self.split
        if split is None:
            return self.where.append(
                self.data, header.count, header.max_timestamp, producer_id=header.producer_id,
                epoch=header.producer_epoch, sequence=header.base_sequence, txn=txn, verified=txn is not None,
            )  # fmt: skip
        return self.where.schedule(
            split.later, now=split.now, records=header.count, producer_id=header.producer_id,
            epoch=header.producer_epoch, sequence=header.base_sequence, txn=txn, verified=txn is not None,
        )  # fmt: skip


class _Steps:
    """The pauses of `part`, and its result behind the last one."""

    def __init__(self, steps: Generator[None, None, Split | None]) -> None:
        self._steps = steps
        self.split: Split | None = None

    def __iter__(self) -> Iterator[None]:
        self.split = yield from self._steps


class Appends:
    def __init__(self, producers: Producers, transactions: Transactions, delays: Delays, config: Config) -> None:
        self._producers, self._transactions, self._delays, self._config = producers, transactions, delays, config
        self._loop = asyncio.get_running_loop()
        self._repeats: set[asyncio.Task[Accepted]] = set()
        self._cutting = asyncio.Lock()  # a large batch takes a while and much memory: one at a time

    async def append(
        self, where: Partition, data: memoryview | bytes, source: Source, batch_bytes_max: int
    ) -> asyncio.Future[Accepted]:
        """data: one whole batch.  Raises CorruptBatch, BadChecksum, UnsupportedCompression, RequestTooLarge,
        InvalidDelay and DelayTooLong, and what Producers.add raises; the future fails as Partition.append's does."""
        header = read_header(data)
        check(header, data, batch_bytes_max=batch_bytes_max)
        if header.count > self._config.batch_records_max:
            raise RequestTooLarge(
                f"A batch of {header.count} records; at most {self._config.batch_records_max} are taken."
            )
        split = await self._split(where, header, data) if where.delays_by_headers else None
        if split is not None:
            split = split._replace(later=in_blocks(split.later, where.config, self._delays.now_ms()))
        arrival = Arrival(where, data, header, source, split)
        if not header.is_transactional:
            return arrival.place(None)
        if source.transactional_id is None or header.producer_id < 0 or header.base_sequence < 0:
            raise CorruptBatch("A batch that says it is transactional has no transactional id, producer or sequence.")
        txn = await self._transaction(arrival)
        first = arrival.place(txn)
        outcome: asyncio.Future[Accepted] = self._loop.create_future()
        first.add_done_callback(lambda done: self._settle(done, outcome, arrival, txn))
        return outcome

    async def _split(self, where: Partition, header: BatchHeader, data: memoryview | bytes) -> Split | None:
        """Durations count from now, once for the whole batch."""
        steps = _Steps(part(header, data, self._delays.rule(where.config)))
        if header.count <= STEP:
            for _ in steps:
                pass
            return steps.split
        async with self._cutting:
            for _ in steps:
                await asyncio.sleep(0)  # others go on meanwhile
            return steps.split

    async def _transaction(self, arrival: Arrival) -> TxnId:
        where, header, source = arrival.where, arrival.header, arrival.source
        assert source.transactional_id is not None
        participant = Participant(where.topic, where.topic_id, where.number)
        who = (source.transactional_id, header.producer_id, header.producer_epoch)
        known = self._producers.known(*who, participant)
        if known is not None:
            return known
        ask = self._producers.add if source.may_begin else self._producers.verify
        return await ask(*who, [participant])

    def _settle(
        self, done: asyncio.Future[Accepted], outcome: asyncio.Future[Accepted], arrival: Arrival, txn: TxnId
    ) -> None:
        if outcome.done():
            return
        error = done.exception()
        if error is None:
            outcome.set_result(done.result())
        elif not isinstance(error, REFUSED):
            outcome.set_exception(error)
        else:
            repeat = self._loop.create_task(self._again(arrival, txn, error))
            self._repeats.add(repeat)
            repeat.add_done_callback(lambda task: self._repeated(task, outcome))

    def _repeated(self, task: asyncio.Task[Accepted], outcome: asyncio.Future[Accepted]) -> None:
        self._repeats.discard(task)
        if outcome.done():
            return
        error = None if task.cancelled() else task.exception()
        if task.cancelled():
            outcome.cancel()
        elif error is not None:
            outcome.set_exception(error)
        else:
            outcome.set_result(task.result())

    async def _again(self, arrival: Arrival, txn: TxnId, error: BaseException) -> Accepted:
        """A refusal means that what this broker remembers is old, or that an end has not reached the partition yet."""
        producer_id = arrival.header.producer_id
        for _ in range(ATTEMPTS_MAX):
            if isinstance(error, OtherOpen):
                await self._finish(error.txn)
            else:
                self._producers.forget(producer_id)
                now = await self._transaction(arrival)
                if now == txn and isinstance(error, TransactionEnded):
                    break
                txn = now
            try:
                return await arrival.place(txn)
            except REFUSED as refused:
                error = refused
        raise InvalidTxnStatus(f"The transaction of producer {producer_id} has ended; begin a new one.")

    async def _finish(self, txn: TxnId) -> None:
        """The earlier transaction of a producer: decided, or nobody's any more.  Its end is carried here."""
        try:
            await self._transactions.abort(txn)
        except AlreadyCommitted:
            await self._transactions.commit(txn)
