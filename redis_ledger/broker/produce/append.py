"""Kafka's Produce: a record batch into its partition, byte for byte.

    check ─▶ due later? cut apart ─▶ transaction of its (producer id, epoch)? ─▶ place ─▶ future of where it went
                                            └───── verify again, place again ◀── refused: the cached transaction is old

`append` returns as soon as the batch has its place in the partition's queue, so that a client's requests keep their
order without waiting for each other.  While a batch is repeated, the batches of its producer behind it wait.
Source: KIP-98; KIP-890 (the transaction a batch belongs to is verified).
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterator
from functools import partial
from itertools import count
from typing import NamedTuple

from redis_ledger.broker.delayed.service import DelayedDelivery
from redis_ledger.broker.produce.producer_queues import ProducerQueues
from redis_ledger.broker.produce.split_by_due import check_batch, in_blocks
from redis_ledger.broker.transactions.producers import Producers
from redis_ledger.broker.transactions.service import Transactions
from redis_ledger.config import Config
from redis_ledger.decoding import paced
from redis_ledger.decoding.budget import Budget, Decoding
from redis_ledger.decoding.paced import QUICK_BYTES
from redis_ledger.errors import (
    CorruptBatch,
    DecodingBusy,
    InvalidTxnStatus,
    RequestTooLarge,
    TransactionEnded,
    Unavailable,
)
from redis_ledger.ids import TxnId
from redis_ledger.ledger.append_errors import GAPS, NotVerified, OtherOpen
from redis_ledger.ledger.partition import Accepted, Partition
from redis_ledger.records.batch import BatchHeader, check, read_header
from redis_ledger.records.split_by_due import STEP, DueOf, Split, part
from redis_ledger.txn.coordinator import Participant

REFUSED = (NotVerified, OtherOpen, TransactionEnded)
ATTEMPTS_MAX = 4
WAITING_MAX, WAITING_BYTES_MAX = 10_000, 256 << 20  # of all batches behind one that is repeated


class Source(NamedTuple):
    """Who sends the batches of a request.  may_begin: its protocol has no AddPartitionsToTxn, a batch adds its
    partition by itself (transaction.version 2).  owner: of the producer ids it names, "" where that is not compared."""

    transactional_id: str | None
    may_begin: bool
    owner: str = ""


class _Queue(NamedTuple):
    """Whose batches wait for each other.  The name is part of it: a client that guesses the producer id of another one
    does not get into its queue, whose batches are placed without another verification."""

    topic_id: str
    number: int
    producer_id: int
    epoch: int
    transactional_id: str | None


class Arrival(NamedTuple):
    """A transactional batch on its way into a partition.  split: what of it is due later, if anything is.  order:
    arrivals are numbered."""

    where: Partition
    data: memoryview | bytes
    header: BatchHeader
    source: Source
    split: Split | None
    order: int
    outcome: asyncio.Future[Accepted]

    @property
    def queue(self) -> _Queue:
        where, header, name = self.where, self.header, self.source.transactional_id
        return _Queue(where.topic_id, where.number, header.producer_id, header.producer_epoch, name)

    @property
    def participant(self) -> Participant:
        return Participant(self.where.topic, self.where.topic_id, self.where.number)

    def refused(self, error: BaseException) -> BaseException:
        """The error to answer, when it did not come from the partition."""
        return _refused(self.where, self.header, error)

    def fail(self, error: BaseException) -> None:
        if not self.outcome.done():
            self.outcome.set_exception(error)


def _placed(
    where: Partition,
    data: memoryview | bytes,
    header: BatchHeader,
    split: Split | None,
    txn: TxnId | None,
    owner: str = "",
) -> asyncio.Future[Accepted]:
    """txn: verified, and open as far as its coordinator knows."""
    if split is None:
        return where.append(
            data, header.count, header.max_timestamp, producer_id=header.producer_id, epoch=header.producer_epoch,
            sequence=header.base_sequence, txn=txn, verified=txn is not None, owner=owner,
        )  # fmt: skip
    return where.schedule(
        split.later, now=split.now, records=header.count, producer_id=header.producer_id, epoch=header.producer_epoch,
        sequence=header.base_sequence, txn=txn, verified=txn is not None, owner=owner,
    )  # fmt: skip


def _refused(where: Partition, header: BatchHeader, error: BaseException) -> BaseException:
    """The error to answer; batches of the same producer that come behind this one are refused as well."""
    return where.refused(header.producer_id, header.producer_epoch, header.base_sequence, header.count, error)


class _Steps:
    """The pauses of `part`, and its result behind the last one."""

    def __init__(self, steps: Generator[None, None, Split | None]) -> None:
        self._steps = steps
        self.split: Split | None = None

    def __iter__(self) -> Iterator[None]:
        self.split = yield from self._steps

    def finish(self) -> Split | None:
        for _ in self:
            pass
        return self.split


class Appends:
    def __init__(
        self,
        producers: Producers,
        transactions: Transactions,
        delays: DelayedDelivery,
        decoding: Decoding,
        config: Config,
    ) -> None:
        self._producers, self._transactions, self._delays, self._config = producers, transactions, delays, config
        self._decoding = decoding
        self._loop = asyncio.get_running_loop()
        self._repeats: set[asyncio.Task[None]] = set()
        self._queues: ProducerQueues[_Queue, Arrival] = ProducerQueues(WAITING_MAX, WAITING_BYTES_MAX)
        self._orders = count()
        self._cutting = asyncio.Lock()  # a large batch takes a while and much memory: one at a time

    async def append(
        self, where: Partition, data: memoryview | bytes, source: Source, batch_bytes_max: int
    ) -> asyncio.Future[Accepted]:
        """data: one whole batch.  Raises CorruptBatch, BadChecksum, UnsupportedCompression, RequestTooLarge,
        InvalidDelay, DelayTooLong, InvalidProducerId and TooLargeToDecode, and what Producers.add raises; the future
        fails as Partition.append's does."""
        header = read_header(data)
        check(header, data, batch_bytes_max=batch_bytes_max)
        if header.count > self._config.batch_records_max:
            raise RequestTooLarge(
                f"A batch of {header.count} records; at most {self._config.batch_records_max} are taken."
            )
        order = next(self._orders)
        try:
            split = await self._split(where, header, data) if where.delays_by_headers else None
        except DecodingBusy as error:
            raise _refused(where, header, error) from None
        if split is not None:
            check_batch(split.later)
            split = split._replace(later=in_blocks(split.later, where.config, self._delays.now_ms()))
        if not header.is_transactional:
            await self._check_producer(where, header)
            return _placed(where, data, header, split, None, source.owner)
        if source.transactional_id is None or header.producer_id < 0 or header.base_sequence < 0:
            raise CorruptBatch("A batch that says it is transactional has no transactional id, producer or sequence.")
        arrival = Arrival(where, data, header, source, split, order, self._loop.create_future())
        if self._queues and arrival.queue in self._queues:
            self._wait(arrival)
            return arrival.outcome
        try:
            txn = await self._transaction(arrival)
        except Unavailable as error:
            raise arrival.refused(error) from None
        self._place(arrival, txn)
        return arrival.outcome

    async def _check_producer(self, where: Partition, header: BatchHeader) -> None:
        """A transactional batch is not checked here: its coordinator knows its transactional id and producer id."""
        try:
            await self._producers.ids.check(header.producer_id)
        except Unavailable as error:
            raise _refused(where, header, error) from None

    async def _split(self, where: Partition, header: BatchHeader, data: memoryview | bytes) -> Split | None:
        """Durations count from now, once for the whole batch."""
        rule, limits = self._delays.rule(where.config), self._decoding.limits
        if header.count <= STEP and len(data) <= QUICK_BYTES and not header.compression:
            return _Steps(part(header, data, rule, limits)).finish()
        with self._decoding.budget() as budget:
            return await self._split_large(header, data, rule, budget)

    async def _split_large(
        self, header: BatchHeader, data: memoryview | bytes, rule: DueOf, budget: Budget
    ) -> Split | None:
        plain, limits = b"", budget.limits
        if header.compression:
            plain = await paced.unpacked(header, data, budget)
            if header.count <= STEP and len(plain) <= QUICK_BYTES:
                return _Steps(part(header, data, rule, limits, plain=plain)).finish()
        async with self._cutting:
            steps = _Steps(part(header, data, rule, limits, plain=plain))
            for _ in steps:
                await asyncio.sleep(0)  # others go on meanwhile
            return steps.split

    async def _transaction(self, arrival: Arrival) -> TxnId:
        header, source, participant = arrival.header, arrival.source, arrival.participant
        assert source.transactional_id is not None
        who = (source.transactional_id, header.producer_id, header.producer_epoch)
        known = self._producers.known(*who, participant)
        if known is not None:
            return known
        ask = self._producers.add if source.may_begin else self._producers.verify
        return await ask(*who, [participant])

    def _place(self, arrival: Arrival, txn: TxnId) -> None:
        placed = _placed(arrival.where, arrival.data, arrival.header, arrival.split, txn)
        placed.add_done_callback(partial(self._settle, arrival, txn))

    def _settle(self, arrival: Arrival, txn: TxnId, done: asyncio.Future[Accepted]) -> None:
        error = done.exception()
        if error is None:
            arrival.outcome.set_result(done.result())
        elif isinstance(error, (*REFUSED, *GAPS)) and arrival.queue in self._queues:
            self._wait(arrival)
        elif isinstance(error, REFUSED):
            self._queues.open(arrival.queue)
            repeat = self._loop.create_task(self._repeat(arrival, txn, error))
            self._repeats.add(repeat)
            repeat.add_done_callback(self._repeats.discard)
        else:
            arrival.fail(error)

    def _wait(self, arrival: Arrival) -> None:
        if not self._queues.wait(arrival.queue, arrival.order, len(arrival.data), arrival):
            arrival.fail(
                arrival.refused(Unavailable("Too many batches wait for others of their producers; send again."))
            )

    async def _repeat(self, arrival: Arrival, txn: TxnId, error: BaseException) -> None:
        """Settles a refused batch; those that waited for it go on, or get its error."""
        try:
            accepted, txn = await self._again(arrival, txn, error)
        except Exception as failure:  # noqa: BLE001 - whatever it is, no batch may be left without an answer
            for each in (arrival, *self._queues.close(arrival.queue)):
                each.fail(each.refused(failure))
            return
        arrival.outcome.set_result(accepted)
        for each in self._queues.close(arrival.queue):
            self._place(each, txn)

    async def _again(self, arrival: Arrival, txn: TxnId, error: BaseException) -> tuple[Accepted, TxnId]:
        """Where the batch went, and its transaction.  A refusal means that the cached transaction is old, or that the
        end of an earlier one has not reached the partition yet."""
        producer_id = arrival.header.producer_id
        for _ in range(ATTEMPTS_MAX):
            self._producers.forget(producer_id)
            now = await self._transaction(arrival)
            if isinstance(error, OtherOpen) and error.txn != now:
                await self._transactions.carry_decided(error.txn, arrival.participant)
            elif isinstance(error, TransactionEnded) and txn == now:
                break
            txn = now
            try:
                return await _placed(arrival.where, arrival.data, arrival.header, arrival.split, txn), txn
            except REFUSED as refused:
                error = refused
        raise InvalidTxnStatus(f"The transaction of producer {producer_id} has ended; begin a new one.")
