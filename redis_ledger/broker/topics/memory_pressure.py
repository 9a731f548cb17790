"""Memory pressure: while Redis is nearly full, retention trims at once.

    used_memory / maxmemory   0 ────────────────── 0.85 ──────── 1.0
                              │ every half minute  │ every second or two, trimming only
                                                   │             │ appends are refused until memory is free

A producer may fill the remaining memory between two turns.  Its appends are then refused with a retriable error.
Trimming works in a full Redis, so retention makes room for them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from redis_ledger.store.admission import LOOK_EVERY_S
from redis_ledger.telemetry.logs import RateLimitedLog

NEARLY_FULL = 0.85
PAUSE_S = 1.0
REST = 4  # pause, in multiples of the last turn: a broker of thousands of partitions has other work too


class MemoryPressure:
    """fullness: used share of maxmemory, of the fullest Redis.  relieve: trims every partition once."""

    def __init__(self, fullness: Callable[[], float], relieve: Callable[[], Awaitable[None]]) -> None:
        self._fullness, self._relieve = fullness, relieve
        self._limited_log = RateLimitedLog(every_s=30.0)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._watch())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            if self._fullness() < NEARLY_FULL:
                continue
            began = loop.time()
            try:
                await self._relieve()
            except Exception as error:  # noqa: BLE001 - a turn that fails must not be the last one
                self._limited_log.failed("Redis is nearly full, and partitions could not be trimmed", error)
            await asyncio.sleep(max(PAUSE_S, REST * (loop.time() - began)))
