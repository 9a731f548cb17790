"""Catalog tables that every broker caches in memory: ACLs, quotas, tokens, dead-letter rules, batched writes.

    {catalog}:<table>  rows of opaque text      {catalog}:state  <version>: changes with every change of a row

A change is one script and takes effect at once on the broker that makes it.  The others read the version every
REFRESH_S, and the tables if it has changed.  The version is random: after a failover that lost the last change, a
counter would repeat with other rows.  Without Redis, the cached copy stays in effect.
Source: KIP-11 (rules are kept by the cluster, and cached by each broker).
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from redis_ledger.errors import LedgerError
from redis_ledger.store.keys import CatalogKeys
from redis_ledger.store.scripts import Script
from redis_ledger.store.store import Store
from redis_ledger.telemetry.logs import get

UPDATE_ROWS = Script.load("broker/update_rows")
ROWS_AT_ONCE = 1_000  # that one call writes
REFRESH_S = 0.8  # so that a change takes effect on every broker within a second
CAUGHT_UP_S = 0.1
STALE = "shared metadata cannot be read; the cached copy stays in effect"

Row = tuple[bytes, bytes]  # field and row
_log = get()


class MetadataCache:
    """Calls `take` with the rows of each table, in the order of `tables`, whenever they have changed.

    look: called every REFRESH_S
    """

    def __init__(
        self,
        store: Store,
        version: str,
        tables: Sequence[bytes],
        take: Callable[[Sequence[Sequence[Row]]], None],
        *,
        look: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._store, self._state = store, CatalogKeys(store.prefix).state
        self._name, self._tables, self._take = version, tables, take
        self._look = look
        self._version: bytes | None = b""  # of the cached copy; None: nothing was ever written
        self._reading = asyncio.Lock()  # so that an older read does not replace a newer one
        self._caught_up_s, self._catching_up = -CAUGHT_UP_S, asyncio.Lock()
        self._watch: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Reads the tables, and starts to refresh them."""
        await self.refresh()
        self._watch = asyncio.get_running_loop().create_task(self._keep_fresh(), name=self._name)

    async def close(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)

    async def write(self, table: bytes, rows: Mapping[str, str]) -> int:
        """Sets rows, and deletes rows whose text is ""; returns how many changed."""
        if not rows:
            return 0
        changed, pairs = 0, list(rows.items())
        for first in range(0, len(pairs), ROWS_AT_ONCE):
            flat = [text for row in pairs[first : first + ROWS_AT_ONCE] for text in row]
            reply = await self._store.call(UPDATE_ROWS, (table, self._state), (self._name, os.urandom(8).hex(), *flat))
            changed += int(reply[1])
        await self.refresh()
        return changed

    async def refresh(self) -> None:
        """Reads the tables if they have changed."""
        async with self._reading:
            version = await self._store.command("HGET", self._state, self._name, key=self._state)
            if version == self._version:
                return
            found = []
            for key in self._tables:
                flat: list[Any] = await self._store.command("HGETALL", key, key=key)
                found.append(list(zip(flat[::2], flat[1::2], strict=True)))
            self._take(found)
            self._version = version  # if it has changed since, the next refresh reads the tables again

    async def catch_up(self) -> None:
        """Refreshes for a caller that misses a row, at most every CAUGHT_UP_S.  Does not raise."""
        async with self._catching_up:
            if time.monotonic() - self._caught_up_s >= CAUGHT_UP_S:
                await self._try(self.refresh)
                self._caught_up_s = time.monotonic()

    async def _keep_fresh(self) -> None:
        while True:
            await asyncio.sleep(REFRESH_S)
            if self._look is not None:
                await self._try(self._look)
            await self._try(self.refresh)

    async def _try(self, act: Callable[[], Awaitable[None]]) -> None:
        try:
            await act()
        except LedgerError as error:
            _log.warning(STALE, table=self._name, reason=error.detail)
        except Exception:  # noqa: BLE001 - one malformed row must not stop the refresh
            _log.exception(STALE, table=self._name)
