"""What a partition remembers of producers and of ended transactions, and when it goes.

    producers    ▓▓▓▓░░░░░░░░░░░░░░░░░░  rows are looked at page by page; after two hours the walk begins again
                     ^ where it stands   so a row goes a day, and two hours at most, after its producer was heard last

    tombstones   ▓▓▓▓▓▓▓▓░░░░░░░░░░░░░░  in order of time: the oldest go, until none of a page goes
                 ^ oldest

Keyed produces leave a row each, so there may be millions.  A look costs the rows that it reads, and each row is read a
dozen times in its life.  Where the walk stands is not stored: another broker begins anew.
Source: Kafka producer.id.expiration.ms; transaction buffer RFC "low watermark".
"""

from __future__ import annotations

from typing import Any

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
LAP_LOOKS = 240  # a walk over all producers takes so many looks: two hours, at one every half minute
IDLE_PAGES = 20  # of tombstones, looked at though none of them goes


class Expiry:
    def __init__(self, store: Store, config: Config, clock: Clock) -> None:
        self._store, self._config, self._clock = store, config, clock
        self._walks: dict[tuple[str, int], Any] = {}  # of producers that are more than a page; where it stands

    def keep_only(self, partitions: set[tuple[str, int]]) -> None:
        """The others are gone."""
        self._walks = {at: cursor for at, cursor in self._walks.items() if at in partitions}

    def is_walking(self, topic_id: str, number: int) -> bool:
        """Whether the next look goes on behind the last one, however little has happened in the partition."""
        return (topic_id, number) in self._walks

    async def look(self, partition: Partition) -> None:
        """Raises LedgerError.  Cost: 1/240 of the producers, and 500 of them at least."""
        await self._forget_producers(partition)
        await self._forget_tombstones(partition)

    async def _forget_producers(self, partition: Partition) -> None:
        """Those that have been silent for a day.  One of a request under an Idempotency-Key lives as long as the key: a
        repeated request finds in its window what was written.  Earlier releases took any producer id for those."""
        keyed_ms = self._config.idempotency_key_ms + KEY_SLACK_MS
        k, now_ms = partition.keys, self._clock.now_ms()
        before, before_keyed = now_ms - max(PRODUCER_SILENT_MS, keyed_ms), now_ms - keyed_ms
        at = (partition.topic_id, partition.number)
        left = max(PAGE, int(await self._store.command("HLEN", k.producers, key=k.state)) // LAP_LOOKS)
        cursor: Any = self._walks.pop(at, b"0")
        while True:
            cursor, rows = await self._store.command("HSCAN", k.producers, cursor, "COUNT", PAGE, key=k.state)
            silent = []
            for pid, row in zip(rows[::2], rows[1::2], strict=True):
                if row and int(row.split(b" ")[1]) < (before_keyed if is_keyed(int(pid)) else before):
                    silent += [pid, row]
            if silent:
                await self._store.call(FORGET_PRODUCERS, (k.producers, k.open), silent)
            left -= PAGE
            if cursor == b"0":
                return
            if left <= 0:
                self._walks[at] = cursor
                return

    async def _forget_tombstones(self, partition: Partition) -> None:
        k, now_ms = partition.keys, self._clock.now_ms()
        at = idle = 0
        while idle < IDLE_PAGES:
            args = (now_ms, self._config.tombstone_ms, at, PAGE)
            _, looked, dropped = await self._store.call(FORGET_TOMBSTONES, (k.ended, k.watermarks), args)
            if looked < PAGE:
                return
            at, idle = at + looked - dropped, idle + (dropped == 0)
