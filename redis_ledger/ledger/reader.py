"""Reading a partition: from this broker's tail if that holds it, else from Redis.

Tail.  One small read of the state, for the last offset that this reader may see; none if the caller knows it.
Redis. One round trip for state, log range and aborted transactions, one for the payload, in runs of adjacent entries.
Ahead. After two reads in sequence the next batches are read in advance (read_ahead.py).
Offloaded records.  Below the offloaded offset the payload may be in Parquet alone; offload/reader.py reads it.

The stable offset is read first: everything below it is decided and does not change.
Source: PIP-31 (transaction buffer, marker approach); docs/decisions/0002.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Sequence
from typing import Any, Protocol

from redis_ledger.decoding import paced
from redis_ledger.errors import (
    LedgerError,
    OffloadedDamaged,
    OffloadedUnavailable,
    OffsetOutOfRange,
    StoreUnavailable,
)
from redis_ledger.ledger import entries as logs
from redis_ledger.ledger.partition_offsets import STATE_FIELDS, PartitionHead, PartitionOffsets
from redis_ledger.ledger.read import Moved, PayloadReclaimed, Read
from redis_ledger.ledger.read_ahead import ReadAhead, ReadRange
from redis_ledger.ledger.read_memory import ReadMemory
from redis_ledger.ledger.sidecar import Sidecar
from redis_ledger.store.store import Store

OFFSET_MAX = (1 << 63) - 1
ENTRIES_MAX = 1024  # log entries one read looks at
ALL_RECORDS = 1 << 62
READ_BYTES = 1 << 30  # of payload: log entries are read without it
PASSES_MAX = 64  # reads that one read makes to get past reclaimed batches
PEEK_ENTRIES = 64  # log entries one round trip of next_readable looks at
ABORTED_MAX = 256  # aborted transactions fetched with a read; further pages are fetched only when a range needs them
SAME_MARKER_MAX = (
    2  # members of the aborted set at one marker: the transaction, and a checkpoint (include/aborted_checkpoints)
)


class OffloadReading(Protocol):
    """Reads offloaded payload, which Redis no longer has."""

    async def read(
        self, of: PartitionReader, offset: int, end: int, bytes_max: int
    ) -> tuple[list[logs.LogEntry], list[bytes]]:
        """Batches from the one that holds the offset, or is the next behind it; end: the offloaded offset."""
        ...


async def _fit(read: Read, room: ReadMemory | None) -> Read:
    """The read without the last batches for which there is no memory."""
    if room is None or not read.entries:
        return read
    count = await room.fit([entry.size for entry in read.entries])
    if count == len(read.entries):
        return read
    return read._replace(entries=read.entries[:count], payloads=read.payloads[:count], leads_to_batch=False)


async def _filtered(entries: Sequence[logs.LogEntry], found: dict[tuple[int, int], bytes]) -> list[bytes]:
    """Payloads with the records of each entry.  Blocks are unpacked one at a time, once for all their entries."""
    payloads = [found[entry.ledger, entry.entry] if entry.has_payload else b"" for entry in entries]
    blocks = defaultdict[tuple[int, int], list[tuple[int, str]]](list)
    for place, entry in enumerate(entries):
        if isinstance(entry, logs.PartialEntry):
            blocks[entry.ledger, entry.entry].append((place, entry.kept))
    for at, parts in blocks.items():
        batches = await paced.sifted(found[at], [kept for _, kept in parts])
        for (place, _), batch in zip(parts, batches, strict=True):
            payloads[place] = batch
    return payloads


class PartitionReader:
    """Reads batches of one partition of one incarnation of a topic (its topic id)."""

    def __init__(self, store: Store, offsets: PartitionOffsets, offload_reader: OffloadReading | None = None) -> None:
        self.topic, self.number, self.topic_id = offsets.topic, offsets.number, offsets.topic_id
        self.keys, self.tail, self.offsets, self._store = offsets.keys, offsets.tail, offsets, store
        self.offload_reader = offload_reader
        self.sidecar = Sidecar(store, offsets.keys)
        self.ahead = ReadAhead(offsets, offsets.tail.tails, lambda wanted: self._read_redis(*wanted))
        self._reclaimed = 0  # below it no payload of aborted transactions is read; most of it was given back
        self._entry_bytes = 1024  # of the batches read last: how many log entries a read of so many bytes needs

    async def read(
        self,
        offset: int,
        *,
        committed: bool,
        bytes_max: int,
        records_max: int = ALL_RECORDS,
        room: ReadMemory | None = None,
        head: PartitionHead | None = None,
    ) -> Read:
        """Batches from the one that holds `offset` on, up to the stable offset (committed) or the end, as many as fit,
        or as hold records_max records from `offset` on.

        Aborted batches and markers are included; the caller filters them out by `aborted`.
        room: memory for the payload; it may shorten the read.
        head: the newest one that the caller knows, of moments ago (ledger/waiters).
        Raises OffsetOutOfRange below the log start or above the end, UnknownTopic.
        Cost: one round trip at the tail, none with a head; else two.
        """
        tail = self.tail
        if head is not None and not self.offsets.is_current(head):
            head = None
        if head is not None and offset == tail.end < head.end_offset:
            await asyncio.sleep(0)  # Redis publishes an append before it replies to it
        if offset == tail.end or tail.holds(offset):
            read = None if head is None else self._read_cached(head, offset, committed, bytes_max, records_max)
            if read is None:
                read = await self._read_tail(offset, committed, bytes_max, records_max)
            if read is not None:
                return await _fit(read, room)
        if offset < self.offsets.offloaded_end and self.offload_reader is not None:
            read = await self._read_offloaded(self.offload_reader, offset, committed, bytes_max)
            return await _fit(read, room)
        wanted = ReadRange(offset, committed, bytes_max, records_max)
        read = None if self.ahead.begun is None else await self.ahead.take(wanted, head)
        if read is not None:
            read = await _fit(read, room)
        else:
            try:
                read = await self._read_redis(offset, committed, bytes_max, records_max, room)
            except Moved:
                assert self.offload_reader is not None
                read = await self._read_offloaded(self.offload_reader, offset, committed, bytes_max)
                return await _fit(read, room)
        self.ahead.follow(wanted, read)
        return read

    def trimmed(self, start: int) -> None:
        """This broker has moved the log start."""
        self.ahead.forget()
        self.offsets.trimmed(start)

    async def log_entries(self, offset: int, count: int) -> list[logs.LogEntry]:
        """About `count` log entries from the one that holds `offset` on, without their payload; batches of the sidecar
        buffer one by one.  One round trip, two with the sidecar buffer."""
        reply = await self._store.command("XRANGE", self.keys.log, offset, "+", "COUNT", count, key=self.keys.state)
        return await self.sidecar.resolved(logs.parse_log(reply), offset, READ_BYTES)

    async def next_readable(self, offset: int, *, committed: bool) -> int:
        """The first offset from `offset` on at which a reader finds a batch; if none follows, the end of what it may
        read.

        At most ENTRIES_MAX log entries are read. If they hold nothing, the offset behind them is returned.
        Cost: one round trip for every PEEK_ENTRIES of them.
        """
        k, command, at = self.keys, self._store.command, offset
        if not committed:
            await self._learn_reclaimed()
        for _ in range(ENTRIES_MAX // PEEK_ENTRIES):
            head, log, reply = await asyncio.gather(
                self.offsets.head(),
                command("XRANGE", k.log, at, "+", "COUNT", PEEK_ENTRIES, key=k.state),
                self._aborted_page(at, ABORTED_MAX),
            )
            end = head.stable_offset if committed else head.end_offset
            if at < head.offloaded_offset and self.offload_reader is not None:
                entries, _ = await self.read_offloaded(self.offload_reader, at, head.offloaded_offset, 1)
                aborted = list[logs.Aborted]()
            else:
                entries = logs.parse_log(log)
                aborted = await self._aborted(entries, reply)
                entries = logs.without_reclaimed(entries, aborted, self._reclaimed)
            for entry in entries:
                if entry.last_offset >= end:
                    return end
                if entry.has_payload and not (committed and logs.is_aborted(entry, aborted)):
                    return at
                at = entry.last_offset + 1
            if not entries or at >= end:
                return end
        return at

    def _read_cached(
        self, head: PartitionHead, offset: int, committed: bool, bytes_max: int, records_max: int
    ) -> Read | None:
        """None if the tail cache does not have all of it, or the aborted set is needed."""
        tail, end = self.tail, head.stable_offset if committed else head.end_offset
        if tail.transactional or not tail.holds(offset) or not head.start_offset <= offset < end:
            return None
        entries, payloads, following = tail.since(offset, end, bytes_max, records_max)
        if not entries or entries[-1].last_offset + 1 == tail.end < end:
            return None
        self.offsets.answered.learn(head.leader_epoch, head.end_offset)
        return Read(head, entries, payloads, [], logs.is_readable(following, end, [], committed=committed))

    async def _read_tail(self, offset: int, committed: bool, bytes_max: int, records_max: int) -> Read | None:
        """None if there are batches to read that the tail cache does not have."""
        tail, k, command = self.tail, self.keys, self._store.command
        first = tail.first
        state = command("HMGET", k.state, *STATE_FIELDS, key=k.state)
        reply = self._aborted_page(offset, ABORTED_MAX) if tail.transactional else None
        head = self.offsets.parse_head(await state)
        page = () if reply is None else await reply
        self._check(head, offset)
        end = head.stable_offset if committed else head.end_offset
        if offset >= end:
            return Read(head, [], [], [])
        if tail.first != first or not tail.holds(offset):  # the cache changed during the read, or never had it
            return None
        if reply is None and tail.transactional:  # it got entries of transactions since: their aborts were not read
            return None
        entries, payloads, following = tail.since(offset, end, bytes_max, records_max)
        if not entries or (entries[-1].last_offset + 1 == tail.end < end):
            return None  # another broker has appended after it
        wanted = entries if following is None else [*entries, following]
        aborted = await self._aborted(wanted, page)
        return Read(head, entries, payloads, aborted, logs.is_readable(following, end, aborted, committed=committed))

    async def _read_redis(
        self, offset: int, committed: bool, bytes_max: int, records_max: int, room: ReadMemory | None = None
    ) -> Read:
        """Goes on if there are only reclaimed batches: a reader without a record or a marker may ask for more bytes."""
        read = await self._read_page(offset, committed, bytes_max, records_max, room)
        for _ in range(PASSES_MAX):
            if not read.entries or not all(isinstance(entry, logs.ReclaimedEntry) for entry in read.entries):
                break
            following = read.entries[-1].last_offset + 1
            page = await self._read_page(following, committed, bytes_max, records_max, room)
            if not page.entries:
                break
            read = page
        return read

    async def _read_page(
        self, offset: int, committed: bool, bytes_max: int, records_max: int, room: ReadMemory | None
    ) -> Read:
        k, command = self.keys, self._store.command
        state = command("HMGET", k.state, *STATE_FIELDS, key=k.state)
        # Do not parse entries that will not fit.
        count = max(8, min(ENTRIES_MAX, bytes_max // self._entry_bytes + 2, records_max + 2))
        start = min(max(offset, 0), OFFSET_MAX)  # the range of a stream id
        log = command("XRANGE", k.log, start, "+", "COUNT", count, key=k.state)
        aborted_page = self._aborted_page(offset, ABORTED_MAX)
        # All three are sent now, and their replies arrive together: `gather` would add a task's worth of callbacks.
        answers = await state, await log, await aborted_page
        head = self.offsets.parse_head(answers[0])
        self._check(head, offset)
        if offset < head.offloaded_offset and self.offload_reader is not None:
            raise Moved
        end = head.stable_offset if committed else head.end_offset
        found = await self.sidecar.resolved(logs.parse_log(answers[1]), offset, bytes_max)
        reclaimed = self._reclaimed  # what this read goes by; a concurrent one may raise it
        if offset < reclaimed:
            old = [entry for entry in found if logs.may_be_reclaimed(entry, reclaimed)]
            found = logs.without_reclaimed(found, await self._aborted(old, answers[2]), reclaimed)
        entries = logs.that_fit(found, end, bytes_max, offset + records_max)
        if room is not None and entries:
            entries = entries[: await room.fit([entry.size for entry in entries])]
        following = found[len(entries)] if len(entries) < len(found) else None
        if entries:
            self._entry_bytes = max(1, sum(entry.size for entry in entries) // len(entries))
        aborted = await self._aborted(found[: len(entries) + 1] if entries else [], answers[2])
        try:
            payloads = await self.payloads(entries, reclaimed) if entries else []
        except PayloadReclaimed:
            return await self._read_page(offset, committed, bytes_max, records_max, room)
        self.tail.learn(entries, payloads, head.end_offset)
        leads_to_batch = logs.is_readable(following, end, aborted, committed=committed)
        return Read(head, entries, list(payloads), aborted, leads_to_batch)

    def _aborted_page(self, offset: int, count: int) -> Awaitable[Any]:
        """The first members of the aborted set with a marker at `offset` or after it."""
        k = self.keys
        return self._store.command(
            "ZRANGEBYSCORE", k.aborted, offset, "+inf", "WITHSCORES", "LIMIT", 0, count, key=k.state
        )

    async def _aborted(self, entries: Sequence[logs.LogEntry], reply: Any) -> list[logs.Aborted]:
        """Aborted transactions that these entries may belong to.  reply: the first page of them; further ones are read
        until they say that no later one can be meant.  Raises OffsetOutOfRange for what was trimmed during the read."""
        page = aborted = logs.parse_aborted(reply)
        end, count = entries[-1].last_offset + 1 if entries else 0, ABORTED_MAX
        while entries and not logs.covers(page, end, count):
            at = page[-1].last_offset
            while aborted and aborted[-1].last_offset == at:
                aborted.pop()  # a checkpoint has the marker of its neighbour: both are read again
            count = max(ABORTED_MAX, SAME_MARKER_MAX + 1)
            page = logs.parse_aborted(await self._aborted_page(at, count))
            if not page or page[0].last_offset != at:  # trimmed during the read, and perhaps the next ones too
                self._check(await self.offsets.head(), entries[0].base_offset)
            aborted += [each for each in page if each.first_offset < end]
        return aborted

    async def aborted_of(self, entries: Sequence[logs.LogEntry]) -> list[logs.Aborted]:
        """Aborted transactions that neighbouring entries below the stable offset may belong to.
        Raises OffsetOutOfRange for what was trimmed during the read."""
        if not any(entry.is_transactional and not entry.is_marker for entry in entries):
            return []
        return await self._aborted(entries, await self._aborted_page(entries[0].base_offset, ABORTED_MAX))

    async def _read_offloaded(
        self, offload_reader: OffloadReading, offset: int, committed: bool, bytes_max: int
    ) -> Read:
        """Reads offloaded batches: committed records only, as plain batches, so `aborted` is empty."""
        head = await self.offsets.head()
        self._check(head, offset)
        if offset >= head.offloaded_offset:
            raise StoreUnavailable(f"{self.topic}:{self.number} was restored to an earlier state; try again.")
        entries, payloads = await self.read_offloaded(offload_reader, offset, head.offloaded_offset, bytes_max)
        return Read(head, entries, list(payloads), [])

    async def read_offloaded(
        self, offload_reader: OffloadReading, offset: int, end: int, bytes_max: int
    ) -> tuple[list[logs.LogEntry], list[bytes]]:
        try:
            return await offload_reader.read(self, offset, end, bytes_max)
        except OffloadedDamaged:
            self._check(await self.offsets.head(), offset)  # trimmed during the read, not damaged
            raise

    def _check(self, head: PartitionHead, offset: int) -> None:
        if not head.start_offset <= offset <= head.end_offset:
            raise OffsetOutOfRange(
                f"Offset {offset} is not in {self.topic}:{self.number}, "
                f"which holds {head.start_offset} to {head.end_offset}.",
                start_offset=head.start_offset,
                end_offset=head.end_offset,
            )

    async def payloads(self, entries: Sequence[logs.LogEntry], reclaimed: int | None = None) -> list[bytes]:
        """The payload of each entry, as stored.  A missing one is out of range below the log start, else corruption.
        reclaimed: below it, entries of aborted transactions are left out already (None: as this reader knows).
        Raises Moved when all that is missing is in Parquet, PayloadReclaimed when it may be of aborted ones."""
        reclaimed = self._reclaimed if reclaimed is None else reclaimed
        is_partial = any(entry.flags & logs.PARTIAL for entry in entries)
        if is_partial:
            entries = await self._with_parts(entries)
        runs = logs.runs(entries)
        calls = [
            self._store.command("XRANGE", self.keys.data(ledger), f"0-{first}", f"0-{last}", key=self.keys.state)
            for ledger, first, last in runs
        ]
        replies = [await call for call in calls]  # all are sent already
        found = {
            (ledger, int(item[0][2:])): item[1][1]
            for (ledger, _, _), reply in zip(runs, replies, strict=True)
            for item in reply
        }
        missing = [e for e in entries if e.has_payload and (e.ledger, e.entry) not in found]
        if missing:
            head = await self.offsets.head()
            if missing[-1].last_offset < head.start_offset:
                raise OffsetOutOfRange(
                    f"Offset {missing[0].base_offset} was trimmed during the read.",
                    start_offset=head.start_offset,
                    end_offset=head.end_offset,
                )
            if missing[-1].last_offset < head.offloaded_offset:
                if self.offload_reader is None:
                    raise OffloadedUnavailable(
                        f"{self.topic}:{self.number}: offset {missing[0].base_offset} was offloaded to Parquet, and "
                        "this broker has no offload_home to read it from."
                    )
                raise Moved
            of_transactions = [e for e in missing if logs.may_be_reclaimed(e, head.stable_offset)]
            if await self._is_reclaimed(of_transactions, reclaimed):
                raise PayloadReclaimed
            raise LedgerError(
                f"{self.topic}:{self.number}: the payload of offset {missing[-1].base_offset} is missing: damage."
            )
        if is_partial:
            return await _filtered(entries, found)
        return [found[e.ledger, e.entry] if e.has_payload else b"" for e in entries]

    async def _is_reclaimed(self, missing: Sequence[logs.LogEntry], reclaimed: int) -> bool:
        """Whether a payload was given back that this read expected: nothing that is aborted can be lost."""
        if not missing or missing[-1].last_offset < reclaimed:
            return False
        aborted = await self._aborted(missing, await self._aborted_page(missing[0].base_offset, ABORTED_MAX))
        gone = max((e.last_offset + 1 for e in missing if logs.is_aborted(e, aborted)), default=0)
        await self._learn_reclaimed(gone)
        return gone > reclaimed

    async def _learn_reclaimed(self, at_least: int = 0) -> None:
        reply = await self._store.command("HGET", self.keys.state, "reclaimed", key=self.keys.state)
        self._reclaimed = max(self._reclaimed, int(reply or 0), at_least)

    async def _with_parts(self, entries: Sequence[logs.LogEntry]) -> list[logs.LogEntry]:
        """The same entries, with the records of partial ones read from the log."""
        whole = []
        for entry in entries:
            if entry.flags & logs.PARTIAL and not isinstance(entry, logs.PartialEntry):
                last = entry.last_offset
                reply = await self._store.command("XRANGE", self.keys.log, last, last, key=self.keys.state)
                whole += logs.parse_log(reply)
            else:
                whole.append(entry)
        return whole
