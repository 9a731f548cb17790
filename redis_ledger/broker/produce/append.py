"""Appends the record batches of Kafka producers.

    check ─▶ split by due time ─▶ transaction of (producer id, epoch)? ─▶ append ─▶ future of its offset
                                      unknown: register, and append right behind (decision 0039)
                                      └────── verify and append again ◀── refused: the cached transaction is old

`append_batch` returns as soon as the batch is in the partition's queue, so that a client's requests keep their order
without waiting for each other.  While a batch is sent again, the batches of its producer behind it wait.
Source: KIP-98; KIP-890 (the transaction a batch belongs to is verified).
"""

from __future__ import annotations

import asyncio
from functools import partial
from itertools import count
from typing import NamedTuple

from redis_ledger.broker.produce.client_batches import ClientBatches
from redis_ledger.broker.produce.producer_queues import ProducerQueues
from redis_ledger.broker.produce.record_checks import RecordChecks
from redis_ledger.broker.transactions.producers import Producers
from redis_ledger.broker.transactions.service import Transactions
from redis_ledger.errors import (
    InvalidRecord,
    InvalidTxnStatus,
    TransactionEnded,
    TransactionForbidden,
    Unavailable,
)
from redis_ledger.ids import NO_PRODUCER, TxnId
from redis_ledger.ledger.append_errors import GAPS, NotVerified, OtherOpen
from redis_ledger.ledger.append_request import Accepted, AppendRequest
from redis_ledger.ledger.partition import Partition
from redis_ledger.ledger.registration import Registration
from redis_ledger.txn.coordinator import Participant

REFUSED = (NotVerified, OtherOpen, TransactionEnded)
ATTEMPTS_MAX = 4
WAITING_MAX, WAITING_BYTES_MAX = 10_000, 256 << 20  # of all batches behind one that is sent again


class BatchSource(NamedTuple):
    """The sender of a Produce request.

    adds_partitions  a batch adds its partition to the transaction, without AddPartitionsToTxn (transaction.version 2)
    owner            of the producer ids in its batches; "" where that is not compared
    principal        whose quota a transaction is counted against
    awaits_replicas  at durability `replicas` a batch is answered when enough replicas have it
    checks           of the records in its batches; None: they are not checked
    """

    transactional_id: str | None
    adds_partitions: bool
    owner: str = ""
    principal: str = ""
    awaits_replicas: bool = True
    checks: RecordChecks | None = None


class _QueueKey(NamedTuple):
    """Batches with the same key wait for each other.  The transactional id is part of it: a client that guesses the
    producer id of another client does not get into its queue, whose batches are appended without verification."""

    topic_id: str
    number: int
    producer_id: int
    epoch: int
    transactional_id: str | None


class _TransactionalAppend(NamedTuple):
    """A transactional batch whose transaction is looked up.  order: of its arrival."""

    partition: Partition
    request: AppendRequest
    source: BatchSource
    order: int
    outcome: asyncio.Future[Accepted]

    @property
    def queue(self) -> _QueueKey:
        partition, request, name = self.partition, self.request, self.source.transactional_id
        return _QueueKey(partition.topic_id, partition.number, request.producer_id, request.epoch, name)

    @property
    def producer(self) -> tuple[str, int, int]:
        """Transactional id, producer id and epoch."""
        assert self.source.transactional_id is not None
        return self.source.transactional_id, self.request.producer_id, self.request.epoch

    @property
    def participant(self) -> Participant:
        return Participant(self.partition.topic, self.partition.topic_id, self.partition.number)

    def fail(self, error: BaseException) -> None:
        if not self.outcome.done():
            self.outcome.set_exception(error)

    def refuse(self, error: BaseException) -> None:
        """Fails with an error that did not come from the partition."""
        self.fail(self.partition.refused(self.request, error))

    def fail_with(self, error: BaseException) -> None:
        """Fails with the error of the transaction, as if nothing had been appended."""
        if isinstance(error, Unavailable):
            self.refuse(error)
        else:
            self.fail(error)


class AppendService:
    def __init__(
        self,
        batches: ClientBatches,
        producers: Producers,
        transactions: Transactions,
    ) -> None:
        self._batches, self._producers, self._transactions = batches, producers, transactions
        self._loop = asyncio.get_running_loop()
        self._retries: set[asyncio.Task[None]] = set()
        self._queues: ProducerQueues[_QueueKey, _TransactionalAppend] = ProducerQueues(WAITING_MAX, WAITING_BYTES_MAX)
        self._orders = count()

    async def append_batch(
        self, partition: Partition, data: memoryview | bytes, source: BatchSource, batch_bytes_max: int
    ) -> asyncio.Future[Accepted]:
        """Appends one batch of a Produce request.  Returns a future of its offset.

        Raises as ClientBatches.request and Producers.add do, and InvalidProducerId; the future fails as
        Partition.append's does.
        """
        order = next(self._orders)
        header, request = await self._batches.request(partition, data, source.owner, batch_bytes_max)
        if source.checks is not None and request.split is None:
            source.checks.check(header, data)
        if request.producer_id != NO_PRODUCER and request.sequence < 0:
            raise InvalidRecord("A batch with a producer id has no sequence.")
        if not header.is_transactional:
            if request.producer_id != NO_PRODUCER:
                await self._check_producer(partition, request)
            return partition.append(request, awaits_replicas=source.awaits_replicas)
        if source.transactional_id is None:
            raise TransactionForbidden("A transactional batch was sent without a transactional id.")
        if request.producer_id == NO_PRODUCER:
            raise InvalidRecord("A transactional batch has no producer id.")
        append = _TransactionalAppend(partition, request, source, order, self._loop.create_future())
        if self._queues and append.queue in self._queues:
            self._wait(append)
            return append.outcome
        try:
            txn = await self._transaction_ahead(append)
        except Unavailable as error:
            raise partition.refused(request, error) from None
        self._append(append, txn)
        return append.outcome

    async def _check_producer(self, partition: Partition, request: AppendRequest) -> None:
        """Not for transactional batches: their coordinator compares transactional id and producer id."""
        try:
            await self._producers.ids.check(request.producer_id)
        except Unavailable as error:
            raise partition.refused(request, error) from None

    async def _transaction(self, append: _TransactionalAppend) -> TxnId:
        """The producer's open transaction, which has this partition."""
        producer, participant = append.producer, append.participant
        await self._producers.settle_early(*producer)
        cached = self._producers.cached_transaction(*producer, participant)
        if cached is not None:
            return cached
        if append.source.adds_partitions:
            return await self._producers.add(*producer, [participant], principal=append.source.principal)
        return await self._producers.verify(*producer, [participant])

    async def _transaction_ahead(self, append: _TransactionalAppend) -> TxnId | Registration:
        """As _transaction.  The registration of the partition may still be under way, if the batch can follow it."""
        producer, participant = append.producer, append.participant
        cached = self._producers.cached_transaction(*producer, participant)
        if cached is not None:
            return cached
        if append.request.split is None and self._producers.adds_ahead:
            if append.source.adds_partitions:
                return await self._producers.add_ahead(*producer, [participant], principal=append.source.principal)
            if (early := self._producers.early(*producer, participant)) is not None:
                return early
        return await self._transaction(append)

    def _append(self, append: _TransactionalAppend, txn: TxnId | Registration) -> None:
        appended = append.partition.append(append.request, txn, awaits_replicas=append.source.awaits_replicas)
        appended.add_done_callback(partial(self._settle, append, txn))

    def _settle(self, append: _TransactionalAppend, txn: TxnId | Registration, done: asyncio.Future[Accepted]) -> None:
        error = done.exception()
        if error is None:
            append.outcome.set_result(done.result())
        elif isinstance(txn, Registration) and (refusal := txn.error()) is not None:
            append.fail_with(refusal)
        elif isinstance(error, (*REFUSED, *GAPS)) and append.queue in self._queues:
            self._wait(append)
        elif isinstance(error, REFUSED):
            self._queues.open(append.queue)
            known = txn.known() if isinstance(txn, Registration) else txn
            retry = self._loop.create_task(self._retry(append, known, error))
            self._retries.add(retry)
            retry.add_done_callback(self._retries.discard)
        else:
            append.fail(error)

    def _wait(self, append: _TransactionalAppend) -> None:
        if not self._queues.wait(append.queue, append.order, append.request.size, append):
            append.refuse(Unavailable("Too many batches wait for others of their producers; send again."))

    async def _retry(self, append: _TransactionalAppend, txn: TxnId | None, error: BaseException) -> None:
        """Settles a refused batch.  The batches that waited for it are appended then, or fail with its error."""
        try:
            accepted, now = await self._append_again(append, txn, error)
        except Exception as failure:  # noqa: BLE001 - every batch needs an answer, whatever the error is
            for each in (append, *self._queues.close(append.queue)):
                each.refuse(failure)
            return
        append.outcome.set_result(accepted)
        for each in self._queues.close(append.queue):
            self._append(each, now)

    async def _append_again(
        self, append: _TransactionalAppend, txn: TxnId | None, error: BaseException
    ) -> tuple[Accepted, TxnId]:
        """The offset of the batch, and its transaction.  A refusal means that the cached transaction is old, or that
        the end of an earlier one has not reached the partition yet."""
        producer_id = append.request.producer_id
        for _ in range(ATTEMPTS_MAX):
            self._producers.forget(producer_id)
            now = await self._transaction(append)
            if isinstance(error, OtherOpen) and error.txn != now:
                await self._transactions.apply_decided(error.txn, append.participant)
            elif isinstance(error, TransactionEnded) and txn == now:
                break
            txn = now
            try:
                return await append.partition.append(append.request, txn), txn
            except REFUSED as refused:
                error = refused
        raise InvalidTxnStatus(f"The transaction of producer {producer_id} has ended; begin a new one.")
