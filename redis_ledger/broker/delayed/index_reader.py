"""Reads the index of one partition's delayed records: pages in order of due time, and statistics.

The live bit, `parts` and `moved` decide whether a record is pending; the indexes only locate it.  A page merges all of
them:

    open ─┐
    closing ─┼─ merged ─▶ is it pending? ─▶ read its payload ─▶ records
    queue ─┤
    bucket, segment by segment ─┘

Sealing and loading move entries between them.  A read during which the version changed is repeated.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from operator import add
from typing import TypeVar

from redis_ledger.broker.delayed import rearm
from redis_ledger.broker.types import DelayStats, Scheduled
from redis_ledger.decoding import paced
from redis_ledger.decoding.budget import Charge, Decoding
from redis_ledger.delay import merge
from redis_ledger.delay.bucket import DamagedSnapshot
from redis_ledger.delay.entry import WHOLE, Bucket, Indexed
from redis_ledger.delay.index import DelayIndex
from redis_ledger.errors import InvalidDelay, TooLargeToDecode
from redis_ledger.ids import ScheduledId
from redis_ledger.ledger.partition import Partition
from redis_ledger.records.read import Record

ATTEMPTS_MAX = 25  # of one read, while buckets change
PAGE = 500  # index entries read at once
SCANNED_MAX = 20_000  # entries that one page reads while few of them match
T = TypeVar("T")
Position = tuple[int, int, int, int]  # due ms, partition, entry, index: the order of a list


def parse_position(text: str | None) -> Position | None:
    """Decodes the position at which a page ended.  Raises InvalidDelay."""
    if text is None:
        return None
    parts = text.split(":")
    if len(parts) != 4 or not all(part.isdigit() and part.isascii() and len(part) < 20 for part in parts):
        raise InvalidDelay(f"{text[:80]!r} is not a position; use `after` exactly as the previous page returned it.")
    due, partition, entry, index = map(int, parts)
    return due, partition, entry, index


def encode_position(position: Position) -> str:
    return ":".join(map(str, position))


def position_of(scheduled: Scheduled) -> Position:
    return scheduled.deliver_at_ms, scheduled.id.partition, scheduled.id.entry, scheduled.id.index


def to_scheduled(id: ScheduledId, due_ms: int, record: Record | None, repeat: bytes | None) -> Scheduled:
    """record: None if it is too large to decode.  repeat: its stored recurrence."""
    if record is None:
        found = Scheduled(id, due_ms, -1, None, None, (), too_large=True)
    else:
        found = Scheduled(id, due_ms, record.timestamp_ms, record.key, record.value, record.headers)
    return found if repeat is None else found._replace(**rearm.fields(repeat))


class DelayIndexReader:
    def __init__(
        self,
        partition: Partition,
        index: DelayIndex,
        now_ms: Callable[[], int],
        decoding: Decoding,
        charge: Charge | None = None,
    ) -> None:
        """charge: gets the bytes that are decoded."""
        self.partition, self.index, self._now_ms = partition, index, now_ms
        self._decoding, self._charge = decoding, charge
        self._keys = partition.keys

    # -- lists -------------------------------------------------------------------------------------------------------

    async def _consistently(self, read: Callable[[], Awaitable[T]]) -> T:
        """Repeats `read` while buckets change, as it may have missed an entry that moved.  Rebuilds a listed snapshot
        that cannot be read."""
        for attempt in range(ATTEMPTS_MAX):
            before = await self.index.scripts.version()
            try:
                result = await read()
            except DamagedSnapshot:
                if await self.index.scripts.version() == before:
                    await self.index.repairs.repair()
                continue
            if await self.index.scripts.version() == before or attempt == ATTEMPTS_MAX - 1:
                return result
            await asyncio.sleep(min(0.01 * attempt, 0.1))
        return await read()

    async def page(
        self, from_ms: int, to_ms: int, key: bytes | None, limit: int, after: Position | None
    ) -> tuple[list[Scheduled], Position | None]:
        """Returns up to `limit` records, and the position up to which it read (None: to the end)."""
        return await self._consistently(lambda: self._page(from_ms, to_ms, key, limit, after))

    async def _page(
        self, from_ms: int, to_ms: int, key: bytes | None, limit: int, after: Position | None
    ) -> tuple[list[Scheduled], Position | None]:
        begin = from_ms if after is None else max(from_ms, after[0])
        found: list[Scheduled] = []
        scanned, pending = 0, list[Indexed]()
        async for indexed in self._index_from(begin):
            if indexed.due_ms >= to_ms:
                break
            pending.append(indexed)
            if len(pending) < min(PAGE, limit):
                continue
            scanned += len(pending)
            found += [each for each in await self._records(pending) if self._fits(each, key, after)]
            if len(found) >= limit or scanned >= SCANNED_MAX:
                found = found[:limit]
                last = pending[-1]
                far = (last.due_ms, self.partition.number, last.entry, 1 << 30)
                return found, position_of(found[-1]) if len(found) == limit else far
            pending = []
        found += [each for each in await self._records(pending) if self._fits(each, key, after)]
        if len(found) > limit:
            return found[:limit], position_of(found[limit - 1])
        return found, None

    def _fits(self, each: Scheduled, key: bytes | None, after: Position | None) -> bool:
        return (after is None or position_of(each) > after) and (key is None or each.key == key)

    def _index_from(self, from_ms: int) -> AsyncIterator[Indexed]:
        d = self._keys.delay
        return merge.merged(
            [self.index.storage.in_order(key, from_ms) for key in (d.open, d.closing, d.queue)]
            + [self._sealed_from(from_ms)]
        )

    async def _sealed_from(self, from_ms: int) -> AsyncIterator[Indexed]:
        streams = [self._bucket_from(bucket, from_ms) for bucket in await self.index.storage.buckets()]
        async for indexed in merge.merged(streams):
            yield indexed

    async def _bucket_from(self, bucket: Bucket, from_ms: int) -> AsyncIterator[Indexed]:
        segments = (await self.index.storage.metadata(bucket)).segments
        for number in range(bucket.loaded, bucket.segments):
            if segments[number].max_due_ms >= from_ms:
                for indexed in await self.index.storage.segment(bucket, number):
                    if indexed.due_ms >= from_ms:
                        yield indexed

    async def _records(self, some: Sequence[Indexed]) -> list[Scheduled]:
        """Returns the pending records of these index entries."""
        d, some = self._keys.delay, await self.index.storage.alive(some)
        if not some:
            return []
        names = [each.entry for each in some]
        parts = await self.index.scripts.command("HMGET", d.parts, *names)
        repeats = await self.index.scripts.command("HMGET", d.repeats, *names)
        moved = await self.index.scripts.command("HMGET", d.moved, *(f"{each.entry}.{each.index}" for each in some))
        stored = await self._stored(some)
        found: list[Scheduled] = []
        for indexed, row, repeat, due in zip(some, parts, repeats, moved, strict=True):
            if repeat is not None and row is None and int(repeat.split(b" ")[0]) != indexed.due_ms:
                continue  # a stale entry: the record has fired since, and its next time is another entry
            indexes, mark = (range(indexed.records), "1") if indexed.index == WHOLE else ([indexed.index], "b")
            if due is not None and int(due) == indexed.due_ms:
                mark = "m"
            if indexed.entry not in stored:
                continue
            marks = "1" * indexed.records if row is None else row.decode()
            records = stored[indexed.entry]
            for index in indexes:
                if marks[index] == mark:
                    id = ScheduledId(self.partition.number, indexed.entry, index)
                    found.append(to_scheduled(id, indexed.due_ms, None if records is None else records[index], repeat))
        return found

    async def _stored(self, some: Sequence[Indexed]) -> dict[int, list[Record] | None]:
        """Entry → its records; None if they are too large to decode within this read's budget.  Cancelled entries are
        absent."""
        ledgers = {each.entry: each.ledger for each in some}
        replies = await asyncio.gather(
            *(
                self.index.scripts.command("XRANGE", self._keys.data(n), f"0-{entry}", f"0-{entry}")
                for entry, n in ledgers.items()
            )
        )
        found = dict[int, list[Record] | None]()
        with self._decoding.budget(2 * self._decoding.limits.decoded_bytes, self._charge) as budget:
            for entry, rows in zip(ledgers, replies, strict=True):
                if rows:
                    found[entry] = None
                    with contextlib.suppress(TooLargeToDecode):
                        if not budget.is_spent:
                            found[entry] = await paced.decode(rows[0][1][1], budget)
                    budget.end()  # so that the next entry waits for memory instead of being left out
        return found

    # -- numbers -----------------------------------------------------------------------------------------------------

    async def stats(self) -> DelayStats:
        return await self._consistently(self._stats)

    async def _stats(self) -> DelayStats:
        number, state = self.partition.number, await self.index.scripts.state()
        if state is None:
            return DelayStats(number, 0, 0, 0, 0, 0, 0, -1, -1, 0, 0)
        d, command = self._keys.delay, self.index.scripts.command
        loaded = overdue = 0
        heads, tails = list[int](), list[int]()
        for key in (d.open, d.closing, d.queue):
            loaded += int(await command("ZCARD", key)) - 1
            overdue += int(await command("ZCOUNT", key, 0, self._now_ms()))
            heads += await self._edge(key, "ZRANGEBYSCORE", "0", "+inf")
            tails += await self._edge(key, "ZREVRANGEBYSCORE", "+inf", "0")
        buckets = await self.index.storage.buckets()
        for bucket in sorted(buckets, key=lambda bucket: bucket.next_due_ms):
            if not heads or bucket.next_due_ms < min(heads):
                heads += await self._edge_of(bucket, last=False)
        for bucket in sorted(buckets, key=lambda bucket: -bucket.last_due_ms):
            if bucket.last_due_ms > max(tails, default=-1):
                tails += await self._edge_of(bucket, last=True)
        rows = await command("HGETALL", self._keys.ledgers)
        payload = sum(
            int(row.split(b" ")[5]) for n, row in zip(rows[::2], rows[1::2], strict=True) if n.startswith(b"-")
        )
        is_empty = not state.records
        return DelayStats(
            number, state.records, state.entries, len(buckets) + 1 + bool(state.closing), loaded, state.held,
            0 if is_empty else overdue, -1 if is_empty else min(heads, default=-1),
            -1 if is_empty else max(tails, default=-1), sum(bucket.size for bucket in buckets), payload,
        )  # fmt: skip

    async def _edge(self, key: bytes, order: str, begin: str, end: str) -> list[int]:
        """The first due time in a sorted set with a pending record; empty if there is none."""
        at = 0
        while rows := await self.index.scripts.command(order, key, begin, end, "WITHSCORES", "LIMIT", at, PAGE):
            some = [Indexed.read(m, int(s)) for m, s in zip(rows[::2], rows[1::2], strict=True)]
            if found := await self._first_pending(some):
                return found
            at += PAGE
        return []

    async def _edge_of(self, bucket: Bucket, *, last: bool) -> list[int]:
        """The first (or last) due time in a sealed bucket with a pending record; empty if there is none."""
        numbers = range(bucket.loaded, bucket.segments)
        for number in reversed(numbers) if last else numbers:
            entries = await self.index.storage.segment(bucket, number)
            if found := await self._first_pending(entries[::-1] if last else entries):
                return found
        return []

    async def _first_pending(self, some: Sequence[Indexed]) -> list[int]:
        return [each.due_ms for each, count in zip(some, await self._pending(some), strict=True) if count][:1]

    async def add_histogram(self, begin: int, end: int, width: int, counts: list[int]) -> None:
        """Adds the pending records due in [begin, end) to counts; each bin is `width` ms wide."""
        found = await self._consistently(lambda: self._histogram(begin, end, width, len(counts)))
        counts[:] = map(add, counts, found)

    async def _histogram(self, begin: int, end: int, width: int, bins: int) -> list[int]:
        counts = [0] * bins
        pending: list[Indexed] = []
        async for indexed in self._index_from(begin):
            if indexed.due_ms >= end:
                break
            pending.append(indexed)
            if len(pending) == 10 * PAGE:
                await self._count(pending, begin, width, counts)
                pending = []
        await self._count(pending, begin, width, counts)
        return counts

    async def _count(self, some: Sequence[Indexed], begin: int, width: int, counts: list[int]) -> None:
        for each, records in zip(some, await self._pending(some), strict=True):
            counts[(each.due_ms - begin) // width] += records

    async def _pending(self, some: Sequence[Indexed]) -> list[int]:
        """The number of pending records of each index entry; 0 for a stale one."""
        if not some:
            return []
        d, live = self._keys.delay, await self.index.storage.live(each.entry for each in some)
        names = [each.entry for each in some]
        has_parts = int(await self.index.scripts.command("HLEN", d.parts)) > 1
        parts = await self.index.scripts.command("HMGET", d.parts, *names) if has_parts else [None] * len(some)
        moved = {} if not has_parts else await self.index.storage.moved()
        found = []
        for each, row in zip(some, parts, strict=True):
            if not live.holds(each.entry):
                found.append(0)
            elif each.index == WHOLE:
                found.append(each.records if row is None else row.count(b"1"))
            else:
                mark = b"" if row is None else row[each.index : each.index + 1]
                is_moved = (each.index, each.due_ms) in moved.get(each.entry, ())
                found.append(int(mark == b"b" or (mark == b"m" and is_moved)))
        return found
