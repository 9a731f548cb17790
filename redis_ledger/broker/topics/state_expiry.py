"""What a partition remembers of producers and of ended transactions, and when it goes.

    producers    ▓▓▓▓░░░░░░░░░░░░░░░░░░  rows are looked at page by page; after five minutes the walk begins again
                     ^ where it stands   a row goes a day after its producer was heard last, or with its Idempotency-Key

    tombstones   ▓▓▓▓▓▓▓▓░░░░░░░░░░░░░░  in order of time: the oldest go, until none of a page goes
                 ^ oldest

Keyed produces leave a row each, so there may be millions.  A look costs the rows that it reads.  Beyond a million rows
in all partitions a walk takes longer, up to two hours: then what goes late is little beside what is to stay.  Where the
walk stands is not stored: another broker begins anew.
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
PAGE = 500  # rows read, or tombstones looked at, by one call
LAP_LOOKS, LAP_LOOKS_MAX = 10, 240  # a walk over all producers takes so many looks, at one every half minute
LOOK_ROWS = 100_000  # rows of all partitions together that are read in half a minute: less than 1 % of Redis
IDLE_PAGES = 20  # of tombstones, looked at though none of them goes


class _Walk(NamedTuple):
    """Over the producers of a partition.  next_ms: when the first of the rows that it has passed may go."""

    cursor: Any = b"0"
    next_ms: float = math.inf


class StateExpiry:
    def __init__(self, store: Store, config: Config, clock: Clock) -> None:
        self._store, self._config, self._clock = store, config, clock
        self._walks: dict[tuple[str, int], _Walk] = {}  # those that are not over
        self._rows: dict[tuple[str, int], int] = {}
        self._next_ms: dict[tuple[str, int], float] = {}

    def keep_only(self, partitions: set[tuple[str, int]]) -> None:
        """The others are gone."""
        self._walks = {at: walk for at, walk in self._walks.items() if at in partitions}
        self._rows = {at: rows for at, rows in self._rows.items() if at in partitions}
        self._next_ms = {at: ms for at, ms in self._next_ms.items() if at in partitions}

    def is_walking(self, topic_id: str, number: int) -> bool:
        """Whether the next look goes on behind the last one, however little has happened in the partition."""
        return (topic_id, number) in self._walks

    def next_ms(self, topic_id: str, number: int) -> float:
        """When the first of the producers goes that the last walk has passed, if nothing is heard of it until then."""
        return self._next_ms.get((topic_id, number), math.inf)

    async def look(self, partition: Partition) -> None:
        """Raises LedgerError.  Cost: 1/10 to 1/240 of the producers, and 500 of them at least."""
        await self._forget_producers(partition)
        await self._forget_tombstones(partition)

    async def _forget_producers(self, partition: Partition) -> None:
        """Those that have been silent for a day.  One of a request under an Idempotency-Key lives as long as the key: a
        repeated request finds in its window what was written."""
        k, now_ms = partition.keys, self._clock.now_ms()
        at = (partition.topic_id, partition.number)
        self._rows[at] = int(await self._store.command("HLEN", k.producers, key=k.state))
        left = self._share(self._rows[at])
        walk = self._walks.pop(at, _Walk())
        while True:
            cursor, rows = await self._store.command("HSCAN", k.producers, walk.cursor, "COUNT", PAGE, key=k.state)
            silent, next_ms = list[bytes](), walk.next_ms
            for pid, row in zip(rows[::2], rows[1::2], strict=True):
                until_ms = self._until_ms(int(pid), row) if row else math.inf
                if until_ms < now_ms:
                    silent += [pid, row]
                else:
                    next_ms = min(next_ms, until_ms)
            if silent:
                await self._store.call(FORGET_PRODUCERS, (k.producers, k.open), silent)
            walk, left = _Walk(cursor, next_ms), left - PAGE
            if cursor == b"0":
                self._next_ms[at] = next_ms
                return
            if left <= 0:
                self._walks[at] = walk
                return

    def _share(self, rows: int) -> int:
        """How many of a partition's rows a look reads."""
        looks = min(max(sum(self._rows.values()) // LOOK_ROWS, LAP_LOOKS), LAP_LOOKS_MAX)
        return max(PAGE, rows // looks)

    def _until_ms(self, producer_id: int, row: bytes) -> int:
        """Earlier releases took any producer id for a request under an Idempotency-Key."""
        _, last_ms, *rest = row.split(b" ", 3)
        keyed_ms = self._config.idempotency_key_ms
        if not is_keyed(producer_id):
            return int(last_ms) + max(PRODUCER_SILENT_MS, keyed_ms + KEY_SLACK_MS)
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
