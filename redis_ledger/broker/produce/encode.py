"""Encodes the records of a REST call: placed on partitions, cut into batches, encoded into append requests.

NewRecord ─▶ partition by key ─▶ batches by size and due times ─▶ RecordBatch v2 ─▶ AppendRequest
             └────────── prepare: everything is checked ──────┘   └── encode: nothing fails ──┘

A partition recognizes a repeated batch by its sequences, so a repeated request has to be placed and cut as the first
time.  That depends on the request and its Layout alone, which is stored with the Idempotency-Key; never on the time.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import NamedTuple

from redis_ledger.broker.produce import split_by_due
from redis_ledger.broker.produce.split_by_due import BATCH_DUES_MAX
from redis_ledger.broker.types import Appended, NewRecord, ProducerSequence
from redis_ledger.config import Config
from redis_ledger.decoding.budget import Pace
from redis_ledger.errors import InvalidRequest, RequestTooLarge
from redis_ledger.ids import TxnId
from redis_ledger.ledger.append_request import Accepted, AppendRequest
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.partition import Partition
from redis_ledger.ledger.topic_entry import TopicEntry
from redis_ledger.records.batch import SEQUENCES
from redis_ledger.records.build import encode
from redis_ledger.records.partitioner import partition_for
from redis_ledger.records.split_by_due import DueOf, Split
from redis_ledger.txn.coordinator import Participant

RECORD_OVERHEAD_BYTES = 32  # a generous bound on what a record adds to its key, value and headers
DUES_MAX = 250  # times of delivery in one batch
WINDOW = 5  # batches of a producer that a partition recognizes (lua/include/producers)
NO_TIME = (None, None)
_LAYOUT = struct.Struct(">II")


class PreparedBatch(NamedTuple):
    """A batch of one partition that is not encoded yet: encoding needs the transaction it belongs to."""

    partition: Partition
    records: list[NewRecord]
    sequence: int
    dues: list[int | None] | None = None  # of each record, None: now; None for a batch in which nothing is due later


class PreparedRecords(NamedTuple):
    """Checked records of one topic, by partition: only Redis can refuse them now."""

    topic: str
    batches: list[PreparedBatch]

    @property
    def participants(self) -> list[Participant]:
        partitions = dict.fromkeys(batch.partition for batch in self.batches)
        return [Participant(p.topic, p.topic_id, p.number) for p in partitions]

    def numbered(self, following: dict[Partition, int], first: int = 0) -> PreparedRecords:
        """The same with sequences, so that an append whose reply was lost is repeated.  Only for a caller that writes
        everything under its producer id.

        following: the next sequence in each partition, updated here; first: in a partition without an entry.
        """
        batches = []
        for batch in self.batches:
            sequence = following.get(batch.partition, first)
            batches.append(batch._replace(sequence=sequence))
            following[batch.partition] = (sequence + len(batch.records)) % SEQUENCES
        return PreparedRecords(self.topic, batches)


class Layout(NamedTuple):
    """The settings of a topic that decide where records go and how they are cut."""

    partitions: int
    batch_bytes_max: int


# (topic id, layout proposed) → the layout that every attempt at the request uses
Agree = Callable[[str, bytes], Awaitable[bytes]]


async def layout_of(entry: TopicEntry, config: Config, agree: Agree | None) -> Layout:
    """agree: of a request that may be repeated; None: it is not recognized."""
    current = Layout(entry.partitions, entry.setting("batch_bytes_max", config))
    if agree is None:
        return current
    return Layout(*_LAYOUT.unpack(await agree(entry.id, _LAYOUT.pack(*current))))


class RecordEncoder:
    """rule: the due time of a record under a topic's config."""

    def __init__(self, catalog: Catalog, rule: Callable[[Config], DueOf], config: Config) -> None:
        self._catalog, self._rule, self._config = catalog, rule, config

    async def prepare(
        self,
        entry: TopicEntry,
        records: Sequence[NewRecord],
        partition: int | None,
        producer: ProducerSequence | None,
        agree: Agree | None = None,
    ) -> PreparedRecords:
        """Raises InvalidRequest, UnknownPartition, RequestTooLarge, InvalidDelay, DelayTooLong."""
        spread = None if producer is None else producer.producer_id
        dues_max = DUES_MAX if producer is None else BATCH_DUES_MAX
        layout = await layout_of(entry, self._config, agree)
        batches, pace = [], Pace()
        for number, some in self._by_partition(layout.partitions, records, partition, spread).items():
            await pace.rest()
            where = await self._catalog.partition(entry.name, number)
            parts = [p for group in by_bytes(some, layout.batch_bytes_max) for p in by_due_times(group, dues_max)]
            if agree is not None and len(parts) > WINDOW:
                raise RequestTooLarge(
                    f"With an Idempotency-Key, a request may have {WINDOW} batches for a partition, not {len(parts)}. "
                    "Split it; nothing was written."
                )
            batches += [PreparedBatch(where, part, -1, self._due_times(part, where.config)) for part in parts]
        prepared = PreparedRecords(entry.name, batches)
        return prepared if producer is None else prepared.numbered({}, producer.sequence)

    def _by_partition(
        self, count: int, records: Sequence[NewRecord], partition: int | None, spread: int | None
    ) -> dict[int, list[NewRecord]]:
        """Partition → its records.  Records of a call without a key stay together.  An idempotent call has to choose
        the same partition when it is repeated, so its producer id, `spread`, decides."""
        if not 1 <= len(records) <= self._config.records_per_request_max:
            raise InvalidRequest(
                f"A request carries 1 to {self._config.records_per_request_max} records, not {len(records)}."
            )
        keyless = spread % count if spread is not None else random.randrange(count)
        if partition is not None and all(r.partition is None for r in records):
            return {partition: list(records)}
        grouped: dict[int, list[NewRecord]] = {}
        for record in records:
            if record.key is not None and len(record.key) > self._config.key_bytes_max:
                raise RequestTooLarge(
                    f"A key of {len(record.key)} bytes was sent; at most {self._config.key_bytes_max} are allowed."
                )
            where = record.partition if record.partition is not None else partition
            if where is None:
                where = keyless if record.key is None else partition_for(record.key, count)
            grouped.setdefault(where, []).append(record)
        return grouped

    def _due_times(self, records: list[NewRecord], config: Config) -> list[int | None] | None:
        """When each record is due; None when all are due now.  Raises InvalidDelay, DelayTooLong."""
        if all(r.deliver_at_ms is None and r.deliver_after_ms is None for r in records):
            return None
        due_of = self._rule(config)
        dues = [due_of(r.deliver_at_ms, r.deliver_after_ms) for r in records]
        return None if all(due is None for due in dues) else dues


def by_due_times(records: list[NewRecord], most: int) -> Iterator[list[NewRecord]]:
    """Neighbours with at most so many times of delivery.  Times that have passed count as well: a repeated request is
    cut in the same places."""
    first, seen = 0, set[tuple[int | None, int | None]]()
    for at, record in enumerate(records):
        given = (record.deliver_at_ms, record.deliver_after_ms)
        if given != NO_TIME and given not in seen:
            if len(seen) == most:
                yield records[first:at]
                first, seen = at, set()
            seen.add(given)
    yield records[first:]


def by_bytes(records: list[NewRecord], limit: int) -> list[list[NewRecord]]:
    """Groups that each fit into one batch of so many bytes.  Raises RequestTooLarge."""
    groups: list[list[NewRecord]] = [[]]
    total = 0
    for record in records:
        size = RECORD_OVERHEAD_BYTES + len(record.key or b"") + len(record.value or b"")
        for name, value in record.headers:
            size += 8 + len(name) * 4 + len(value or b"")
        if size > limit - 128:
            raise RequestTooLarge(
                f"A record of {size} bytes does not fit into a batch of {limit}; nothing was written."
            )
        if groups[-1] and total + size > limit - 128:
            groups.append([])
            total = 0
        groups[-1].append(record)
        total += size
    return groups


def encode_batch(
    batch: PreparedBatch, producer: ProducerSequence | None, txn: TxnId | None, now_ms: int
) -> AppendRequest:
    """now_ms: the timestamp of records without one."""
    where, records, sequence, dues = batch
    pid, epoch, owner = (-1, -1, "") if producer is None else (producer.producer_id, producer.epoch, producer.owner)
    if txn is not None:
        pid, epoch = txn.producer_id, 0
    transactional = txn is not None
    rows = [(r.key, r.value, r.headers, now_ms if r.timestamp_ms is None else r.timestamp_ms) for r in records]
    if dues is not None:
        now, later = split_by_due.split(rows, dues, pid, epoch, sequence, transactional=transactional)
        split = Split(now, split_by_due.in_blocks(later, where.config, now_ms))
        return AppendRequest(b"", len(rows), -1, pid, epoch, sequence, owner, split)
    payload = encode(rows, producer_id=pid, epoch=epoch, sequence=sequence, transactional=transactional)
    return AppendRequest(payload, len(rows), max(row[3] for row in rows), pid, epoch, sequence, owner)


def appended(batch: PreparedBatch, request: AppendRequest, accepted: Accepted) -> Sequence[Appended]:
    """The result of an append, as the caller sees it."""
    number = batch.partition.number
    if request.split is None or batch.dues is None:
        return (Appended(number, accepted.base_offset, request.records, accepted.duplicate),)
    return split_by_due.appended(number, *request.split, batch.dues, accepted)
