"""Retention of one partition: seals ledgers, moves the log start, drops payload.

    log     .............|-----------------------------------|    an entry goes when it is below the start
                         ^ start             ^ offloaded     ^ next
    ledger  1 sealed | 2 sealed | 3 sealed | 4 sealed | 5 active
            goes       is cut     goes       stays      stays      payload goes below the start, and below offloaded

The log start moves first, then the log is trimmed, then the payload, so a late reader gets "trimmed", never damage.
Every step may be repeated, and run by several brokers at once.

A ledger is dropped as a whole, in the background; the ledger with the log start is cut.  With a limit in bytes a ledger
holds a share of it, so that most payload is dropped in whole ledgers.  All of this works while Redis is at maxmemory.

Source: Pulsar "managed ledger trimming" and "message retention"; Kafka retention.ms and retention.bytes; KIP-107.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import unquote

from redis_ledger.config import Config
from redis_ledger.errors import UnknownTopic
from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.script_status import Status
from redis_ledger.store.scripts import Script
from redis_ledger.store.store import Store

ROLL = Script.load("ledger/roll")
TRIM = Script.load("ledger/trim")
DROP = Script.load("ledger/drop")

CUT = Script.load("ledger/cut")
ROTATE = Script.load("delay/rotate")

DROPS_MAX = 64  # ledgers dropped at once
CUTS_MAX = 10_000  # entries removed by one call
SHARES = 8  # of retention_bytes: a ledger holds one
LEDGER_BYTES_MIN = 1 << 20  # no share is smaller


def ledger_bytes_max(config: Config) -> int:
    """The payload bytes at which a ledger is sealed."""
    if config.retention_bytes < 0:
        return config.ledger_bytes_max
    return min(config.ledger_bytes_max, max(config.retention_bytes // SHARES, LEDGER_BYTES_MIN))


class OpenLedger(NamedTuple):
    """An open ledger at one moment.  size: of its payload in bytes.  max_offset: -1 if the log has no entry of it.
    unlogged: scheduled entries that are not in the log yet."""

    number: int
    entries: int
    size: int
    max_offset: int
    unlogged: int
    created_ms: int

    @classmethod
    def parse(cls, number: int, row: bytes) -> OpenLedger:
        issued, deleted, _, max_offset, unlogged, size, created_ms = map(int, row.split())
        return cls(number, issued - deleted, size, max_offset, unlogged, created_ms)

    def is_due(self, start_offset: int, now_ms: int, config: Config) -> bool:
        """True if it has to be sealed: it is full, old, or trimmed as a whole.  Never for an empty ledger, nor for one
        with scheduled records that are not due: it could not be dropped."""
        if self.entries == 0 or self.unlogged > 0:
            return False
        is_full = self.size >= ledger_bytes_max(config)
        is_old = now_ms - self.created_ms >= config.ledger_age_ms_max
        return is_full or is_old or self.max_offset < start_offset


class Trimmed(NamedTuple):
    """The new log start, and the numbers of removed log entries, ledgers and payload bytes."""

    start_offset: int
    entries: int
    ledgers: int
    bytes: int


class Retention:
    def __init__(self, store: Store, keys: PartitionKeys, topic: str, topic_id: str) -> None:
        self._store, self._keys, self._topic, self._topic_id = store, keys, topic, topic_id

    async def open_ledgers(self) -> tuple[int, OpenLedger, OpenLedger | None]:
        """The log start; the active ledger; the delay ledger, None if no record was ever scheduled.
        Raises UnknownTopic."""
        k, command = self._keys, self._store.command
        while True:
            (topic_id, active, start), delayed = await asyncio.gather(
                command("HMGET", k.state, "topic_id", "ledger", "start", key=k.state),
                command("HGET", k.delay.state, "ledger", key=k.state),
            )
            if topic_id is None or topic_id.decode() != self._topic_id:
                raise self._unknown()
            rows = await command("HMGET", k.ledgers, active, delayed or "", key=k.state)
            if rows[0] and (rows[1] or not delayed):  # else it was sealed and dropped between the reads
                late = OpenLedger.parse(int(delayed), rows[1]) if delayed else None
                return int(start), OpenLedger.parse(int(active), rows[0]), late

    async def roll(self, ledger: int, now_ms: int) -> int:
        """Seals the ledger if it is active.  Returns the number of the active ledger."""
        k = self._keys
        keys = (k.state, k.ledgers, k.log, k.data(ledger + 1))
        reply = await self._store.call(ROLL, keys, (self._topic_id, ledger, now_ms))
        if reply[0] != Status.OK:
            raise self._unknown()
        return int(reply[1])

    async def rotate(self, ledger: int, now_ms: int) -> int:
        """Seals the delay ledger if it is open.  Returns the number of the open one."""
        k = self._keys
        keys = (k.state, k.ledgers, k.delay.state, k.delay.open, k.delay.closing, k.data(ledger - 1))
        reply = await self._store.call(ROTATE, keys, (self._topic_id, ledger, now_ms, 0))
        if reply[0] != Status.OK:
            raise self._unknown()
        return int(reply[1])

    async def trim(
        self,
        *,
        before_ms: int,
        bytes_max: int,
        below_offset: int,
        acknowledged: bool,
        leftovers: Mapping[str, str],
        entries_max: int,
    ) -> Trimmed:
        k, subs, named = self._keys, list[bytes](), list[str | bytes]()
        while True:
            args = (self._topic_id, before_ms, bytes_max, below_offset, entries_max, int(acknowledged), *named)
            reply = await self._store.call(TRIM, (k.state, k.ledgers, k.log, k.aborted, k.subs, k.sidecar, *subs), args)
            if reply[0] != Status.STALE:
                break
            names = [name.decode() for name in reply[1:]]
            subs = [k.sub(unquote(name)).cursor for name in names]
            named = [each for name in names for each in (name, leftovers.get(name, ""))]
        if reply[0] != Status.OK:
            raise self._unknown()
        ledgers = [int(ledger) for ledger in reply[4:]]
        sizes = list[int]()
        for at in range(0, len(ledgers), DROPS_MAX):
            sizes += await asyncio.gather(*map(self._drop, ledgers[at : at + DROPS_MAX]))
        if reply[3]:
            await self._cut(int(reply[3]))
        gone = [size for size in sizes if size >= 0]
        return Trimmed(int(reply[1]), int(reply[2]), len(gone), sum(gone))

    async def _drop(self, ledger: int) -> int:
        """The bytes of its payload; -1 if another call dropped it."""
        k = self._keys
        reply = await self._store.call(DROP, (k.state, k.ledgers, k.data(ledger)), (self._topic_id, ledger))
        return int(reply[2]) if reply[0] == Status.OK and reply[1] else -1

    async def _cut(self, ledger: int) -> None:
        k = self._keys
        keys, args = (k.state, k.ledgers, k.log, k.data(ledger)), (self._topic_id, ledger, CUTS_MAX)
        while True:
            reply = await self._store.call(CUT, keys, args)
            if reply[0] != Status.OK or 2 * reply[1] < CUTS_MAX:
                return

    def _unknown(self) -> UnknownTopic:
        return UnknownTopic.gone(self._topic)
