"""Statistics of a transaction coordinator, from a few reads of its keys.

    live serials      41   43   44        next 45      last serial 44
    low watermark  40                                  every transaction up to it has ended

A coordinator has no owner and no state of its own in a broker: any broker serves it, without loading it first.
Source: requirements OB-01 to OB-03; lua/include/txn_write.lua, which keeps the counts.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from redis_ledger.store.keys import CoordinatorKeys
from redis_ledger.store.store import ReplyError, Store

SAMPLES = 50  # nodes of the log's stream that MEMORY USAGE samples
_FIELDS = ("next", "entry", "created", "committed", "aborted", "timeout", "rollbacks", "since")


@dataclass(frozen=True, slots=True)
class CoordinatorStats:
    """live: transactions that are open or ending.  aborted: includes timed_out.  oldest_started_ms: of the oldest live
    one; None without one.  takeovers: how often it was continued after Redis had lost its newest writes.
    log_first_entry, log_last_entry: None if the log is empty.  log_bytes: in memory; None if Redis refuses to say.
    log_entries_written: since the beginning."""

    number: int
    since_ms: int
    last_serial: int
    low_watermark: int
    live: int
    created: int
    committed: int
    aborted: int
    timed_out: int
    oldest_started_ms: int | None
    takeovers: int
    log_entries: int
    log_entries_written: int
    log_first_entry: int | None
    log_last_entry: int | None
    log_bytes: int | None


async def read(store: Store, number: int) -> CoordinatorStats:
    """Cost: seven reads in one round trip, and one more for the age of the oldest transaction."""
    k = CoordinatorKeys(store.prefix, number)
    command, at = store.command, k.state
    state, live, lowest, entries, first, last, size = await asyncio.gather(
        command("HMGET", k.state, *_FIELDS, key=at),
        command("HLEN", k.txns, key=at),
        command("ZRANGEBYLEX", k.order, "(", "+", "LIMIT", 0, 1, key=at),
        command("XLEN", k.log, key=at),
        command("XRANGE", k.log, "-", "+", "COUNT", 1, key=at),
        command("XREVRANGE", k.log, "+", "-", "COUNT", 1, key=at),
        _memory(store, k),
    )
    following, entry, created, committed, aborted, timeout, rollbacks, since = (int(each or 0) for each in state)
    oldest = int(lowest[0]) if lowest else None
    row = None if oldest is None else await command("HGET", k.txns, oldest, key=at)
    return CoordinatorStats(
        number, since, following - 1, (following if oldest is None else oldest) - 1, live - 1, created, committed,
        aborted, timeout, int(row.split(b" ")[2]) if row else None, rollbacks, entries, entry,
        _number(first), _number(last), size,
    )  # fmt: skip


def _number(entries: list[tuple[bytes, object]]) -> int | None:
    return int(entries[0][0].partition(b"-")[0]) if entries else None


async def _memory(store: Store, k: CoordinatorKeys) -> int | None:
    try:
        size = await store.command("MEMORY", "USAGE", k.log, "SAMPLES", SAMPLES, key=k.state)
    except ReplyError:
        return None
    return None if size is None else int(size)
