"""What a transaction has done: its records and its marker on each partition, its acknowledgements on each subscription.

    open on the partition    hash `open` has the first offset ──▶ log entries of the producer id, forward from there
    ended on the partition   log entries of the producer id, backward from the end of the log, to before it was begun

Nothing is counted while a transaction runs: all of this is read from the logs when it is requested, within bounds.
What a bound has cut is marked.  Ended transactions have no participants any more: their coordinator forgets them.
Source: requirements OB-04 to OB-06.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from redis_ledger.cursor import pending_row
from redis_ledger.cursor.ranges import Range, size
from redis_ledger.errors import UnknownPartition, UnknownTopic
from redis_ledger.ids import TxnId
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.entries import COMMIT, SIDECAR, LogEntry, parse_log
from redis_ledger.ledger.open_row import parse_open
from redis_ledger.ledger.partition import Partition
from redis_ledger.store.store import Store
from redis_ledger.txn import trace
from redis_ledger.txn.coordinator import Coordinators, Participant, TransactionRecord
from redis_ledger.txn.states import TxnState
from redis_ledger.txn.trace import Trace, Traced

PAGE = 500  # log entries read in one round trip
ENTRIES_MAX = 20_000  # log entries read for one partition
ALL_ENTRIES_MAX = 100_000  # log entries read for one request
RANGES_MAX = 100  # ranges shown of one subscription on one partition
REGIONS_MAX = 100  # fields read for it
CLOCKS_MS = 60_000  # by which the clocks of brokers may differ

Marker = Literal["commit", "abort"]
_KAFKA = b"kafka"


class WrittenRecords(NamedTuple):
    """The records of a transaction among log entries.

    first_offset, last_offset: None without records, and while they are in the sidecar buffer, whose commit has no
    marker offset.  batches: log entries, 1 for a commit of the sidecar buffer.
    """

    first_offset: int | None
    last_offset: int | None
    records: int
    batches: int
    bytes: int
    marker_offset: int | None
    marker: Marker | None


class PartitionDetails(NamedTuple):
    """is_cut: there may be more records than these; a bound ended the search.  is_gone: the topic was deleted."""

    topic: str
    partition: int
    written: WrittenRecords
    is_cut: bool
    is_gone: bool = False


class SubscriptionDetails(NamedTuple):
    """pending: acknowledged offsets that the transaction holds.  upto: of its cumulative acknowledgement.
    group_offset: what a Kafka group commits with it.  ranges: the first ones.  is_cut: there are more of them."""

    topic: str
    partition: int
    subscription: str
    pending: int
    upto: int | None
    group_offset: int | None
    ranges: list[Range]
    is_cut: bool


class DetailsPage(NamedTuple):
    """following: the number of the participant at which the next page begins; None at the end."""

    record: TransactionRecord
    partitions: list[PartitionDetails]
    subscriptions: list[SubscriptionDetails]
    following: int | None


def written(entries: Iterable[LogEntry], producer_id: int) -> WrittenRecords:
    """The records and the marker of the producer id's only transaction among these entries, which ascend."""
    first: int | None = None
    last = at = marker = None
    records = batches = total = 0
    for entry in entries:
        if entry.producer_id != producer_id:
            continue
        if entry.is_marker:
            at, marker = entry.base_offset, _marker(entry)
        elif entry.flags & SIDECAR:
            first, last, marker = entry.base_offset, entry.last_offset, "commit"
            records, batches, total = entry.records, 1, entry.size
        elif entry.is_transactional:
            first, last = entry.base_offset if first is None else first, entry.last_offset
            records, batches, total = records + entry.records, batches + 1, total + entry.size
    return WrittenRecords(first, last, records, batches, total, at, marker)


def newest_transaction(entries: Sequence[LogEntry], producer_id: int, begun_ms: int) -> tuple[list[LogEntry], bool]:
    """Of entries that descend, those of the producer id's last transaction, ascending; and whether its beginning is
    among them.  An id that is used again has an earlier marker before it."""
    found: list[LogEntry] = []
    for entry in entries:
        if entry.appended_ms < begun_ms:
            return found[::-1], True
        if entry.producer_id != producer_id:
            continue
        if entry.is_marker and found:
            return found[::-1], True
        found.append(entry)
        if entry.flags & SIDECAR:
            return found, True
    return found[::-1], False


def _producer_id(record: TransactionRecord) -> int:
    return record.txn.producer_id if record.producer is None else record.producer.id


def _marker(entry: LogEntry) -> Marker:
    return "commit" if entry.flags & COMMIT else "abort"


_NOTHING = written((), 0)


class _Budget:
    """Log entries that may still be read for a request."""

    def __init__(self, entries: int) -> None:
        self._left = entries

    def of_partition(self) -> int:
        return min(ENTRIES_MAX, self._left)

    def spend(self, entries: int) -> None:
        self._left -= entries


class ParticipantDetails:
    def __init__(self, store: Store, catalog: Catalog, coordinators: Coordinators) -> None:
        self._store, self._catalog, self._coordinators = store, catalog, coordinators

    async def of(self, txn: TxnId, first: int, limit: int, entries_max: int = ALL_ENTRIES_MAX) -> DetailsPage:
        """What the transaction has done on its participants, from number `first` on.  entries_max: log entries that are
        read.  Raises TransactionNotFound, CoordinatorNotFound.

        Cost: reads the log from the first record of the transaction on; nothing that clients wait for.
        """
        record = await self._coordinators.get(txn)
        shown = record.participants[first : first + limit]
        budget, partitions, subscriptions = _Budget(entries_max), list[PartitionDetails](), list[SubscriptionDetails]()
        for each in shown:
            if each.subscription is None:
                partitions.append(await self._partition(record, each, budget))
            else:
                subscriptions.append(await self._subscription(record, each, each.subscription))
        following = first + len(shown)
        has_more = following < len(record.participants)
        return DetailsPage(record, partitions, subscriptions, following if has_more else None)

    async def traced(self, txn: TxnId) -> tuple[TransactionRecord, Trace]:
        """A transaction and its steps.  While it is ending, first uses of participants that have ended are missing.
        Raises TransactionNotFound, CoordinatorNotFound."""
        record = await self._coordinators.get(txn)
        started_ms, ended_ms = record.started_ms, record.ended_ms or None
        if ended_ms is not None:
            stored = trace.of_outcome(started_ms, ended_ms, record.traced)
        else:
            shown = record.participants[: trace.PARTICIPANTS_MAX]
            places = [(each.topic, each.partition, each.subscription) for each in shown]
            stored = trace.of_row(started_ms, record.traced, places, has_more=len(shown) < len(record.participants))
            pairs = zip(shown, stored.participants, strict=False)  # some of them may have no times
            used = await asyncio.gather(*(self._used(record, where, traced) for where, traced in pairs))
            stored = stored._replace(participants=used)
        found = await asyncio.gather(*(self._appended(record, each) for each in stored.participants))
        return record, trace.of(started_ms, stored._replace(participants=found), ended_ms)

    async def _used(self, record: TransactionRecord, where: Participant, traced: Traced) -> Traced:
        """Adds the first use of a participant of a live transaction."""
        partition = await self._find(where)
        if partition is None:
            return traced
        k = partition.keys
        if where.subscription is not None:
            keys = k.sub(where.subscription)
            kind = await self._store.command("HGET", keys.cursor, "kind", key=k.state)
            row = await self._store.command("HGET", keys.pending, str(record.txn), key=k.state)
            if not row:
                return traced
            used_ms = pending_row.group_time_ms(row) if kind == _KAFKA else pending_row.first_ms(row)
            return traced._replace(is_used=True, used_ms=used_ms)
        row = await self._store.command("HGET", k.open, _producer_id(record), key=k.state)
        opened = parse_open(row) if row else None
        if opened is None or opened.txn != record.txn:
            return traced
        return traced._replace(is_used=True, first_offset=opened.first_offset if opened.aside is None else None)

    async def _appended(self, record: TransactionRecord, traced: Traced) -> Traced:
        """Adds the time of the first batch, unless retention has removed it."""
        if traced.first_offset is None:
            return traced
        try:
            k = (await self._catalog.partition(traced.topic, traced.partition)).keys
        except (UnknownTopic, UnknownPartition):
            return traced
        reply = await self._store.command("XRANGE", k.log, traced.first_offset, "+", "COUNT", 1, key=k.state)
        for entry in parse_log(reply):
            if (entry.base_offset, entry.producer_id) == (traced.first_offset, _producer_id(record)):
                return traced._replace(used_ms=entry.appended_ms)
        return traced

    async def _partition(self, record: TransactionRecord, where: Participant, budget: _Budget) -> PartitionDetails:
        partition = await self._find(where)
        if partition is None:
            return PartitionDetails(where.topic, where.partition, _NOTHING, is_cut=False, is_gone=True)
        pid = _producer_id(record)
        k = partition.keys
        row = await self._store.command("HGET", k.open, pid, key=k.state)
        if row:
            opened = parse_open(row)
            if opened.txn == record.txn and opened.aside is not None:
                in_buffer = _NOTHING._replace(
                    records=opened.aside.records, batches=opened.aside.batches, bytes=opened.aside.size
                )
                return PartitionDetails(where.topic, where.partition, in_buffer, is_cut=False)
            if opened.txn == record.txn:
                entries, is_cut = await self._forward(partition, opened.first_offset, budget)
                return PartitionDetails(where.topic, where.partition, written(entries, pid), is_cut)
        if record.state is TxnState.OPEN:
            return PartitionDetails(where.topic, where.partition, _NOTHING, is_cut=False)
        entries, is_cut = await self._backward(partition, pid, record.started_ms - CLOCKS_MS, budget)
        return PartitionDetails(where.topic, where.partition, written(entries, pid), is_cut)

    async def _forward(self, partition: Partition, first: int, budget: _Budget) -> tuple[list[LogEntry], bool]:
        """Transactional entries from the offset on; and whether the budget ended the search."""
        k, found, room = partition.keys, list[LogEntry](), budget.of_partition()
        while room > 0:
            reply = await self._store.command("XRANGE", k.log, first, "+", "COUNT", min(PAGE, room), key=k.state)
            entries = parse_log(reply)
            found += [entry for entry in entries if entry.is_transactional]
            budget.spend(len(entries))
            if len(entries) < min(PAGE, room):
                return found, False
            room, first = room - len(entries), entries[-1].last_offset + 1
        return found, True

    async def _backward(
        self, partition: Partition, pid: int, begun_ms: int, budget: _Budget
    ) -> tuple[list[LogEntry], bool]:
        """The entries of the last transaction of the producer id; and whether the budget ended the search."""
        k, seen, room, last = partition.keys, list[LogEntry](), budget.of_partition(), "+"
        while room > 0:
            reply = await self._store.command("XREVRANGE", k.log, last, "-", "COUNT", min(PAGE, room), key=k.state)
            entries = parse_log(reply)
            seen += [entry for entry in entries if entry.producer_id == pid or entry.appended_ms < begun_ms]
            budget.spend(len(entries))
            found, is_whole = newest_transaction(seen, pid, begun_ms)
            if is_whole or len(entries) < min(PAGE, room):
                return found, False
            room, last = room - len(entries), f"({reply[-1][0].decode()}"
        return newest_transaction(seen, pid, begun_ms)[0], True

    async def _subscription(self, record: TransactionRecord, where: Participant, name: str) -> SubscriptionDetails:
        nothing = SubscriptionDetails(where.topic, where.partition, name, 0, None, None, [], is_cut=False)
        partition = await self._find(where)
        if partition is None:
            return nothing
        keys, at, txn = partition.keys.sub(name), partition.keys.state, str(record.txn)
        (kind, mark), row = await asyncio.gather(
            self._store.command("HMGET", keys.cursor, "kind", "mark", key=at),
            self._store.command("HGET", keys.pending, txn, key=at),
        )
        if not row:
            return nothing
        if kind == _KAFKA:
            return nothing._replace(group_offset=pending_row.group_offset(row))
        held = pending_row.parse(row)
        ranges = held.ranges
        if held.regions:
            fields = [f"{txn}/{region}" for region in held.regions[:REGIONS_MAX]]
            for field in await self._store.command("HMGET", keys.pending, *fields, key=at):
                ranges += pending_row.ranges_of(field or b"")
        ranges = pending_row.joined(ranges, from_offset=int(mark or 0))
        is_cut = len(held.regions) > REGIONS_MAX or len(ranges) > RANGES_MAX
        return nothing._replace(pending=size(ranges), upto=held.upto, ranges=ranges[:RANGES_MAX], is_cut=is_cut)

    async def _find(self, where: Participant) -> Partition | None:
        """None if the topic was deleted, or created again."""
        try:
            partition = await self._catalog.partition(where.topic, where.partition)
        except (UnknownTopic, UnknownPartition):
            return None
        return partition if partition.topic_id == where.topic_id else None
