"""Looks into a subscription without changing it: pending acknowledgements, the state of one record, its backlog.

Every read is bounded, and several reads that must agree are of one moment (store/reading.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

from redis_ledger.broker.subscriptions.cursor_now import CursorNow, cursor_now
from redis_ledger.broker.subscriptions.cursors import Cursors
from redis_ledger.broker.types import SubscriptionKind
from redis_ledger.cursor import ack_chunks, backlog_analysis, pending_row, record_state, slot_queues
from redis_ledger.cursor.ack_chunks import CHUNK
from redis_ledger.cursor.backlog_analysis import BacklogCounts
from redis_ledger.cursor.pending_fields import PendingTransaction, decode, holder
from redis_ledger.cursor.record_state import RecordFacts, RecordState
from redis_ledger.cursor.slot_queues import PER_PLACE
from redis_ledger.cursor.unacked import Lease, lease_of, parse
from redis_ledger.errors import CoordinatorNotFound, StoredDamaged, TransactionNotFound
from redis_ledger.ids import MessageId, TxnId
from redis_ledger.ledger.entries import LogEntry, is_aborted, parse_log
from redis_ledger.ledger.partition import Partition
from redis_ledger.store.reading import Read, Reading
from redis_ledger.store.store import Store
from redis_ledger.txn.coordinator import Coordinators

FIELDS_MAX = 2_000  # of a pending hash, read by one call
REGIONS_MAX = 500  # of one transaction, read by one call
PARTITIONS_MAX = 64  # read by one call
PRODUCERS_MAX = 200  # transactions of which the coordinator is read
AT_ONCE = 8
PAGE_ENTRIES = 500  # of the log
PAGE_CHUNKS = 128  # bitmaps of a page, a kilobyte each
ALL = 1 << 62  # ranges of a transaction
ATTEMPTS = 5  # at facts that change while they are read


class PendingOnPartition(NamedTuple):
    """The pending acknowledgements of a subscription on one partition.  mark_delete: -1 for a Kafka group without an
    offset.  is_complete: there are no other transactions.  low_watermarks: coordinator → serial."""

    partition: int
    mark_delete: int
    records: int
    transactions: Sequence[PendingTransaction]
    is_complete: bool
    low_watermarks: dict[int, int]


class PendingAcknowledgements(NamedTuple):
    """next_partition: where to go on; None at the end."""

    kind: SubscriptionKind
    partitions: Sequence[PendingOnPartition]
    next_partition: int | None


class RecordInSubscription(NamedTuple):
    """deliveries: 1 when a record was delivered once.  base_offset, records: of its batch."""

    id: MessageId
    state: RecordState
    mark_delete: int
    stable_offset: int
    end_offset: int
    transaction: TxnId | None = None
    consumer: str = ""
    deliveries: int = 0
    redelivery_at_ms: int | None = None
    base_offset: int | None = None
    records: int = 0


class BacklogAnalysis(NamedTuple):
    """from_offset: where the scan began.  next_offset: where to go on; None if it has reached the log end.
    scheduled: records of the partition that are not due yet; they are in no backlog."""

    partition: int
    kind: SubscriptionKind
    mark_delete: int
    stable_offset: int
    end_offset: int
    from_offset: int
    next_offset: int | None
    counts: BacklogCounts
    scheduled: int


class SubscriptionInspection:
    def __init__(self, store: Store, cursors: Cursors, coordinators: Coordinators) -> None:
        self._cursors, self._coordinators = cursors, coordinators
        self._reading = Reading(store)

    # -- pending acknowledgements ------------------------------------------------------------------------------------

    async def pending(
        self,
        topic: str,
        name: str,
        *,
        partition: int | None = None,
        from_partition: int = 0,
        transaction: TxnId | None = None,
        ranges_max: int = 100,
        low_watermarks: bool = False,
    ) -> PendingAcknowledgements:
        """Of one partition, or of PARTITIONS_MAX from one on.  transaction: only of this one.

        Raises UnknownTopic, UnknownPartition, UnknownSubscription.
        """
        if partition is not None:
            chosen, following = await self._cursors.chosen(topic, (partition,)), None
        else:
            every = await self._cursors.partitions(topic, fresh=True)
            last = from_partition + PARTITIONS_MAX
            chosen, following = every[from_partition:last], last if last < len(every) else None
        kinds, found = set[SubscriptionKind](), list[PendingOnPartition]()
        if not chosen:
            return PendingAcknowledgements(await self._kind(topic, name), [], None)
        for at in range(0, len(chosen), AT_ONCE):
            some = await asyncio.gather(*(
                self._cursors.act(each, name, lambda p: self._pending(p, name, transaction, ranges_max, low_watermarks))
                for each in chosen[at : at + AT_ONCE]
            ))  # fmt: skip
            found += [each for _, each in some]
            kinds |= {kind for kind, _ in some}
        return PendingAcknowledgements(min(kinds), await self._with_producers(found), following)

    async def _with_producers(self, found: Sequence[PendingOnPartition]) -> list[PendingOnPartition]:
        """Adds the producers of the first PRODUCERS_MAX transactions."""
        named = list(dict.fromkeys(each.transaction for p in found for each in p.transactions))[:PRODUCERS_MAX]
        producers = dict(zip(named, await asyncio.gather(*map(self._producer, named)), strict=True))
        return [
            p._replace(
                transactions=[each._replace(producer=producers.get(each.transaction)) for each in p.transactions]
            )
            for p in found
        ]

    async def _producer(self, txn: TxnId) -> tuple[int, str] | None:
        try:
            producer = (await self._coordinators.get(txn)).producer
        except (TransactionNotFound, CoordinatorNotFound):
            return None
        return None if producer is None else (producer.id, producer.transactional_id)

    async def _kind(self, topic: str, name: str) -> SubscriptionKind:
        (first,) = await self._cursors.chosen(topic, (0,))
        return (await self._cursors.act(first, name, lambda p: self._now(p, name)))[0].kind

    async def _pending(
        self, p: Partition, name: str, txn: TxnId | None, ranges_max: int, low_watermarks: bool
    ) -> tuple[SubscriptionKind, PendingOnPartition]:
        now, _ = await self._now(p, name)
        key = p.keys.sub(name).pending
        if txn is None:
            fields, is_complete = await self._fields(p, key)
        else:
            fields, is_complete = await self._fields_of(p, key, txn)
        found = decode(fields, now.first, ranges_max, is_group=now.kind == "kafka")
        marks = dict[int, int]()
        if low_watermarks:
            async for page in self._reading.rows(p.keys.state, p.keys.watermarks):
                marks.update((int(coordinator), int(serial)) for coordinator, serial in page if serial)
        return now.kind, PendingOnPartition(
            p.number, now.mark, now.held, found, is_complete, dict(sorted(marks.items()))
        )

    async def _fields(self, p: Partition, key: bytes) -> tuple[dict[bytes, bytes], bool]:
        fields = dict[bytes, bytes]()
        async for page in self._reading.rows(p.keys.state, key):
            fields.update(page)
            if len(fields) >= FIELDS_MAX:
                return fields, False
        return fields, True

    async def _fields_of(self, p: Partition, key: bytes, txn: TxnId) -> tuple[dict[bytes, bytes], bool]:
        name = str(txn).encode()
        value = await self._reading.command(p.keys.state, "HGET", key, name)
        if value is None:
            return {}, True
        regions = pending_row.parse(value).regions
        names = [name + b"/" + each.encode() for each in regions[:REGIONS_MAX]]
        values = await self._reading.command(p.keys.state, "HMGET", key, *names) if names else ()
        found = {each: held for each, held in zip(names, values or (), strict=True) if held is not None}
        return {name: value, **found}, len(regions) <= REGIONS_MAX

    # -- one record --------------------------------------------------------------------------------------------------

    async def record(
        self, topic: str, name: str, id: MessageId, batch_index: int | None = None
    ) -> RecordInSubscription:
        """The state of a record.  batch_index: of the record at this place, from 0, in the batch that has the offset.

        Raises UnknownTopic, UnknownPartition, UnknownSubscription.
        """
        (partition,) = await self._cursors.chosen(topic, (id.partition,))
        return await self._cursors.act(partition, name, lambda p: self._record(p, name, id.offset, batch_index))

    async def _record(self, p: Partition, name: str, offset: int, batch_index: int | None) -> RecordInSubscription:
        for attempt in range(ATTEMPTS):
            facts, at = await self._facts(p, name, offset, batch_index)
            entry = facts.entry if facts.entry is not None and facts.entry.base_offset <= offset else None
            state = RecordState("invalid_position", "batch_index") if at is None else record_state.decide(at, facts)
            found = RecordInSubscription(
                MessageId(p.number, offset if at is None else at), state, facts.mark, facts.stable, facts.end,
                base_offset=None if entry is None else entry.base_offset,
                records=0 if entry is None or entry.is_marker else entry.records,
            )  # fmt: skip
            if state.state == "delivered" and facts.lease is not None:
                lease = facts.lease
                return found._replace(
                    consumer=lease.consumer, deliveries=lease.deliveries + 1, redelivery_at_ms=lease.deadline_ms
                )
            if state.state not in ("pending_ack", "not_acknowledged"):
                return found
            fields, is_complete = await self._fields(p, p.keys.sub(name).pending)
            is_group = facts.kind == "kafka"
            by = holder(decode(fields, facts.mark, ALL, is_group=is_group), found.id.offset, is_group=is_group)
            if is_group:
                return found if by is None else found._replace(state=RecordState("pending_ack"), transaction=by)
            if by is not None or not is_complete or attempt == ATTEMPTS - 1:
                return found._replace(transaction=by)
        raise AssertionError("the last attempt returns")

    async def _facts(
        self, p: Partition, name: str, offset: int, batch_index: int | None
    ) -> tuple[RecordFacts, int | None]:
        """The facts, and the offset of the record: None if the batch has fewer records."""
        k, of, at, lease, bits = p.keys, p.keys.sub(name), offset, None, None
        now, (log,) = await self._now(p, name, [("XRANGE", k.log, _stream_id(offset), "+", "COUNT", 1)])
        entries = parse_log(log or ()) if offset >= now.start else []
        if entries:
            entries = await p.reader.sidecar.resolved(entries, offset, 1)
        entry = next((each for each in entries if each.last_offset >= offset), None)
        if batch_index is not None and entry is not None and entry.base_offset <= offset < now.end:
            at = entry.base_offset + batch_index
            if batch_index >= entry.records or entry.is_marker:
                return _record_facts(now, entry, is_aborted=False, is_acked=False, lease=None), None
        for _ in range(ATTEMPTS):
            spans = ("ZREVRANGEBYSCORE", of.spans, at, 0, "LIMIT", 0, 1)
            first = await self._reading.command(k.state, *spans)
            lease_of = first[0] if first else b""
            now, (bits, again, row) = await self._now(
                p, name, [("HMGET", of.acks, *ack_chunks.names((at // CHUNK,))), spans, ("HGET", of.leases, lease_of)]
            )
            if now.kind == "key_shared":
                now, bits, lease = await self._queued(p, name, at)
                break
            if now.kind == "kafka" or (again or []) == (first or []):
                lease = parse(p.number, int(lease_of), row) if row is not None and lease_of else None
                break
        if lease is not None and lease.last < at:
            lease = None
        has_entry = entry is not None and entry.base_offset <= at < now.stable
        aborted = await p.reader.aborted_of([entry]) if has_entry and entry is not None else []
        is_acked = backlog_analysis.bits_set(ack_chunks.bitmaps((at // CHUNK,), bits), at, at) > 0
        facts = _record_facts(
            now, entry, is_aborted=entry is not None and is_aborted(entry, aborted), is_acked=is_acked, lease=lease
        )
        return facts, at

    async def _queued(self, p: Partition, name: str, at: int) -> tuple[CursorNow, Any, Lease | None]:
        """Of a key_shared subscription: the cursor, bits of acknowledgements, and the lease of an offset.

        Raises StoredDamaged, also if an offset that is neither new nor acknowledged is in no queue.
        """
        of, chunk, left = p.keys.sub(name), at // CHUNK, ATTEMPTS
        place_of = ("HGET", of.leases, f"m{at // PER_PLACE}")
        place = await self._reading.command(p.keys.state, *place_of)
        while True:
            before = slot_queues.slot_of(place, at)
            reads = [("HMGET", of.acks, *ack_chunks.names((chunk,))), place_of, ("HGET", of.leases, f"s{before or 0}")]
            now, (bits, place, queue) = await self._now(p, name, reads)
            is_settled, left = slot_queues.slot_of(place, at) == before, left - 1
            if is_settled or not left:
                break
        found = () if before is None or queue is None else slot_queues.entries(before, queue)
        entry = next((each for each in found if each.offset == at), None)
        if entry is None:
            is_acked = backlog_analysis.bits_set(ack_chunks.bitmaps((chunk,), bits), at, at) > 0
            if is_settled and now.mark <= at < now.read and not is_acked:
                raise StoredDamaged.of(f"The queue of offset {at} of the subscription")
            return now, bits, None
        if entry.consumer is None:
            return now, bits, None
        lease = lease_of(p.number, entry)
        if lease is None:  # it waits for the consumer of its key
            now = now._replace(read=min(now.read, at))
        return now, bits, lease

    # -- backlog -----------------------------------------------------------------------------------------------------

    async def analyze_backlog(
        self, topic: str, name: str, partition: int, *, from_offset: int = 0, entries_max: int = 10_000
    ) -> BacklogAnalysis:
        """Counts what is between the mark-delete position, or from_offset if that is higher, and the log end.

        Raises UnknownTopic, UnknownPartition, UnknownSubscription.  Cost: three round trips for PAGE_ENTRIES entries.
        """
        (chosen,) = await self._cursors.chosen(topic, (partition,))
        return await self._cursors.act(chosen, name, lambda p: self._analyze(p, name, from_offset, entries_max))

    async def _analyze(self, p: Partition, name: str, from_offset: int, entries_max: int) -> BacklogAnalysis:
        k, counts = p.keys, BacklogCounts()
        now, (scheduled,) = await self._now(p, name, [("HGET", k.delay.state, "records")])
        begin = at = max(now.first, min(from_offset, now.end))
        while at < now.end and counts.entries < entries_max:
            size = min(PAGE_ENTRIES, entries_max - counts.entries)
            log = await self._reading.command(k.state, "XRANGE", k.log, _stream_id(at), "+", "COUNT", size)
            entries = [each for each in parse_log(log or ()) if each.base_offset < now.end]
            if not entries:
                at = now.end
                break
            entries = (await p.reader.sidecar.resolved(entries, at, ALL))[:size]
            chunks = range(at // CHUNK, min(entries[-1].last_offset, max(now.acked_end - 1, at)) // CHUNK + 1)[
                :PAGE_CHUNKS
            ]
            bits = await self._reading.command(k.state, "HMGET", p.keys.sub(name).acks, *ack_chunks.names(chunks))
            if chunks[-1] < (now.acked_end - 1) // CHUNK:  # the rest of the page has bitmaps that were not read
                entries = _below(entries, (chunks[-1] + 1) * CHUNK)
            acks = ack_chunks.bitmaps(chunks, bits)
            decided = [each for each in entries if each.base_offset < now.stable]
            aborted = await p.reader.aborted_of(decided)
            counts.add(backlog_analysis.count(entries, at, now.stable, aborted, acks))
            at = entries[-1].last_offset + 1
        return BacklogAnalysis(
            p.number, now.kind, now.mark, now.stable, now.end, begin, at if at < now.end else None, counts,
            int(scheduled or 0),
        )  # fmt: skip

    # -- steps -------------------------------------------------------------------------------------------------------

    async def _now(self, p: Partition, name: str, reads: Sequence[Read] = ()) -> tuple[CursorNow, list[Any]]:
        return await cursor_now(self._reading, p, name, reads)


def _record_facts(
    now: CursorNow, entry: LogEntry | None, *, is_aborted: bool, is_acked: bool, lease: Lease | None
) -> RecordFacts:
    return RecordFacts(
        now.kind, now.start, now.stable, now.end, now.mark, now.read, entry, is_aborted, is_acked, lease
    )  # fmt: skip


def _below(entries: Sequence[LogEntry], offset: int) -> list[LogEntry]:
    """The entries that end below an offset; always the first one."""
    return [each for number, each in enumerate(entries) if number == 0 or each.last_offset < offset]


def _stream_id(offset: int) -> int:
    return min(offset, (1 << 63) - 1)
