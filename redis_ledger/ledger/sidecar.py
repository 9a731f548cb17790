"""The sidecar buffer as readers see it: a committed transaction is one entry of the log, read as its batches.

    log        40  [41 ····· 47] 48       one entry for seven records, however many batches they are
    sidecar         a:0 b:3 c:4           batch a from record 0, b from 3, c from 4, and where their payload is
    resolved   40   41  44  45  48        what readers get

A transaction of a single batch has an ordinary entry.  An entry of several names its transaction in place of its
payload.  Batches of small transactions are cached, since several subscriptions read them at about the same time.
Source: transaction buffer RFC ("sidecar"); docs/decisions/0044.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

from redis_ledger.errors import LedgerError, OffsetOutOfRange, StoredDamaged
from redis_ledger.ids import TxnId
from redis_ledger.ledger.entries import SIDECAR, LogEntry
from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.store import Store

PAGE = 512  # batches that one command reads
AT_ONCE = 64  # transactions whose batches one read looks up
CACHED_MAX = 2_048  # batches in the cache of a partition


class BufferedBatch(NamedTuple):
    """A batch of a transaction.  before: the records of the transaction before it.  flags: CHUNK or 0."""

    before: int
    ledger: int
    entry: int
    records: int
    size: int
    flags: int

    def to_entry(self, of: LogEntry) -> LogEntry:
        return of._replace(
            ledger=self.ledger, entry=self.entry, base_offset=of.base_offset + self.before, records=self.records,
            size=self.size, flags=SIDECAR | self.flags,
        )  # fmt: skip


_before = attrgetter("before")


def parse_batch(member: bytes) -> BufferedBatch:
    """Raises StoredDamaged."""
    try:
        return BufferedBatch._make(map(int, member.split()[1:]))
    except (ValueError, TypeError):
        raise StoredDamaged.of(f"The batch {member[:100]!r} of a transaction's buffer") from None


def is_reference(entry: LogEntry) -> bool:
    """Whether the entry stands for several batches of a transaction."""
    return entry.flags & SIDECAR != 0 and entry.ledger >= 0


def transaction_of(reference: LogEntry) -> TxnId:
    return TxnId(reference.ledger, reference.entry)


class Sidecar:
    def __init__(self, store: Store, keys: PartitionKeys) -> None:
        self._store, self._keys = store, keys
        self._cached: OrderedDict[TxnId, list[BufferedBatch]] = OrderedDict()
        self._count = 0

    async def resolved(self, entries: Sequence[LogEntry], offset: int, bytes_max: int) -> list[LogEntry]:
        """The same entries with batches in place of references, from the batch that holds `offset` on.

        It may stop early: after bytes_max, and after a page of batches.  Raises OffsetOutOfRange for what was trimmed.
        """
        if not any(map(is_reference, entries)):
            return list(entries)
        some, total, references = list[LogEntry](), 0, 0
        for entry in entries:
            if some and (total > bytes_max or references == AT_ONCE):
                break
            some.append(entry)
            if entry.last_offset >= offset:
                total += entry.size if entry.base_offset >= offset else 0
                references += is_reference(entry)
        found = list[LogEntry]()
        pages = iter(
            await asyncio.gather(*(self._page(each, offset - each.base_offset) for each in some if is_reference(each)))
        )
        for entry in some:
            if not is_reference(entry):
                found.append(entry)
                continue
            page = next(pages)
            found += [batch.to_entry(entry) for batch in page]
            if page[-1].before + page[-1].records < entry.records:
                break  # the next read goes on here
        return found

    async def within(self, reference: LogEntry, first: int, last: int) -> list[LogEntry]:
        """The batches that have offsets first to last.  Raises OffsetOutOfRange if they were trimmed."""
        found, at = list[LogEntry](), first
        while at <= last:
            page = await self._page(reference, at - reference.base_offset)
            found += [batch.to_entry(reference) for batch in page if reference.base_offset + batch.before <= last]
            at = reference.base_offset + page[-1].before + page[-1].records
        return found

    async def _page(self, reference: LogEntry, start: int) -> list[BufferedBatch]:
        """Batches from the one that has the transaction's record `start` on."""
        txn = transaction_of(reference)
        cached = self._cached.get(txn)
        if cached is not None:
            self._cached.move_to_end(txn)
            return cached[max(bisect_right(cached, start, key=_before) - 1, 0) :]
        name = txn_name(txn)
        low = b"[%s " % name
        if start > 0:
            for member in await self._range("ZREVRANGEBYLEX", b"(%s %012d" % (name, start + 1), low, 1):
                low = b"[" + member
        page = [parse_batch(member) for member in await self._range("ZRANGEBYLEX", low, b"(%s!" % name, PAGE)]
        if not page or not page[0].before <= max(start, 0) < page[0].before + page[0].records:
            raise await self._missing(reference)
        if start <= 0 and len(page) < PAGE:
            self._keep(txn, page)
        return page

    async def _range(self, command: str, low: bytes, high: bytes, count: int) -> list[bytes]:
        reply: list[bytes] = await self._store.command(
            command, self._keys.sidecar, low, high, "LIMIT", 0, count, key=self._keys.state
        )
        return reply

    def _keep(self, txn: TxnId, batches: list[BufferedBatch]) -> None:
        if txn in self._cached:
            return
        self._cached[txn] = batches
        self._count += len(batches)
        while self._count > CACHED_MAX:
            _, oldest = self._cached.popitem(last=False)
            self._count -= len(oldest)

    async def _missing(self, reference: LogEntry) -> LedgerError:
        start = int(await self._store.command("HGET", self._keys.state, "start", key=self._keys.state) or 0)
        if reference.last_offset < start:
            return OffsetOutOfRange(f"Offset {reference.base_offset} was trimmed during the read.", start_offset=start)
        return LedgerError(f"Batches of offset {reference.base_offset} are missing in the sidecar buffer: damage.")


def txn_name(txn: TxnId) -> bytes:
    """As members of the buffer begin."""
    return b"%d-%d" % (txn.coordinator, txn.serial)
