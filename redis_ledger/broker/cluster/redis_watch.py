"""Checks Redis twice a second: its cluster id, its settings, and whether it was restarted or replaced.

    a node was restarted or replaced ──▶ every tail cache is cleared: its contents may not have been persisted
                                     ──▶ rollbacks.py compares the node with what was answered, before the next call

store/admission.py decides about nodes that are not fit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from redis_ledger.ledger.catalog import Catalog
from redis_ledger.store.admission import LOOK_EVERY_S, Admission
from redis_ledger.telemetry.logs import RateLimitedLog


class RedisWatch:
    """raise_counters: called after each check."""

    def __init__(self, admission: Admission, catalog: Catalog, raise_counters: Callable[[], Awaitable[None]]) -> None:
        self._admission, self._catalog, self._raise_counters = admission, catalog, raise_counters
        self._limited_log = RateLimitedLog(every_s=10.0)
        self._task: asyncio.Task[None] | None = None
        admission.on_changed.append(self._changed)

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._check())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _check(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            try:
                await self._admission.look()
                await self._raise_counters()
            except Exception as error:  # noqa: BLE001 - the next check must still run
                self._limited_log.failed("Redis could not be checked", error)

    def _changed(self) -> None:
        for partition in self._catalog.opened_partitions():
            partition.tail.clear()
            partition.reader.ahead.forget()
