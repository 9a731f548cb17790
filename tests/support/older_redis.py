"""A Redis whose data goes back to an earlier state, under brokers that run."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from redis_ledger.broker.broker import Broker
from tests.support.broker import one
from tests.support.redis_servers import Server

KEEPS: dict[str, Any] = {"appendonly": "yes", "appendfsync": "always"}
FAST: dict[str, Any] = {"coordinators": 1, "redis_retry_ms": 5_000}


class Backup:
    """The append-only file as it is now, and the way back to it."""

    def __init__(self, server: Server) -> None:
        self._server, self._copy = server, server.folder / "copy"
        shutil.copytree(server.folder / "appendonlydir", self._copy)

    def restore(self) -> None:
        self._server.kill()
        shutil.rmtree(self._server.folder / "appendonlydir")
        shutil.copytree(self._copy, self._server.folder / "appendonlydir")
        self._server.start()


@asynccontextmanager
async def brokers(server: Server, prefix: str, count: int, **settings: Any) -> AsyncIterator[list[Broker]]:
    async with one(server.url, prefix, name=f"b{count}", **FAST, **settings) as broker:
        if count == 1:
            yield [broker]
            return
        async with brokers(server, prefix, count - 1, **settings) as others:
            yield [*others, broker]


async def holds(condition: Callable[[], bool], within_s: float = 20) -> None:
    async with asyncio.timeout(within_s):
        while not condition():
            await asyncio.sleep(0.01)
