"""Reads the sidecar buffer of a partition for fsck.

begin: names in the buffer ─▶ the log, page by page: their references ─▶ end: names that neither the log nor `open` has

The names are read first, so one that is missing in the log was not committed when the log was read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from redis_ledger.fsck.finding import Finding
from redis_ledger.fsck.partition_facts import PartitionFacts
from redis_ledger.fsck.sidecar_check import (
    ABORTED,
    TRIMMED,
    check_ledgers,
    check_member,
    check_opened,
    check_opened_payload,
    check_reference,
    name_of,
    stray,
)
from redis_ledger.ledger.entries import LogEntry
from redis_ledger.ledger.log_trace import read_open
from redis_ledger.ledger.open_row import OpenRow
from redis_ledger.ledger.place import Place
from redis_ledger.ledger.sidecar import is_reference, parse_batch, transaction_of, txn_name
from redis_ledger.store.reading import PAGE, Reading

NAMES_MAX = 100_000  # transactions in the buffer that one look compares with the log
BATCHES_MAX = 20_000  # of an open transaction that is compared batch by batch
PageRead = Callable[[Sequence[LogEntry]], Awaitable[dict[tuple[int, int], bytes]]]


class SidecarReader:
    """read_payload: reads the payload of entries."""

    def __init__(self, reading: Reading, place: Place, read_payload: PageRead) -> None:
        self._reading, self._place, self._k = reading, place, place.keys
        self._read_payload = read_payload
        self._names: set[bytes] | None = None
        self._needed: dict[int, int] = {}  # ledger → last offset of its references in the log

    async def begin(self, *, is_whole: bool) -> list[Finding]:
        """is_whole: the log will be read from its beginning."""
        self._needed, self._names, found, names = {}, None, list[Finding](), set[bytes]()
        after = b"-"
        while page := await self._members(after, b"+", PAGE):
            for member in page:
                if not member:
                    continue  # the sentinel
                found += check_member(self._place, member)
                if len(names) < NAMES_MAX and not member.startswith(b"!"):
                    names.add(name_of(member))
            after = b"(" + page[-1]
        if is_whole:
            self._names = names
        return found

    async def page(self, entries: Sequence[LogEntry], kept_from: int) -> tuple[list[LogEntry], list[Finding]]:
        """The entries with batches in place of references."""
        resolved, found = list[LogEntry](), list[Finding]()
        for entry in entries:
            if not is_reference(entry):
                resolved.append(entry)
                continue
            name = txn_name(transaction_of(entry))
            if self._names is not None:
                self._names.discard(name)
            if entry.last_offset < kept_from:
                continue
            batches, wrong = check_reference(self._place, entry, await self._batches(name, entry.records))
            if wrong and await self._is_trimmed(entry):
                continue
            found += wrong
            resolved += batches
            for batch in batches:
                self._needed[batch.ledger] = max(self._needed.get(batch.ledger, -1), entry.last_offset)
        return resolved, found

    async def end(self, facts: PartitionFacts) -> list[Finding]:
        found = check_ledgers(facts, self._needed)
        async for page in self._reading.rows(self._k.state, self._k.open):
            for pid, row in page:
                opened = read_open(row)
                if opened is not None and self._names is not None:
                    self._names.discard(txn_name(opened.txn))
                if opened is not None and opened.aside is not None:
                    found += await self._opened(pid, opened)
        for name in sorted(self._names or ()):
            if await self._is_stray(name):
                found.append(stray(self._place, name))
        return found

    async def _opened(self, pid: bytes, seen: OpenRow) -> list[Finding]:
        name = txn_name(seen.txn)
        read = ("ZRANGEBYLEX", self._k.sidecar, b"[%s " % name, b"(%s!" % name, "LIMIT", 0, BATCHES_MAX)
        row, members = await self._reading.atomic([("HGET", self._k.open, pid), read])
        opened = read_open(row)
        if row is None or opened is None or opened.txn != seen.txn or len(members or ()) == BATCHES_MAX:
            return []
        found = check_opened(self._place, pid, row, opened, members or ())
        if found:
            return found
        of = LogEntry(0, 0, 0, 0, 0, int(pid), opened.epoch, -1, 0, 0, -1)
        entries = [parse_batch(member).to_entry(of) for member in members or ()]
        damaged = check_opened_payload(self._place, opened.txn, entries, await self._read_payload(entries))
        still = read_open(await self._reading.command(self._k.state, "HGET", self._k.open, pid)) if damaged else None
        return damaged if still is not None and still.txn == opened.txn else []

    async def _is_stray(self, name: bytes) -> bool:
        k = self._k
        low, high = b"[%s " % name, b"(%s!" % name
        count, aborted, trimmed, ended = await self._reading.atomic(
            [("ZLEXCOUNT", k.sidecar, low, high), ("ZSCORE", k.sidecar, ABORTED + name),
             ("ZSCORE", k.sidecar, TRIMMED + name), ("HVALS", k.open)]
        )  # fmt: skip
        opened = [parsed.txn for row in ended or () if (parsed := read_open(row)) is not None]
        return bool(count) and aborted is None and trimmed is None and name not in map(txn_name, opened)

    async def _is_trimmed(self, entry: LogEntry) -> bool:
        start, cold = await self._reading.command(self._k.state, "HMGET", self._k.state, "start", "cold")
        return entry.last_offset < max(int(start or 0), int(cold or 0))

    async def _batches(self, name: bytes, records: int) -> list[bytes]:
        """Of a committed transaction: they do not change."""
        found, low = list[bytes](), b"[%s " % name
        while page := await self._members(low, b"(%s!" % name, min(PAGE * 5, records)):
            found += page
            low = b"(" + page[-1]
        return found

    async def _members(self, low: bytes, high: bytes, count: int) -> list[bytes]:
        reply = await self._reading.command(self._k.state, "ZRANGEBYLEX", self._k.sidecar, low, high, "LIMIT", 0, count)
        return list(reply or ())
