"""Thresholds of batched writes, changed while brokers run.

    {catalog}:batchedwrites   transaction_log or pending_acks → JSON of what was changed
    {catalog}:state           "batchedwrites" → version

Each broker has a cached copy and follows a change within a second.  Coordinators and subscriptions get the thresholds
in force when they change, so an operation reads nothing.
Source: PIP-160 (configuration, which is static in Pulsar); requirements BW-11, BW-18.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast, get_args

import msgspec

from redis_ledger.broker.cluster.metadata_cache import MetadataCache, Row
from redis_ledger.config import Config
from redis_ledger.errors import InvalidRequest
from redis_ledger.store.keys import CatalogKeys
from redis_ledger.store.store import Store
from redis_ledger.store.stored_json import stored_json
from redis_ledger.telemetry.logs import get
from redis_ledger.txn.batched_write import (
    KINDS,
    PENDING_ACKS,
    BatchedWrite,
    BatchedWriteChange,
    LogKind,
    settings_of,
)

DEGENERATE = "batching is off, since a batch of one record is none; set max_records to 2 or more, or enabled to false"
_log = get()
_decode = stored_json(BatchedWriteChange, "The row of a batched log")


class BatchedWrites:
    """in_force: replaced on every change."""

    def __init__(
        self, store: Store, config: Config, apply: Mapping[LogKind, Callable[[BatchedWrite], None]] | None = None
    ) -> None:
        """apply: called with the thresholds of its log whenever they change; not needed to read and change rows."""
        self._key = CatalogKeys(store.prefix).batchedwrites
        self._cache = MetadataCache(store, "batchedwrites", (self._key,), self._take)
        self._settings, self._apply = settings_of(config), apply or {}
        self._changes: dict[LogKind, BatchedWriteChange] = {}
        self.in_force: dict[LogKind, BatchedWrite] = {}

    async def open(self) -> None:
        await self._cache.open()

    async def close(self) -> None:
        await self._cache.close()

    async def all(self) -> dict[LogKind, BatchedWrite]:
        """The thresholds in force."""
        await self._cache.refresh()
        return self.in_force

    async def change(self, log: str, wanted: Mapping[str, int | bool | None]) -> BatchedWrite:
        """Sets thresholds, or (None) returns to the setting of the broker; returns those in force.  Raises
        InvalidRequest."""
        kind = kind_of(log)
        if kind == PENDING_ACKS and wanted.get("max_delay_ms") is not None:
            raise InvalidRequest("pending_acks has no max_delay_ms: a client waits for each acknowledgement.")
        await self._cache.refresh()
        change = msgspec.structs.replace(self._changes.get(kind, BatchedWriteChange()), **wanted)
        row = "" if change == BatchedWriteChange() else msgspec.json.encode(change).decode()
        await self._cache.write(self._key, {kind: row})
        return self.in_force[kind]

    def _take(self, tables: Sequence[Sequence[Row]]) -> None:
        self._changes = {cast("LogKind", name.decode()): _decode(row) for name, row in tables[0]}
        unchanged, earlier = BatchedWriteChange(), self.in_force
        self.in_force = {kind: self._changes.get(kind, unchanged).of(own) for kind, own in self._settings.items()}
        for kind, batched in self.in_force.items():
            if batched == earlier.get(kind):
                continue
            if batched.enabled and not batched.is_batched:
                _log.warning(DEGENERATE, log=kind, max_records=batched.max_records)
            if (apply := self._apply.get(kind)) is not None:
                apply(batched)


def kind_of(log: str) -> LogKind:
    """Raises InvalidRequest."""
    if log not in get_args(LogKind):
        raise InvalidRequest(f"{log[:80]!r} is not a log with batched writes; there are {' and '.join(KINDS)}.")
    return cast("LogKind", log)
