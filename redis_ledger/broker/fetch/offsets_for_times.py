"""The offset for a timestamp: the first record, in offset order, with this timestamp or a later one; or the newest.

    log     newest timestamp so far ──binary search──▶ first candidate batch ──decode──▶ its first matching record

A batch header has the maximum timestamp, so only batches that can match are decoded.  A batch that is too large to
decode, or that comes after the budget is spent, counts as a single record at its first offset.
Source: KIP-79, KIP-734.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import NamedTuple

from redis_ledger.decoding import paced
from redis_ledger.decoding.budget import Budget
from redis_ledger.errors import OffsetOutOfRange, TooLargeToDecode
from redis_ledger.ledger.entries import LogEntry
from redis_ledger.ledger.partition import Partition
from redis_ledger.records.batch import read_header

SCAN_BYTES = 1 << 20


class TimestampOffset(NamedTuple):
    offset: int
    timestamp_ms: int


async def find(
    partition: Partition, timestamp_ms: int | None, committed: bool, budget: Budget
) -> TimestampOffset | None:
    """The first record with this timestamp or a later one; for None, the first of the newest records.

    Cost: O(log n) round trips and one decoded batch.  If the record with the newest timestamp was trimmed, the headers
    of all batches are read: the log keeps the newest timestamp so far.
    """
    if timestamp_ms is not None:
        return (await _first_since(partition, timestamp_ms, committed, budget))[0]
    last = await partition.offsets.newest_entry()
    if last is None or last.newest_ms < 0:
        return None
    found, newest = await _first_since(partition, last.newest_ms, committed, budget)
    return found or newest


async def _first_since(
    partition: Partition, timestamp_ms: int, committed: bool, budget: Budget
) -> tuple[TimestampOffset | None, TimestampOffset | None]:
    """The first matching record; without one, the newest record that was read."""
    entry, newest = await partition.offsets.entry_at(timestamp_ms), None
    if entry is None:
        return None, None
    offset, bytes_max = entry.base_offset, 1
    while True:
        try:
            read = await partition.reader.read(offset, committed=committed, bytes_max=bytes_max)
        except OffsetOutOfRange as error:
            start = int(error.facts.get("start_offset", -1))
            if start <= offset:
                raise
            offset = start  # inside the batch, or after it by now
            continue
        if not read.entries:
            return None, newest
        for found, payload in zip(read.entries, read.payloads, strict=True):
            await budget.pace.rest()
            if not found.has_payload:
                continue
            latest_ms = read_header(payload).max_timestamp
            if newest is not None and latest_ms <= newest.timestamp_ms:
                continue  # newest is too early, so this batch is too
            async for some in _slices(found, payload, latest_ms, budget):
                for at in some:
                    if at.offset < read.head.start_offset:
                        continue
                    if at.timestamp_ms >= timestamp_ms:
                        return at, None
                    newest = at if newest is None or at.timestamp_ms > newest.timestamp_ms else newest
        offset, bytes_max = read.entries[-1].last_offset + 1, SCAN_BYTES


async def _slices(
    entry: LogEntry, payload: bytes | memoryview, latest_ms: int, budget: Budget
) -> AsyncIterator[Iterable[TimestampOffset]]:
    base = entry.base_offset
    if not budget.is_spent:
        try:
            async for records in paced.slices(payload, budget):
                yield (TimestampOffset(base + each.offset, each.timestamp_ms) for each in records)
            return
        except TooLargeToDecode:
            pass
    yield (TimestampOffset(base, latest_ms),)
