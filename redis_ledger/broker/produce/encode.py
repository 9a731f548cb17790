"""Produce and fetch: records into partitions, and out again.

A call's records are grouped by partition, encoded into record batches and appended, all partitions in parallel.
Everything is checked before anything is written.  Inside a transaction the partitions are registered with the
coordinator first, and a failure whose outcome is unknown aborts the transaction (CL-20), for what may have been written
is then certainly not seen.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, NamedTuple

from redis_ledger.broker.fetch.partition import PartitionFetch
from redis_ledger.broker.produce import batching, split_by_due
from redis_ledger.broker.transactions.participant_registry import ParticipantRegistry
from redis_ledger.broker.types import Appended, Fetched, Isolation, NewRecord, ProducerSequence, always
from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.decoding import paced
from redis_ledger.decoding.budget import Budget, Pace
from redis_ledger.errors import (
    CorruptBatch,
    InvalidRequest,
    InvalidTopicName,
    LedgerError,
    OutcomeUnknown,
    RequestTooLarge,
    TopicForbidden,
    TransactionAbortOnly,
    UnknownPartition,
    UnknownTopic,
)
from redis_ledger.ids import TxnId
from redis_ledger.ledger.catalog import OFFSETS_TOPIC, Catalog
from redis_ledger.ledger.partition import Accepted, Partition
from redis_ledger.ledger.read_memory import ReadMemory
from redis_ledger.ledger.reader import ALL_RECORDS
from redis_ledger.ledger.topic_entry import TopicEntry
from redis_ledger.records.batch import SEQUENCES, BatchHeader, check, claim, split
from redis_ledger.records.build import encode
from redis_ledger.records.partitioner import partition_for
from redis_ledger.records.split_by_due import DueOf, Later, Now
from redis_ledger.txn.coordinator import Participant


class _Batch(NamedTuple):
    """A batch of one partition, not encoded yet: encoding waits for the transaction it belongs to."""

    partition: Partition
    records: list[NewRecord]
    sequence: int
    dues: list[int | None] | None = None  # of each record, None: now; None for a batch in which nothing is due later


class Prepared(NamedTuple):
    """Records of one topic, checked and placed: nothing but Redis can refuse them now."""

    topic: str
    batches: list[_Batch]

    @property
    def participants(self) -> list[Participant]:
        return [Participant(p.topic, p.topic_id, p.number) for p in dict.fromkeys(b.partition for b in self.batches)]

    def numbered(self, following: dict[Partition, int], first: int = 0) -> Prepared:
        """The same with sequences, so that an append whose reply was lost is repeated.  following: the next sequence in
        each partition, moved on here; first: in those it does not name.  Only for who writes all of its producer id."""
        batches = []
        for batch in self.batches:
            sequence = following.get(batch.partition, first)
            batches.append(batch._replace(sequence=sequence))
            following[batch.partition] = (sequence + len(batch.records)) % SEQUENCES
        return Prepared(self.topic, batches)


class Records:
    """The use cases of a topic's records."""

    def __init__(
        self,
        catalog: Catalog,
        fetching: PartitionFetch,
        registry: ParticipantRegistry,
        abort: Callable[[TxnId], Awaitable[object]],
        rule: Callable[[Config], DueOf],
        check_producer: Callable[[int], Awaitable[None]],
        config: Config,
        clock: Clock,
    ) -> None:
        self._catalog, self._fetching, self._registry = catalog, fetching, registry
        self._abort, self._rule, self._check_producer = abort, rule, check_producer
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
        """Batches from offset on, no more than it takes for records_max; empty when there is nothing yet after wait_ms.
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
        may_create: Callable[[], bool] = always,
    ) -> list[Appended]:
        """Where the records went, by partition; the order of the call is kept within a partition.

        may_create: whether a topic that is not there is made, if settings say so.  producer: an idempotent one; its
        sequence counts from the first record, in every partition by itself.
        """

        async def once() -> list[Appended]:
            prepared = await self.prepare(topic, records, partition=partition, producer=producer, may_create=may_create)
            if transaction is not None:
                await self._registry.register(transaction, prepared.participants)
            return await self.append_prepared(prepared, transaction, producer)

        return await self._as_it_is_now(topic, once)

    async def prepare(
        self,
        topic: str,
        records: Sequence[NewRecord],
        *,
        partition: int | None = None,
        producer: ProducerSequence | None = None,
        may_create: Callable[[], bool] = always,
    ) -> Prepared:
        """Checks and places records, and writes none.  Raises UnknownTopic, UnknownPartition, RequestTooLarge; without
        may_create TopicForbidden for a topic that would be made."""
        entry = await self.topic(topic, may_create)
        spread = None if producer is None else producer.producer_id
        batches, pace = [], Pace()
        for number, some in self._place(entry, records, partition, spread).items():
            await pace.rest()
            where = await self._catalog.partition(topic, number)
            for group in batching.by_bytes(some, where.config.batch_bytes_max):
                dues = self._dues(group, where.config)
                parts = [(group, None)] if dues is None else batching.by_due_times(group, dues)
                batches += [_Batch(where, part, -1, their_dues) for part, their_dues in parts]
        prepared = Prepared(topic, batches)
        return prepared if producer is None else prepared.numbered({}, producer.sequence)

    async def append_prepared(
        self, prepared: Prepared, transaction: TxnId | None, producer: ProducerSequence | None = None
    ) -> list[Appended]:
        """Appends what was prepared; in a transaction its participants must be registered."""
        now = self._clock.now_ms()
        pid, epoch, owner = (-1, -1, "") if producer is None else (producer.producer_id, producer.epoch, producer.owner)
        if transaction is not None:
            pid, epoch = transaction.producer_id, 0
        futures: list[asyncio.Future[Accepted]] = []
        splits: dict[int, tuple[Now | None, Sequence[Later]]] = {}
        pace = Pace()
        for where, records, sequence, dues in prepared.batches:
            await pace.rest()
            rows = [(r.key, r.value, r.headers, now if r.timestamp_ms is None else r.timestamp_ms) for r in records]
            if dues is not None:
                here, later = split_by_due.split(
                    rows, dues, pid, epoch, sequence, transactional=transaction is not None
                )
                later = split_by_due.in_blocks(later, where.config, now)
                splits[len(futures)] = (here, later)
                scheduled = where.schedule(
                    later, now=here, records=len(rows), producer_id=pid, epoch=epoch, sequence=sequence,
                    txn=transaction, verified=transaction is not None, owner=owner,
                )  # fmt: skip
                futures.append(scheduled)
                continue
            payload = encode(
                rows, producer_id=pid, epoch=epoch, sequence=sequence, transactional=transaction is not None
            )
            futures.append(
                where.append(
                    payload,
                    len(rows),
                    max(row[3] for row in rows),
                    producer_id=pid,
                    epoch=epoch,
                    sequence=sequence,
                    txn=transaction,
                    verified=transaction is not None,
                    owner=owner,
                )
            )
        accepted = await self._outcomes(futures, prepared.topic, transaction)
        return [
            appended
            for at, (batch, a) in enumerate(zip(prepared.batches, accepted, strict=True))
            for appended in (
                split_by_due.placed(batch.partition.number, *splits[at], batch.dues, a)
                if batch.dues is not None
                else (Appended(batch.partition.number, a.base_offset, len(batch.records), a.duplicate),)
            )
        ]

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
        """Appends record batches as they are.  In a transaction their producer fields are rewritten to it.
        owner: of the producer ids that they name.  Raises InvalidProducerId, CorruptBatch, BadChecksum,
        UnsupportedCompression, RequestTooLarge, TooLargeToDecode before anything is written."""
        pieces = split(data)
        if not pieces:
            raise CorruptBatch("The body holds no record batch.")
        batch_bytes_max = await self._batch_bytes_max(topic)
        with self._fetching.budget() as budget:
            await self._check_batches(pieces, batch_bytes_max, budget, transaction)
        return await self._as_it_is_now(
            topic, lambda: self._append_batches(topic, partition, pieces, transaction, owner, may_create)
        )

    async def _check_batches(
        self,
        pieces: Sequence[tuple[BatchHeader, memoryview]],
        batch_bytes_max: int,
        budget: Budget,
        transaction: TxnId | None,
    ) -> None:
        for header, view in pieces:
            check(header, view, batch_bytes_max=batch_bytes_max)
            if header.count > self._config.batch_records_max:
                raise RequestTooLarge(
                    f"A batch of {header.count} records was sent; at most {self._config.batch_records_max} are allowed."
                )
            await paced.read_through(view, budget)  # one that cannot be read would be passed over by every reader
            budget.check(self._config)
            if header.is_transactional and transaction is None:
                raise InvalidRequest("The batch says it is transactional; name its transaction in the request.")
            if transaction is None:
                await self._check_producer(header.producer_id)

    async def _append_batches(
        self,
        topic: str,
        partition: int,
        pieces: Sequence[tuple[BatchHeader, memoryview]],
        transaction: TxnId | None,
        owner: str,
        may_create: Callable[[], bool],
    ) -> list[Appended]:
        entry = await self.topic(topic, may_create)
        where = await self._catalog.partition(topic, partition)
        if transaction is not None:
            await self._registry.register(transaction, [Participant(topic, entry.id, partition)])
        futures = []
        for header, view in pieces:
            payload, pid, epoch = bytes(view), header.producer_id, header.producer_epoch
            if transaction is not None:
                pid, epoch = transaction.producer_id, 0
                payload = claim(view, pid, epoch, header.base_sequence, True)
            futures.append(
                where.append(
                    payload,
                    header.count,
                    header.max_timestamp,
                    producer_id=pid,
                    epoch=epoch,
                    sequence=header.base_sequence,
                    txn=transaction,
                    verified=transaction is not None,
                    owner=owner,
                )
            )
        accepted = await self._outcomes(futures, topic, transaction)
        return [
            Appended(partition, a.base_offset, header.count, a.duplicate)
            for a, (header, _) in zip(accepted, pieces, strict=True)
        ]

    # -- steps -------------------------------------------------------------------------------------------------------

    async def _as_it_is_now(self, topic: str, act: Callable[[], Awaitable[list[Appended]]]) -> list[Appended]:
        """A topic this broker remembers may have been deleted and made again meanwhile: then nothing was written, and
        the call is made once more with the topic as it is now."""
        remembered = self._catalog.known(topic) is not None
        try:
            return await act()
        except UnknownTopic:
            if not remembered:
                raise
        return await act()

    async def topic(self, topic: str, may_create: Callable[[], bool]) -> TopicEntry:
        if topic == OFFSETS_TOPIC:
            raise InvalidTopicName(f"{topic!r} is internal: nobody writes to it.")
        try:
            return await self._catalog.get(topic)
        except UnknownTopic:
            if not self._config.auto_create_topics:
                raise
            if not may_create():
                raise TopicForbidden(f"Topic {topic!r} does not exist, and the caller may not CREATE it.") from None
        return await self._catalog.ensure(topic)

    def _place(
        self, entry: TopicEntry, records: Sequence[NewRecord], partition: int | None, spread: int | None
    ) -> dict[int, list[NewRecord]]:
        """Partition → its records.  Keyless ones of a call stay together; an idempotent call must place them the same
        way when it is repeated, so there `spread`, its producer id, says where."""
        if not 1 <= len(records) <= self._config.records_per_request_max:
            raise InvalidRequest(
                f"A request carries 1 to {self._config.records_per_request_max} records, not {len(records)}."
            )
        count = entry.partitions
        keyless = spread % count if spread is not None else random.randrange(count)
        if partition is not None and all(r.partition is None for r in records):
            return {partition: list(records)}
        placed: dict[int, list[NewRecord]] = {}
        for record in records:
            if record.key is not None and len(record.key) > self._config.key_bytes_max:
                raise RequestTooLarge(
                    f"A key of {len(record.key)} bytes was sent; at most {self._config.key_bytes_max} are allowed."
                )
            where = record.partition if record.partition is not None else partition
            if where is None:
                where = keyless if record.key is None else partition_for(record.key, count)
            placed.setdefault(where, []).append(record)
        return placed

    def _dues(self, records: list[NewRecord], config: Config) -> list[int | None] | None:
        """When each is due; None when all are due now.  Raises InvalidDelay, DelayTooLong."""
        if all(r.deliver_at_ms is None and r.deliver_after_ms is None for r in records):
            return None
        due_of = self._rule(config)
        dues = [due_of(r.deliver_at_ms, r.deliver_after_ms) for r in records]
        return None if all(due is None for due in dues) else dues

    async def _batch_bytes_max(self, topic: str) -> int:
        try:
            return (await self._catalog.get(topic)).setting("batch_bytes_max", self._config)
        except UnknownTopic:
            return self._config.batch_bytes_max  # it may be made by this call, but not for a batch that is refused

    async def _outcomes(
        self, futures: Sequence[asyncio.Future[Accepted]], topic: str, transaction: TxnId | None
    ) -> list[Accepted]:
        """All of them, or the first failure once each has its outcome."""
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
        if isinstance(worst, OutcomeUnknown) and transaction is not None:
            await self._abort(transaction)
            raise TransactionAbortOnly(
                f"A reply of Redis was lost, so transaction {transaction} was aborted; begin it again.",
                transaction=str(transaction),
            ) from worst
        if isinstance(worst, LedgerError) and accepted and transaction is None:
            worst.facts["written_batches"] = len(accepted)  # other partitions of this call did take theirs
        raise worst
