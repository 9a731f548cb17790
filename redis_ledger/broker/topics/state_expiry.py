"""Expiry of a partition's state of producers and of ended transactions.

    producers    ▓▓▓▓░░░░░░░░░░░░░░░░░░  rows are scanned in pages; the scan starts again after 5 min
                     ^ cursor            a row expires a day after its last batch, or with its Idempotency-Key

    tombstones   ▓▓▓▓▓▓▓▓░░░░░░░░░░░░░░  in order of time: the oldest expire, until a page has none to remove
                 ^ oldest

Each produce request with an Idempotency-Key leaves a row, so there may be millions.  A turn costs the rows that it
reads.  With more than a million rows in all partitions a scan takes longer, up to two hours.  The cursor is not stored:
another broker starts a new scan.
Source: Kafka producer.id.expiration.ms; transaction buffer RFC "low watermark".
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.ids import is_keyed
from redis_ledger.ledger.partition import Partition
from redis_ledger.store.scripts import Script
from redis_ledger.store.store import Store

FORGET_PRODUCERS = Script.load("ledger/forget_producers")
FORGET_TOMBSTONES = Script.load("txn/forget_tombstones")
PRODUCER_SILENT_MS = 86_400_000
KEY_SLACK_MS = 60_000  # clocks differ
PAGE = 500  # rows or tombstones read by one call
LAP_LOOKS, LAP_LOOKS_MAX = 10, 240  # a scan takes so many turns, one every half minute
LOOK_ROWS = 100_000  # rows of all partitions together that are read in half a minute: less than 1 % of Redis
IDLE_PAGES = 20  # of tombstones, read although none of them expires


class _Scan(NamedTuple):
    """A scan of the producers of a partition.  next_ms: when the first of the rows read so far expires."""

    cursor: Any = b"0"
    next_ms: float = math.inf


class StateExpiry:
    def __init__(self, store: Store, config: Config, clock: Clock) -> None:
        self._store, self._config, self._clock = store, config, clock
        self._scans: dict[tuple[str, int], _Scan] = {}  # unfinished
        self._rows: dict[tuple[str, int], int] = {}
        self._next_ms: dict[tuple[str, int], float] = {}

    def keep_only(self, partitions: set[tuple[str, int]]) -> None:
        """Drops the state of all other partitions."""
        self._scans = {at: scan for at, scan in self._scans.items() if at in partitions}
        self._rows = {at: rows for at, rows in self._rows.items() if at in partitions}
        self._next_ms = {at: ms for at, ms in self._next_ms.items() if at in partitions}

    def is_scanning(self, topic_id: str, number: int) -> bool:
        """True if a scan of the partition is unfinished, so that it needs another turn even without changes."""
        return (topic_id, number) in self._scans

    def next_ms(self, topic_id: str, number: int) -> float:
        """When the first producer of the last scan expires, if it stays silent."""
        return self._next_ms.get((topic_id, number), math.inf)

    async def look(self, partition: Partition) -> None:
        """Raises LedgerError.  Cost: 1/10 to 1/240 of the producers, and 500 of them at least."""
        await self._forget_producers(partition)
        await self._forget_tombstones(partition)

    async def _forget_producers(self, partition: Partition) -> None:
        """Removes producers that have been silent for a day.

        The producer of a request with an Idempotency-Key is kept as long as the key, so that a repeated request finds
        its earlier append.
        """
        k, now_ms = partition.keys, self._clock.now_ms()
        at = (partition.topic_id, partition.number)
        self._rows[at] = int(await self._store.command("HLEN", k.producers, key=k.state))
        left = self._share(self._rows[at])
        scan = self._scans.pop(at, _Scan())
        while True:
            cursor, rows = await self._store.command("HSCAN", k.producers, scan.cursor, "COUNT", PAGE, key=k.state)
            silent, next_ms = list[bytes](), scan.next_ms
            for pid, row in zip(rows[::2], rows[1::2], strict=True):
                until_ms = self._until_ms(int(pid), row) if row else math.inf
                if until_ms < now_ms:
                    silent += [pid, row]
                else:
                    next_ms = min(next_ms, until_ms)
            if silent:
                await self._store.call(FORGET_PRODUCERS, (k.producers, k.open), silent)
            scan, left = _Scan(cursor, next_ms), left - PAGE
            if cursor == b"0":
                self._next_ms[at] = next_ms
                return
            if left <= 0:
                self._scans[at] = scan
                return

    def _share(self, rows: int) -> int:
        """The number of a partition's rows that one turn reads."""
        looks = min(max(sum(self._rows.values()) // LOOK_ROWS, LAP_LOOKS), LAP_LOOKS_MAX)
        return max(PAGE, rows // looks)

    def _until_ms(self, producer_id: int, row: bytes) -> int:
        _, last_ms, *rest = row.split(b" ", 3)
        keyed_ms = self._config.idempotency_key_ms
        if not is_keyed(producer_id):
            return int(last_ms) + PRODUCER_SILENT_MS
        if rest and rest[0].startswith(b"@~"):
            keyed_ms = int(rest[0][2:]) * 1000
        return int(last_ms) + keyed_ms + KEY_SLACK_MS

    async def _forget_tombstones(self, partition: Partition) -> None:
        k, now_ms = partition.keys, self._clock.now_ms()
        at = idle = 0
        while idle < IDLE_PAGES:
            args = (now_ms, self._config.tombstone_ms, at, PAGE)
            _, looked, dropped = await self._store.call(FORGET_TOMBSTONES, (k.ended, k.watermarks), args)
            if looked < PAGE:
                return
            at, idle = at + looked - dropped, idle + (dropped == 0)
