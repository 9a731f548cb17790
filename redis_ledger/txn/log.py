"""The transaction log as records, for tools and tests; serving a transaction never reads it.

    entry   0E 01  00 01  TransactionLogEntry      batched: magic, version, the records of one call (PIP-160)
            08 ..                                  bare: one TransactionLogRecord, which can never begin with 0E
    live    "010010"                               a record is alive while its bit is 1

Both kinds can be in one log, whatever the current setting.  A record whose transaction has ended is dead; readers skip
it.  Source: PIP-160; requirements BW-07 to BW-10.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from redis_ledger.proto.txn_log_pb2 import TransactionLogEntry, TransactionLogRecord
from redis_ledger.store.keys import CoordinatorKeys
from redis_ledger.store.store import Store

MAGIC, VERSION = b"\x0e\x01", b"\x00\x01"
PAGE = 500  # entries read in one round trip
# Of `shown`: entries read in one round trip; entries and bytes in all.
SHOWN_PAGE, LOOKED_MAX, BYTES_MAX = 100, 10_000, 4 << 20


class UnsupportedVersion(Exception):
    """The transaction log was written by a newer redis-ledger. Read it with that version or a later one."""


class LiveRecord(NamedTuple):
    """A live record, with its entry number and its position in the entry from 0."""

    entry: int
    position: int
    record: TransactionLogRecord


class LoggedRecord(NamedTuple):
    """A record, live or dead, with its entry, its position there from 0, and the number of records there.
    record: None if a newer release wrote the entry."""

    entry: int
    position: int
    size: int
    is_live: bool
    record: TransactionLogRecord | None


def decode(data: bytes) -> list[TransactionLogRecord]:
    """The records of one entry, in order.  Raises UnsupportedVersion."""
    if not data.startswith(MAGIC):
        return [TransactionLogRecord.FromString(data)]
    if data[2:4] != VERSION:
        raise UnsupportedVersion(f"A log entry has version {int.from_bytes(data[2:4])}; this release reads version 1.")
    return list(TransactionLogEntry.FromString(data[4:]).records)


def live_records(entries: Sequence[tuple[bytes, Any]], live: Mapping[bytes, bytes]) -> Iterator[LiveRecord]:
    """The records of XRANGE's entries (id, fields) that are alive by their bitmap."""
    for entry_id, fields in entries:
        number = entry_id.partition(b"-")[0]
        bits = live.get(number, b"")
        for position, record in enumerate(decode(_data(fields))):
            if bits[position : position + 1] == b"1":
                yield LiveRecord(int(number), position, record)


class BatchedEntries(NamedTuple):
    """The entries of a coordinator's log.  last: the number of the last batched one, 0 if there is none."""

    entries: int
    batched: int
    last: int


async def batched_entries(store: Store, keys: CoordinatorKeys) -> BatchedEntries:
    """Counts the batched entries that are left.  Cost: one round trip for every 500 entries."""
    entries = batched = last = 0
    async for page in _pages(store, keys):
        entries += len(page)
        for entry_id, fields in page:
            if _data(fields).startswith(MAGIC):
                batched, last = batched + 1, int(entry_id.partition(b"-")[0])
    return BatchedEntries(entries, batched, last)


async def read(store: Store, keys: CoordinatorKeys) -> AsyncIterator[LiveRecord]:
    """The living records of a coordinator's log, oldest first.  Cost: one round trip for every 500 entries."""
    async for entries in _pages(store, keys):
        numbers = [entry_id.partition(b"-")[0] for entry_id, _ in entries]
        rows = await store.command("HMGET", keys.live, *numbers, key=keys.state)
        bits = {number: row for number, row in zip(numbers, rows, strict=True) if row is not None}
        for placed in live_records(entries, bits):
            yield placed


async def _pages(store: Store, keys: CoordinatorKeys) -> AsyncIterator[Sequence[tuple[bytes, Any]]]:
    start: Any = "-"
    while True:
        entries = await store.command("XRANGE", keys.log, start, "+", "COUNT", PAGE, key=keys.state)
        if not entries:
            return
        yield entries
        start = b"(" + entries[-1][0]


def _data(fields: Any) -> bytes:
    data: bytes = fields[b"r"] if isinstance(fields, dict) else fields[1]
    return data


def logged_records(number: int, data: bytes, bits: bytes) -> list[LoggedRecord]:
    """All records of an entry."""
    try:
        records = decode(data)
    except UnsupportedVersion:
        return [LoggedRecord(number, 0, len(bits), b"1" in bits, None)]
    return [
        LoggedRecord(number, position, len(records), bits[position : position + 1] == b"1", record)
        for position, record in enumerate(records)
    ]


async def shown(
    store: Store, keys: CoordinatorKeys, first: int, records_max: int, serial: int | None = None
) -> tuple[list[LoggedRecord], int | None]:
    """The records from entry `first` on, of one transaction if a serial is given, and the entry at which the next call
    continues; None at the end.

    It ends behind the entry that reaches records_max, or behind LOOKED_MAX entries or BYTES_MAX bytes.
    Cost: two round trips for every 100 entries.
    """
    found, looked, size = list[LoggedRecord](), 0, 0
    while True:
        entries = await store.command("XRANGE", keys.log, first, "+", "COUNT", SHOWN_PAGE, key=keys.state)
        if not entries:
            return found, None
        numbers = [entry_id.partition(b"-")[0] for entry_id, _ in entries]
        rows = await store.command("HMGET", keys.live, *numbers, key=keys.state)
        for number, bits, (_, fields) in zip(map(int, numbers), rows, entries, strict=True):
            records = logged_records(number, fields[1], bits or b"")
            found += [r for r in records if serial is None or r.record is None or r.record.serial == str(serial)]
            looked, size, first = looked + 1, size + len(fields[1]), number + 1
            if len(found) >= records_max or looked >= LOOKED_MAX or size >= BYTES_MAX:
                return found, first
        if len(entries) < SHOWN_PAGE:
            return found, None
