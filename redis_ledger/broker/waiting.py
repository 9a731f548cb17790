"""What waits in one partition: looking at single records, listing them, cancelling and moving them.

The live bit, `parts` and `moved` say what is pending; the indexes only say where to look.  A page is read from all of
them at once, in order of due time:

    open ─┐
    closing ─┼─ merged ─▶ is it pending? ─▶ read its payload ─▶ records
    queue ─┤
    bucket, segment by segment ─┘
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, NamedTuple

from redis_ledger.broker.repeats import repeat_of
from redis_ledger.broker.types import DelayStats, Scheduled
from redis_ledger.delay import merge
from redis_ledger.delay.entry import WHOLE, Bucket, Indexed
from redis_ledger.delay.index import DelayIndex, read_stored
from redis_ledger.errors import AlreadyCancelled, AlreadyDelivered, InvalidDelay, LedgerError, UnknownScheduled
from redis_ledger.ids import ScheduledId
from redis_ledger.ledger.partition import Partition
from redis_ledger.records.read import Record, decode

PAGE = 500  # index entries read at once
LOOKED_AT_MAX = 20_000  # entries one page looks at while it finds too little
Order = tuple[int, int, int, int]  # due ms, partition, entry, index


class _Found(NamedTuple):
    """An entry as it is stored.  parts: "" where all of it is one group."""

    indexed: Indexed
    payload: bytes
    is_live: bool
    parts: str

    def mark(self, index: int) -> str:
        if self.parts:
            return self.parts[index]
        return "1" if self.is_live else "f"


class Waiting:
    def __init__(self, partition: Partition, index: DelayIndex, now_ms: Callable[[], int]) -> None:
        self.partition, self.index, self._now_ms = partition, index, now_ms
        self._store, self._keys = index.store, partition.keys

    # -- one record --------------------------------------------------------------------------------------------------

    async def get(self, id: ScheduledId) -> Scheduled:
        found = await self._find(id)
        mark = found.mark(id.index)
        if mark not in "1m":
            raise await self._refusal(id, found)
        due = found.indexed.due_ms
        if mark == "m":
            due = int(await self._command("HGET", self._keys.delay.moved, f"{id.entry}.{id.index}") or due)
        repeat = await self._command("HGET", self._keys.delay.repeats, id.entry)
        return _shown(id, due, decode(found.payload)[id.index], repeat)

    async def _find(self, id: ScheduledId) -> _Found:
        """Raises UnknownScheduled, AlreadyCancelled (its payload is gone)."""
        ledger = await self._ledger_of(id.entry)
        d, name = self._keys.delay, f"0-{id.entry}"
        rows = [] if ledger is None else await self._command("XRANGE", self._keys.data(ledger), name, name)
        if ledger is None:
            raise self._unknown(id)
        if not rows:
            raise AlreadyCancelled(f"{id} was cancelled, or its transaction was aborted.")
        indexed = read_stored(ledger, id.entry, rows[0][1])
        if id.index >= indexed.records:
            raise self._unknown(id)
        live = await self.index.live([id.entry])
        parts = await self._command("HGET", d.parts, id.entry)
        return _Found(indexed, rows[0][1][1], live.holds(id.entry), (parts or b"").decode())

    async def _refusal(self, id: ScheduledId, found: _Found) -> LedgerError:
        if found.mark(id.index) == "x":
            return AlreadyCancelled(f"{id} was cancelled.")
        if not found.is_live and not found.parts and await self._is_held(id.entry):
            return UnknownScheduled(f"{id} belongs to an open transaction; it is scheduled when that commits.")
        return AlreadyDelivered(f"{id} is in the log already.")

    def _unknown(self, id: ScheduledId) -> UnknownScheduled:
        return UnknownScheduled(f"There is no scheduled record {id} in {self.partition.topic!r} (any more).")

    async def _is_held(self, entry: int) -> bool:
        state = await self.index.state()
        if state is None or not state.held:
            return False
        rows = await self._command("HGETALL", self._keys.delay.state)
        word = b" %012d " % entry
        return any(b"/" in name and word in b" " + text for name, text in zip(rows[::2], rows[1::2], strict=True))

    async def _ledger_of(self, entry: int) -> int | None:
        """The delay ledger that has (had) an entry; None when that ledger is gone, or the entry never was."""
        for ledger, last in await self._ledgers():
            if entry <= last:
                return ledger
        return None

    async def _ledgers(self) -> list[tuple[int, int]]:
        """Delay ledgers and the last entry of each, oldest first."""
        rows = await self._command("HGETALL", self._keys.ledgers)
        found = [(int(n), int(row.split(b" ")[0])) for n, row in zip(rows[::2], rows[1::2], strict=True)]
        return sorted((pair for pair in found if pair[0] < 0), reverse=True)

    # -- changing ----------------------------------------------------------------------------------------------------

    async def cancel(self, ids: Sequence[ScheduledId]) -> dict[ScheduledId, LedgerError | None]:
        outcomes: dict[ScheduledId, LedgerError | None] = {}
        found: dict[ScheduledId, _Found] = {}
        for id in ids:
            try:
                found[id] = await self._find(id)
            except AlreadyCancelled:
                outcomes[id] = None
            except UnknownScheduled as error:
                outcomes[id] = error
        for ledger in {each.indexed.ledger for each in found.values()}:
            some = [id for id, each in found.items() if each.indexed.ledger == ledger]
            records = [(id.entry, id.index, found[id].indexed.records) for id in some]
            for id, answer in zip(some, await self.index.cancel(ledger, records), strict=True):
                outcomes[id] = None if answer else await self._why_not(id)
        return outcomes

    async def _why_not(self, id: ScheduledId) -> LedgerError | None:
        try:
            refusal = await self._refusal(id, await self._find(id))
        except AlreadyCancelled:
            return None
        except UnknownScheduled as error:
            return error
        return None if isinstance(refusal, AlreadyCancelled) else refusal

    async def move(self, id: ScheduledId, due_ms: int) -> None:
        """Raises as get."""
        found = await self._find(id)
        if not await self.index.move(found.indexed, id.index, due_ms):
            raise await self._refusal(id, await self._find(id))

    async def clear(self) -> int:
        while True:
            state = await self.index.state()
            if state is None:
                return 0
            count = await self.index.clear(state.ledger, self._now_ms())
            if count is not None:
                break
        await self.index.sweep(whenever=True)
        await self.partition.trim(retention_ms=-1, retention_bytes=-1)  # ledgers that nothing refers to any more
        return count

    async def rebuild(self) -> int:
        """Makes the whole index again: buckets from their ledgers, what is in none of them into the queue."""
        state = await self.index.state()
        if state is None:
            return 0
        buckets = await self.index.buckets()
        for bucket in buckets:
            await self.index.reindex(bucket)
        covered = {n for b in buckets for n in range(b.first_ledger, b.last_ledger - 1, -1)}
        for ledger, _ in await self._ledgers():
            if ledger not in covered:
                await self.index.restore(ledger)
        return state.entries

    # -- lists -------------------------------------------------------------------------------------------------------

    @staticmethod
    def place(text: str | None) -> Order | None:
        """Where a page ended.  Raises InvalidDelay."""
        if text is None:
            return None
        parts = text.split(":")
        if len(parts) != 4 or not all(part.isdigit() and part.isascii() and len(part) < 20 for part in parts):
            raise InvalidDelay(
                f"{text[:80]!r} is not where a page ended; use `after` exactly as the last page told it."
            )
        due, partition, entry, index = map(int, parts)
        return due, partition, entry, index

    @staticmethod
    def place_text(place: Order) -> str:
        return ":".join(map(str, place))

    @staticmethod
    def order(each: Scheduled) -> Order:
        return each.deliver_at_ms, each.id.partition, each.id.entry, each.id.index

    async def page(
        self, from_ms: int, to_ms: int, key: bytes | None, limit: int, after: Order | None
    ) -> tuple[list[Scheduled], Order | None]:
        """Up to `limit` records, and how far it looked (None: there is nothing more)."""
        begin = from_ms if after is None else max(from_ms, after[0])
        found: list[Scheduled] = []
        looked, pending = 0, list[Indexed]()
        async for indexed in self._index_from(begin):
            if indexed.due_ms >= to_ms:
                break
            pending.append(indexed)
            if len(pending) < min(PAGE, limit):
                continue
            looked += len(pending)
            found += [each for each in await self._records(pending) if self._fits(each, key, after)]
            if len(found) >= limit or looked >= LOOKED_AT_MAX:
                found = found[:limit]
                last = pending[-1]
                far = (last.due_ms, self.partition.number, last.entry, 1 << 30)
                return found, self.order(found[-1]) if len(found) == limit else far
            pending = []
        found += [each for each in await self._records(pending) if self._fits(each, key, after)]
        if len(found) > limit:
            return found[:limit], self.order(found[limit - 1])
        return found, None

    def _fits(self, each: Scheduled, key: bytes | None, after: Order | None) -> bool:
        return (after is None or self.order(each) > after) and (key is None or each.key == key)

    def _index_from(self, from_ms: int) -> AsyncIterator[Indexed]:
        d = self._keys.delay
        return merge.merged(
            [self._set_from(key, from_ms) for key in (d.open, d.closing, d.queue)] + [self._sealed_from(from_ms)]
        )

    async def _set_from(self, key: bytes, from_ms: int) -> AsyncIterator[Indexed]:
        seen: Indexed | None = None
        count = PAGE
        while True:
            rows = await self._command("ZRANGEBYSCORE", key, from_ms, "+inf", "WITHSCORES", "LIMIT", 0, count)
            page = sorted(Indexed.read(m, int(s)) for m, s in zip(rows[::2], rows[1::2], strict=True))
            for indexed in page:
                if seen is None or indexed > seen:
                    yield indexed
            if len(page) < count:
                return
            count = 2 * count if page[0].due_ms == page[-1].due_ms else PAGE
            seen, from_ms = page[-1], page[-1].due_ms

    async def _sealed_from(self, from_ms: int) -> AsyncIterator[Indexed]:
        streams = [self._bucket_from(bucket, from_ms) for bucket in await self.index.buckets()]
        async for indexed in merge.merged(streams):
            yield indexed

    async def _bucket_from(self, bucket: Bucket, from_ms: int) -> AsyncIterator[Indexed]:
        segments = (await self.index.metadata(bucket)).segments
        for number in range(bucket.loaded, bucket.segments):
            if segments[number].max_due_ms >= from_ms:
                for indexed in await self.index.segment(bucket, number):
                    if indexed.due_ms >= from_ms:
                        yield indexed

    async def _records(self, some: Sequence[Indexed]) -> list[Scheduled]:
        """Of these index entries, what is really pending, record by record."""
        if not some:
            return []
        d, live = self._keys.delay, await self.index.live(each.entry for each in some)
        some = [each for each in some if live.holds(each.entry)]
        if not some:
            return []
        names = [each.entry for each in some]
        parts = await self._command("HMGET", d.parts, *names)
        repeats = await self._command("HMGET", d.repeats, *names)
        moved = await self._command("HMGET", d.moved, *(f"{each.entry}.{each.index}" for each in some))
        found: list[Scheduled] = []
        for indexed, row, repeat, due in zip(some, parts, repeats, moved, strict=True):
            if indexed.index != WHOLE and (due is None or int(due) != indexed.due_ms):
                continue
            rows = await self._command(
                "XRANGE", self._keys.data(indexed.ledger), f"0-{indexed.entry}", f"0-{indexed.entry}"
            )
            marks = "1" * indexed.records if row is None else row.decode()
            wanted, mark = (range(indexed.records), "1") if indexed.index == WHOLE else ([indexed.index], "m")
            records = decode(rows[0][1][1]) if rows else []
            for index in wanted if records else ():
                if marks[index] == mark:
                    id = ScheduledId(self.partition.number, indexed.entry, index)
                    found.append(_shown(id, indexed.due_ms, records[index], repeat))
        return found

    # -- numbers -----------------------------------------------------------------------------------------------------

    async def stats(self) -> DelayStats:
        number, state = self.partition.number, await self.index.state()
        if state is None:
            return DelayStats(number, 0, 0, 0, 0, 0, 0, -1, -1, 0, 0)
        d, command = self._keys.delay, self._command
        loaded = overdue = 0
        heads, tails = list[int](), list[int]()
        for key in (d.open, d.closing, d.queue):
            loaded += int(await command("ZCARD", key)) - 1
            overdue += int(await command("ZCOUNT", key, 0, self._now_ms()))
            heads += await self._edge(key, "ZRANGEBYSCORE", "0", "+inf")
            tails += await self._edge(key, "ZREVRANGEBYSCORE", "+inf", "0")
        buckets = await self.index.buckets()
        heads += [bucket.next_due_ms for bucket in buckets]
        for bucket in buckets:
            if bucket.last_due_ms > max(tails, default=-1):
                tails += await self._last_of(bucket)
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
        """The first due time of a sorted set whose entry is pending; nothing when there is none."""
        at = 0
        while rows := await self._command(order, key, begin, end, "WITHSCORES", "LIMIT", at, PAGE):
            some = [Indexed.read(m, int(s)) for m, s in zip(rows[::2], rows[1::2], strict=True)]
            live = await self.index.live(each.entry for each in some)
            for each in some:
                if live.holds(each.entry):
                    return [each.due_ms]
            at += PAGE
        return []

    async def _last_of(self, bucket: Bucket) -> list[int]:
        for number in range(bucket.segments - 1, bucket.loaded - 1, -1):
            entries = await self.index.segment(bucket, number)
            live = await self.index.live(each.entry for each in entries)
            for each in reversed(entries):
                if live.holds(each.entry):
                    return [each.due_ms]
        return []

    async def tally(self, begin: int, end: int, width: int, counts: list[int]) -> None:
        """Adds the pending records that are due in [begin, end) to counts, `width` ms each."""
        pending: list[Indexed] = []
        async for indexed in self._index_from(begin):
            if indexed.due_ms >= end:
                break
            pending.append(indexed)
            if len(pending) == 10 * PAGE:
                await self._count(pending, begin, width, counts)
                pending = []
        await self._count(pending, begin, width, counts)

    async def _count(self, some: Sequence[Indexed], begin: int, width: int, counts: list[int]) -> None:
        if not some:
            return
        d, live = self._keys.delay, await self.index.live(each.entry for each in some)
        names = [each.entry for each in some]
        has_parts = int(await self._command("HLEN", d.parts)) > 1
        parts = await self._command("HMGET", d.parts, *names) if has_parts else [None] * len(some)
        moved = {} if not has_parts else await self.index.moved()
        for each, row in zip(some, parts, strict=True):
            if not live.holds(each.entry):
                continue
            if each.index == WHOLE:
                records = each.records if row is None else row.count(b"1")
            else:
                records = int((each.index, each.due_ms) in moved.get(each.entry, ()))
            counts[(each.due_ms - begin) // width] += records

    async def _command(self, *args: str | bytes | int) -> Any:
        return await self._store.command(*args, key=self._keys.state)


def _shown(id: ScheduledId, due_ms: int, record: Record, repeat: bytes | None) -> Scheduled:
    shown = Scheduled(id, due_ms, record.timestamp_ms, record.key, record.value, record.headers)
    return shown if repeat is None else shown._replace(**repeat_of(repeat))
