"""Reads a partition for fsck: its log to the last entry, payload, and the indexes beside it.

snapshot ─┐
log      page ─▶ trace ─▶ page ─▶ trace ─ ... ─▶ last page, with state, open, firsts and ledgers in the same script
payload   └ of the page: a megabyte at a time

The log is read from its snapshot on if there is one that can be used, and if that tells what is right; else, and if
everything is to be compared, from its start.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any

from redis_ledger.fsck.cursor_reader import CursorReader
from redis_ledger.fsck.finding import Finding
from redis_ledger.fsck.held_check import HeldCheck, held_open
from redis_ledger.fsck.key_table import TypedKey, check_key, partition_keys
from redis_ledger.fsck.keyspace import typed
from redis_ledger.fsck.offload_check import check_manifest
from redis_ledger.fsck.partition_check import check_open, check_partition
from redis_ledger.fsck.partition_facts import LedgerRow, PartitionFacts, StreamFacts
from redis_ledger.fsck.payload_check import check_payload
from redis_ledger.fsck.producer_check import Decided, check_aborted, check_markers, check_windows
from redis_ledger.fsck.sidecar_reader import SidecarReader
from redis_ledger.fsck.snapshot_check import (
    SnapshotComparison,
    check_aborted_before,
    end_of_stretch,
    needs_whole_log,
    snapshot_finding,
)
from redis_ledger.ids import TxnId
from redis_ledger.ledger.buffer_snapshot import UnusableSnapshot
from redis_ledger.ledger.buffer_snapshot_store import Snapshot, SnapshotStore, SnapshotUse
from redis_ledger.ledger.entries import (
    Aborted,
    LogEntry,
    covers,
    is_aborted,
    may_be_reclaimed,
    parse_aborted,
    parse_log,
    runs,
)
from redis_ledger.ledger.log_trace import LogTrace, Marker, read_open
from redis_ledger.ledger.place import Place
from redis_ledger.store.keys import CoordinatorKeys
from redis_ledger.store.reading import PAGE, SMALL, Reading, pairs, scores

LOG_PAGE = 500  # entries
TAIL_PAGE = 100  # entries that are read together with everything beside the log: scripts convert them slowly
PAYLOAD_BYTES = 1 << 20  # of one read
AT_ONCE = 4  # reads of payload under way
ABORTS_PAGE = 500  # of the aborted set, compared with the snapshot
LEDGERS_MAX = 500  # whose streams are compared with their rows


class PartitionReader:
    """is_full: the whole log is read, and the snapshot compared with it.  use: of the snapshot, in the last look."""

    def __init__(self, reading: Reading, place: Place, coordinators: int, *, is_full: bool = False) -> None:
        self._reading, self._place, self._coordinators, self._is_full = reading, place, coordinators, is_full
        self._stored, self._comparison = SnapshotStore(reading, place), SnapshotComparison(None)
        self.use = SnapshotUse(str(place))
        self._entries = 0  # of the log, that this look has read
        self._k = place.keys
        self._held = HeldCheck(reading, place, coordinators)
        self._sidecar = SidecarReader(reading, place, self._payloads)
        self._turn = asyncio.Semaphore(AT_ONCE)
        self._found: list[Finding] = []  # entries of another form
        self._begun_at: bytes | None = None  # log start when the look began
        self._is_near_end = False

    async def look(self, now_ms: int) -> list[Finding]:
        """Everything but delayed records."""
        snapshot, reason, wrong, self._entries = None, "", list[Finding](), 0
        self._comparison = SnapshotComparison(None)
        try:
            snapshot = await self._stored.load()
        except UnusableSnapshot as refusal:
            reason = refusal.reason
            if refusal.is_damage:
                wrong.append(snapshot_finding(self._place, (await self._stored.read()).head.text or None, reason))
        if snapshot is not None and not self._is_full:
            found = await self._look(now_ms, snapshot)
            self.use = SnapshotUse(str(self._place), snapshot.index.position, self._entries)
            if not needs_whole_log(found, snapshot.index.counts):
                return found
            snapshot, reason = None, "it does not tell what is right"
        self._comparison = SnapshotComparison(snapshot)
        found = wrong + await self._look(now_ms, None)
        self.use = SnapshotUse(str(self._place), -1, self._entries, reason)
        return found

    async def _look(self, now_ms: int, snapshot: Snapshot | None) -> list[Finding]:
        """From the snapshot on."""
        found = list(await self._keys())
        self._found.clear()
        self._is_near_end = False
        trace, after = await self._begin(snapshot)
        found += await self._sidecar.begin(is_whole=snapshot is None)
        if snapshot is not None:
            found += await self._check_aborted_before(snapshot, trace.first)
        facts: PartitionFacts | None = None
        while facts is None:
            entries, after, facts = await self._page(trace, after)
            found += await self._check_page(trace, entries)
        if difference := self._comparison.difference(facts.number("start")):
            found.append(snapshot_finding(self._place, (await self._stored.read()).head.text, difference))
        found += self._found
        found += check_partition(facts)
        if facts.open is None or facts.firsts is None:
            found += await self._check_many_open(facts)
        found += await self._sidecar.end(facts)
        found += await self._check_windows(facts, now_ms)
        found += await self._check_held()
        found += await self._check_offload()
        if any(each.kind == "partition_state" and each.item in ("start", "next") for each in found):
            return found  # subscriptions are compared with the range of the log, so that comes first
        return found + await CursorReader(self._reading, self._place, self._held).look(now_ms)

    async def _check_offload(self) -> list[Finding]:
        k = self._k
        before = await self._reading.command(k.state, "HMGET", k.offload, "version", "plan")
        rows = {name: row async for page in self._reading.rows(k.state, k.offload) for name, row in page}
        state, after = await self._reading.atomic([("HGETALL", k.state), ("HMGET", k.offload, "version", "plan")])
        if before != after:
            return []  # published, or planned, since
        return list(check_manifest(self._place, rows, pairs(state)))

    async def _keys(self) -> list[Finding]:
        """Keys that are missing, or of another type."""
        k = self._k
        ledgers: dict[int, bytes] = {}
        async for page in self._reading.rows(k.state, k.ledgers):
            ledgers |= {int(name): row for name, row in page if name.lstrip(b"-").isdigit()}
        rows = [(number, row.issued) for number, text in ledgers.items() if (row := LedgerRow.parse(text)) is not None]
        found = await typed(self._reading, str(self._place), k.state, partition_keys(k, rows))
        kind = await self._reading.command(k.state, "TYPE", k.snapshot)
        if kind != b"none":  # it is there from the first transaction on
            found += check_key(str(self._place), TypedKey(k.snapshot, "hash"), kind.decode())
        if await self._reading.command(k.state, "HEXISTS", k.delay.state, "ledger"):
            return found
        # The first scheduled record makes the index.
        index = {key.decode() for key in k.delay.index_keys}
        missing = {finding.key for finding in found if finding.kind == "key_missing"}
        return [finding for finding in found if finding.key not in index or not index <= missing]

    async def _begin(self, snapshot: Snapshot | None) -> tuple[LogTrace, bytes]:
        """The trace, and where the log is read from."""
        k = self._k
        self._begun_at = await self._reading.command(k.state, "HGET", k.state, "start")
        if snapshot is None:
            return LogTrace(), b"-"
        self._begun_at = b"%d" % snapshot.index.counted_from
        trace = snapshot.trace()
        entries = self._read(await self._reading.command(k.state, "XRANGE", k.log, "-", "+", "COUNT", 1) or [])
        if entries:
            trace.first = entries[0].base_offset
        return trace, b"%d" % snapshot.index.position

    async def _check_aborted_before(self, snapshot: Snapshot, log_first: int) -> list[Finding]:
        """The aborted set below the snapshot's position."""
        k, found, low, position = self._k, list[Finding](), 0, snapshot.index.position
        while low < position:
            high = end_of_stretch(snapshot.aborted, low, position, ABORTS_PAGE)
            read = ("ZRANGEBYSCORE", k.aborted, low, high, "WITHSCORES", "LIMIT", 0, 2 * ABORTS_PAGE)
            reply, start = await self._reading.atomic([read, ("HGET", k.state, "start")])
            members, low_now = parse_aborted(reply or []), max(low, _number(start))
            if len(members) == 2 * ABORTS_PAGE and members[-1].last_offset > low:
                high = members[-1].last_offset - 1  # more than the snapshot has: the rest comes next
            rows, held = (
                [row for row in rows if low_now <= row.last_offset <= high] for rows in (snapshot.aborted, members)
            )
            found += check_aborted_before(self._place, rows, held, log_first)
            low = high + 1
        return found

    async def _page(self, trace: LogTrace, after: bytes) -> tuple[list[LogEntry], bytes, PartitionFacts | None]:
        """The next entries; with the last ones, the facts of that moment."""
        k = self._k
        if not self._is_near_end:
            found = await self._reading.command(k.state, "XRANGE", k.log, after, "+", "COUNT", LOG_PAGE) or []
            self._is_near_end = len(found) < LOG_PAGE
            if found:
                return self._read(found), b"(" + found[-1][0], None
        *counts, ledger, delay_ledger = await self._reading.atomic(
            [
                ("HLEN", k.open),
                ("ZCARD", k.firsts),
                ("HGET", k.state, "ledger"),
                ("HGET", k.delay.state, "ledger"),
            ]
        )
        active = [int(each) for each in (ledger, delay_ledger) if each and each.lstrip(b"-").isdigit()]
        is_small = all((count or 0) <= SMALL for count in counts)
        numbers = sorted(active)
        reads: list[tuple[Any, ...]] = [
            ("XRANGE", k.log, after, "+", "COUNT", TAIL_PAGE), ("HGETALL", k.state), ("HGETALL", k.ledgers),
            ("ZCARD", k.sidecar),
            *(("XINFO STREAM", k.data(number)) for number in numbers),
        ]  # fmt: skip
        if is_small:
            reads += [("HGETALL", k.open), ("ZRANGE", k.firsts, 0, -1, "WITHSCORES")]
        log, state, ledgers, buffered, *rest = await self._reading.atomic(reads)
        rows, fields = log or [], pairs(state)
        entries = self._read(rows)
        if len(rows) == TAIL_PAGE:
            return entries, b"(" + rows[-1][0], None
        streams = {number: _stream(info) for number, info in zip(numbers, rest, strict=False) if info}
        rows_of = pairs(ledgers)
        await self._sealed(rows_of, streams, numbers)
        opened = rest[len(numbers) :] or (None, None)
        facts = PartitionFacts(
            self._place, fields, trace, rows_of, streams,
            pairs(opened[0]) if is_small else None, scores(opened[1]) if is_small else None,
            has_trimmed=fields.get(b"start") != self._begun_at, has_buffered=(buffered or 0) > 1,
        )  # fmt: skip
        return entries, b"", facts

    async def _sealed(
        self, ledgers: Mapping[bytes, bytes], streams: dict[int, StreamFacts], active: Sequence[int]
    ) -> None:
        """Adds the streams of sealed ledgers whose rows have not changed since."""
        k = self._k
        for name in [*ledgers][:LEDGERS_MAX]:
            if not name.lstrip(b"-").isdigit() or int(name) in active:
                continue
            key, row = k.data(int(name)), LedgerRow.parse(ledgers[name])
            text, length = await self._reading.atomic([("HGET", k.ledgers, name), ("XLEN", key)])
            if text == ledgers[name] and length is not None and row is not None:
                last = row.issued
                if length != row.issued - row.deleted:
                    newest = await self._reading.command(k.state, "XREVRANGE", key, "+", "-", "COUNT", 1)
                    last = int(newest[0][0].partition(b"-")[2]) if newest else row.issued
                streams[int(name)] = StreamFacts(length, last)

    def _read(self, rows: Sequence[Any]) -> list[LogEntry]:
        """The entries; one of another form is reported and left out."""
        self._reading.bytes += 160 * len(rows)
        self._entries += len(rows)
        try:
            return parse_log(rows)
        except (ValueError, TypeError, IndexError):
            entries = []
            for row in rows:
                try:
                    entries += parse_log([row])
                except (ValueError, TypeError, IndexError):
                    name = row[0].decode(errors="replace")
                    detail = f"The entry {name} has another form; its offsets cannot be read."
                    self._found.append(Finding("log_entry", str(self._place), self._k.log.decode(), name, detail))
            return entries

    # -- a page of the log -------------------------------------------------------------------------------------------

    async def _check_page(self, trace: LogTrace, entries: Sequence[LogEntry]) -> list[Finding]:
        markers = self._comparison.add(trace, entries)
        if not entries:
            return []
        k, found = self._k, list[Finding]()
        low, high = entries[0].base_offset, entries[-1].last_offset
        members = await self._reading.command(k.state, "ZRANGEBYSCORE", k.aborted, low, high, "WITHSCORES")
        start, cold = await self._reading.command(k.state, "HMGET", k.state, "start", "cold") or (None, None)
        kept_from = max(_number(start), _number(cold))
        known = [member for member in parse_aborted(members or []) if member.last_offset >= _number(start)]
        found += check_aborted(self._place, [m for m in markers if m.offset >= _number(start)], known, trace.first)
        found += check_markers(self._place, markers, await self._decided(markers))
        whole, wrong = await self._sidecar.page(entries, kept_from)
        read = await self._payloads(whole)
        reclaimed = await self._reclaimed([e for e in whole if e.has_payload and (e.ledger, e.entry) not in read])
        found += check_payload(self._place, [each for each in whole if each not in reclaimed], read, kept_from)
        return found + wrong

    async def _reclaimed(self, missing: Sequence[LogEntry]) -> Collection[LogEntry]:
        """Those of aborted transactions: their payload was given back, and no reader needs it.

        Called after the payload was read."""
        k = self._k
        stable = _number(await self._reading.command(k.state, "HGET", k.state, "stable")) if missing else 0
        old, aborted, count = [each for each in missing if may_be_reclaimed(each, stable)], list[Aborted](), 0
        low = old[0].base_offset - 1 if old else 0
        while old and (not count or not covers(aborted, old[-1].last_offset + 1, count)):
            page = ("ZRANGEBYSCORE", k.aborted, f"({low}", "+inf", "WITHSCORES", "LIMIT", 0, ABORTS_PAGE)
            aborted += parse_aborted(await self._reading.command(k.state, *page) or [])
            count += ABORTS_PAGE
            low = aborted[-1].last_offset if aborted else low
        return {each for each in old if is_aborted(each, aborted)}

    async def _payloads(self, entries: Sequence[LogEntry]) -> dict[tuple[int, int], bytes]:
        parts = await asyncio.gather(*(self._payload(each) for each in portions(entries)))
        return {at: data for part in parts for at, data in part.items()}

    async def _payload(self, entries: Sequence[LogEntry]) -> dict[tuple[int, int], bytes]:
        found: dict[tuple[int, int], bytes] = {}
        for ledger, first, last in runs(entries):
            async with self._turn:
                command = ("XRANGE", self._k.data(ledger), f"0-{first}", f"0-{last}")
                rows = await self._reading.command(self._k.state, *command)
            for name, fields in rows or ():
                found[ledger, int(name.partition(b"-")[2])] = fields[1]
                self._reading.bytes += len(fields[1])
        return found

    async def _decided(self, markers: Sequence[Marker]) -> dict[int, Decided]:
        """What the coordinators hold of the transactions whose producer ids are their own ids."""
        wanted: dict[int, list[TxnId]] = {}
        for marker in markers:
            txn = TxnId.of_producer(marker.producer_id)
            if marker.producer_id >= 0 and txn.coordinator < self._coordinators:
                wanted.setdefault(txn.coordinator, []).append(txn)
        found: dict[int, Decided] = {}
        for number, txns in wanted.items():
            k, serials = CoordinatorKeys(self._reading.store.prefix, number), [txn.serial for txn in txns]
            reads = [("HMGET", k.txns, *serials), ("HMGET", k.outcomes, *serials)]
            live, ended = await self._reading.atomic(reads)
            for txn, row, outcome in zip(txns, live or serials, ended or serials, strict=True):
                text = next((each for each in (row, outcome) if isinstance(each, bytes)), b"")
                found[txn.producer_id] = Decided(txn, text[:1].decode())
        return found

    # -- indexes -----------------------------------------------------------------------------------------------------

    async def _check_many_open(self, facts: PartitionFacts) -> list[Finding]:
        """Pages of `open` and `firsts`.  Of transactions that began or ended since, none is compared."""
        names = {str(pid).encode() for pid in facts.trace.open}
        async for page in self._reading.fields(self._k.state, self._k.open):
            names.update(page)
        found = []
        async for pid, row, first in self._open_rows(sorted(names)):
            finding = check_open(facts, pid, row, first)
            has_begun_since = first is not None and first >= facts.trace.end
            if finding is not None and not has_begun_since and not (row is None and first is None):
                found.append(finding)
        return found

    async def _check_held(self) -> list[Finding]:
        """Open transactions and watermarks against the coordinators."""
        held, found = self._held, list[Finding]()
        async for page in self._reading.rows(self._k.state, self._k.open):
            rows = {pid: (row, parsed) for pid, row in page if (parsed := read_open(row)) is not None}
            found += await held.check(held_open(self._place, rows))
        return found + await held.check_watermarks()

    async def _open_rows(self, names: Sequence[bytes]) -> AsyncIterator[tuple[bytes, bytes | None, int | None]]:
        k = self._k
        for at in range(0, len(names), PAGE):
            some = names[at : at + PAGE]
            rows, firsts = await self._reading.atomic([("HMGET", k.open, *some), ("ZMSCORE", k.firsts, *some)])
            for pid, row, first in zip(some, rows or [None] * len(some), firsts or [None] * len(some), strict=True):
                yield pid, row, None if first is None else int(float(first))

    async def _check_windows(self, facts: PartitionFacts, now_ms: int) -> list[Finding]:
        """Windows are read after the log, so each of them has the batches that the log had, or later ones."""
        k, start, found = self._k, facts.number("start"), list[Finding]()
        seen: set[bytes] = set()
        async for page in self._reading.rows(k.state, k.producers):
            seen.update(pid for pid, _ in page)
            found += check_windows(self._place, facts.trace, dict(page), start, now_ms)
        missing = [name for pid in facts.trace.windows if (name := str(pid).encode()) not in seen]
        for at in range(0, len(missing), PAGE):
            some = missing[at : at + PAGE]
            rows = await self._reading.command(k.state, "HMGET", k.producers, *some) or [None] * len(some)
            found += check_windows(self._place, facts.trace, dict(zip(some, rows, strict=True)), start, now_ms)
        return found


def portions(entries: Sequence[LogEntry]) -> list[list[LogEntry]]:
    """Divides entries so that the payload of each part is a megabyte at most, or one entry."""
    parts: list[list[LogEntry]] = [[]]
    size = 0
    for entry in entries:
        if parts[-1] and size + entry.size > PAYLOAD_BYTES:
            parts.append([])
            size = 0
        parts[-1].append(entry)
        size += entry.size
    return parts


def _stream(info: Sequence[Any]) -> StreamFacts:
    length, last = info
    return StreamFacts(length, int(last.partition(b"-")[2]))


def _number(text: bytes | None) -> int:
    return int(text) if text and text.isdigit() else 0
