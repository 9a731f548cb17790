"""The REST use cases of a topic's records: produce records, produce record batches, fetch.

    encode the records, or check the batches ─▶ register the partitions with the transaction ─▶ append ─▶ wait for all

Everything is checked before anything is written.  The batches of a call are appended to all partitions in parallel.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Literal

from redis_ledger.broker.fetch.partition import PartitionFetch
from redis_ledger.broker.produce.client_batches import ClientBatches
from redis_ledger.broker.produce.encode import Agree, PreparedRecords, RecordEncoder, appended, encode_batch
from redis_ledger.broker.transactions.participant_registry import ParticipantRegistry
from redis_ledger.broker.transactions.producers import Producers
from redis_ledger.broker.transactions.service import Transactions
from redis_ledger.broker.types import Appended, Fetched, Isolation, NewRecord, ProducerSequence, always
from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.decoding import paced
from redis_ledger.decoding.budget import Budget, Pace
from redis_ledger.errors import (
    CorruptBatch,
    InvalidRequest,
    LedgerError,
    OutcomeUnknown,
    TopicForbidden,
    TransactionAbortOnly,
    UnknownPartition,
    UnknownTopic,
)
from redis_ledger.ids import TxnId
from redis_ledger.ledger.append_request import Accepted, AppendRequest, append_request
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.read_memory import ReadMemory
from redis_ledger.ledger.reader import ALL_RECORDS
from redis_ledger.ledger.topic_checks import OFFSETS_TOPIC, refuse_internal
from redis_ledger.ledger.topic_entry import TopicEntry
from redis_ledger.records.batch import BatchHeader, claim, split
from redis_ledger.txn.coordinator import Participant


class Records:
    """The REST use cases of a topic's records."""

    def __init__(
        self,
        catalog: Catalog,
        fetching: PartitionFetch,
        encoder: RecordEncoder,
        batches: ClientBatches,
        registry: ParticipantRegistry,
        producers: Producers,
        transactions: Transactions,
        config: Config,
        clock: Clock,
    ) -> None:
        self._catalog, self._fetching, self._encoder, self._batches = catalog, fetching, encoder, batches
        self._registry, self._producers, self._transactions = registry, producers, transactions
        self._config, self._clock = config, clock

    async def fetch(
        self,
        topic: str,
        partition: int,
        offset: int | Literal["earliest", "latest"],
        *,
        isolation: Isolation = "read_committed",
        max_bytes: int = 1 << 20,
        wait_ms: int = 0,
        records_max: int = ALL_RECORDS,
        room: ReadMemory | None = None,
    ) -> Fetched:
        """Batches from `offset` on, as many as hold records_max records; empty if none arrives within wait_ms.
        Raises OffsetOutOfRange."""
        return await self._fetching.fetch(
            topic, partition, offset, isolation=isolation, max_bytes=max_bytes, wait_ms=wait_ms,
            records_max=records_max, room=room,
        )  # fmt: skip

    async def produce(
        self,
        topic: str,
        records: Sequence[NewRecord],
        *,
        partition: int | None = None,
        transaction: TxnId | None = None,
        producer: ProducerSequence | None = None,
        agree: Agree | None = None,
        may_create: Callable[[], bool] = always,
    ) -> list[Appended]:
        """Appends records.  Returns their offsets by partition; within a partition records keep their order.

        may_create   whether the caller may create the topic, if it does not exist and auto_create_topics is on
        producer     an idempotent producer; its sequence is that of the first record in each partition
        agree        of a request with an Idempotency-Key: the layout of its first attempt
        """

        async def once() -> list[Appended]:
            prepared = await self.prepare(
                topic, records, partition=partition, producer=producer, agree=agree, may_create=may_create
            )
            if transaction is not None:
                await self._registry.register(transaction, prepared.participants)
            return await self.append_prepared(prepared, transaction, producer)

        return await self._catalog.with_current(topic, once)

    async def prepare(
        self,
        topic: str,
        records: Sequence[NewRecord],
        *,
        partition: int | None = None,
        producer: ProducerSequence | None = None,
        agree: Agree | None = None,
        may_create: Callable[[], bool] = always,
    ) -> PreparedRecords:
        """Checks records and chooses their partitions, and writes nothing.  Raises UnknownTopic, UnknownPartition,
        RequestTooLarge; TopicForbidden if the topic would have to be created and may_create returns False."""
        return await self._encoder.prepare(await self.topic(topic, may_create), records, partition, producer, agree)

    async def append_prepared(
        self, prepared: PreparedRecords, transaction: TxnId | None, producer: ProducerSequence | None = None
    ) -> list[Appended]:
        """Appends prepared records; the partitions must be registered with the transaction."""
        now_ms, pace = self._clock.now_ms(), Pace()
        requests: list[AppendRequest] = []
        futures: list[asyncio.Future[Accepted]] = []
        for batch in prepared.batches:
            await pace.rest()
            request = encode_batch(batch, producer, transaction, now_ms)
            requests.append(request)
            futures.append(batch.partition.append(request, transaction))
        accepted = await self._results(futures, prepared.topic, transaction)
        results: list[Appended] = []
        for batch, request, each in zip(prepared.batches, requests, accepted, strict=True):
            results += appended(batch, request, each)
        return results

    async def produce_batches(
        self,
        topic: str,
        partition: int,
        data: bytes,
        *,
        transaction: TxnId | None = None,
        owner: str = "",
        may_create: Callable[[], bool] = always,
    ) -> list[Appended]:
        """Appends record batches as they are.  In a transaction their producer fields are replaced by its own.

        owner: of the producer ids in the batches.  Raises InvalidProducerId, CorruptBatch, BadChecksum,
        UnsupportedCompression, RequestTooLarge, TooLargeToDecode before anything is written.
        """
        batches = split(data)
        if not batches:
            raise CorruptBatch("The body holds no record batch.")
        batch_bytes_max = await self._batch_bytes_max(topic)
        with self._fetching.budget() as budget:
            await self._check_batches(batches, batch_bytes_max, budget, transaction)
        return await self._catalog.with_current(
            topic, lambda: self._append_batches(topic, partition, batches, transaction, owner, may_create)
        )

    async def topic(self, topic: str, may_create: Callable[[], bool]) -> TopicEntry:
        """The topic's entry; created if settings and may_create allow it."""
        if topic == OFFSETS_TOPIC:  # compared here as well: this is the path of every record
            refuse_internal(topic, "written to")
        try:
            return await self._catalog.get(topic)
        except UnknownTopic:
            if not self._config.auto_create_topics:
                raise
            if not may_create():
                raise TopicForbidden(f"Topic {topic!r} does not exist, and the caller may not CREATE it.") from None
        return await self._catalog.ensure(topic)

    # -- steps -------------------------------------------------------------------------------------------------------

    async def _check_batches(
        self,
        batches: Sequence[tuple[BatchHeader, memoryview]],
        batch_bytes_max: int,
        budget: Budget,
        transaction: TxnId | None,
    ) -> None:
        for header, view in batches:
            self._batches.check(header, view, batch_bytes_max)
            await paced.read_through(view, budget)  # every reader would skip a batch that cannot be decoded
            budget.check(self._config)
            if header.is_transactional and transaction is None:
                raise InvalidRequest("The batch says it is transactional; name its transaction in the request.")
            if transaction is None:
                await self._producers.ids.check(header.producer_id)

    async def _append_batches(
        self,
        topic: str,
        number: int,
        batches: Sequence[tuple[BatchHeader, memoryview]],
        transaction: TxnId | None,
        owner: str,
        may_create: Callable[[], bool],
    ) -> list[Appended]:
        await self.topic(topic, may_create)
        partition = await self._catalog.partition(topic, number)
        if transaction is not None:
            await self._registry.register(transaction, [Participant(topic, partition.topic_id, number)])
        futures = []
        for header, view in batches:
            request = append_request(bytes(view), header, owner)
            if transaction is not None:
                payload = claim(view, transaction.producer_id, 0, header.base_sequence, True)
                request = request._replace(payload=payload, producer_id=transaction.producer_id, epoch=0)
            futures.append(partition.append(request, transaction))
        accepted = await self._results(futures, topic, transaction)
        return [
            Appended(number, each.base_offset, header.count, each.duplicate)
            for each, (header, _) in zip(accepted, batches, strict=True)
        ]

    async def _results(
        self, futures: Sequence[asyncio.Future[Accepted]], topic: str, txn: TxnId | None
    ) -> list[Accepted]:
        """Waits for all appends of a call.  Raises the first error after each append has ended.

        If the outcome of an append is unknown, its transaction is aborted: the batch may have been written, and an
        abort makes sure that it is never visible.
        """
        if len(futures) == 1:
            try:
                return [await futures[0]]
            except LedgerError as error:
                results: list[Accepted | BaseException] = [error]
        else:
            results = await asyncio.gather(*futures, return_exceptions=True)
        accepted = [r for r in results if isinstance(r, Accepted)]
        errors = [r for r in results if isinstance(r, BaseException)]
        if not errors:
            return accepted
        worst = next((e for e in errors if isinstance(e, OutcomeUnknown)), errors[0])
        if isinstance(worst, UnknownTopic | UnknownPartition):
            self._catalog.forget(topic)
        if isinstance(worst, OutcomeUnknown) and txn is not None:
            await self._transactions.abort(txn)
            raise TransactionAbortOnly(
                f"A reply of Redis was lost, so transaction {txn} was aborted; begin it again.", transaction=str(txn)
            ) from worst
        if isinstance(worst, LedgerError) and accepted and txn is None:
            worst.facts["written_batches"] = len(accepted)  # other partitions of this call did take theirs
        raise worst

    async def _batch_bytes_max(self, topic: str) -> int:
        try:
            return (await self._catalog.get(topic)).setting("batch_bytes_max", self._config)
        except UnknownTopic:
            return self._config.batch_bytes_max  # this call may create the topic, but not for a batch that is refused
