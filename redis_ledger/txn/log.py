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


class UnsupportedVersion(Exception):
    """The transaction log was written by a newer redis-ledger. Read it with that version or a later one."""


class LiveRecord(NamedTuple):
    """A live record, with its entry number and its position in the entry from 0."""

    entry: int
    position: int
    record: TransactionLogRecord


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
        data = fields[b"r"] if isinstance(fields, dict) else fields[1]
        for position, record in enumerate(decode(data)):
            if bits[position : position + 1] == b"1":
                yield LiveRecord(int(number), position, record)


async def read(store: Store, keys: CoordinatorKeys) -> AsyncIterator[LiveRecord]:
    """The living records of a coordinator's log, oldest first.  Cost: one round trip for every 500 entries."""
    start: Any = "-"
    while True:
        entries = await store.command("XRANGE", keys.log, start, "+", "COUNT", PAGE, key=keys.state)
        if not entries:
            return
        numbers = [entry_id.partition(b"-")[0] for entry_id, _ in entries]
        rows = await store.command("HMGET", keys.live, *numbers, key=keys.state)
        bits = {number: row for number, row in zip(numbers, rows, strict=True) if row is not None}
        for placed in live_records(entries, bits):
            yield placed
        start = b"(" + entries[-1][0]
