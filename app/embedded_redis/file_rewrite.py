"""Rewrites the append-only file of the embedded server when most of it describes deleted data.

Redis's own rule compares the file with its size after the last rewrite.  A log that only grows is then rewritten at
every tripling, although there is nothing to leave out, and just when producers write most.  Here the file is compared
with the data in memory.  So a growing log is never rewritten, the file has at most three times the size of the data
(plus a gigabyte), and a rewrite comes after a deletion or a trim, when little is left to write.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

from redis.asyncio import Redis
from redis.exceptions import RedisError

from redis_ledger.telemetry import logs
from redis_ledger.telemetry.logs import RateLimitedLog

_log = logs.get()

FILE_BYTES_MIN = 2**30
FILE_BYTES_FACTOR = 3
LOOK_EVERY_S = 2.0
PAUSE_S = 10.0  # after the start of a rewrite
ANSWER_S_MAX = 5.0


class Footprint(NamedTuple):
    """file_bytes: of the append-only file.  data_bytes: of keys and values in memory."""

    file_bytes: int
    data_bytes: int
    is_rewriting: bool = False

    @classmethod
    def of(cls, info: Mapping[str, Any]) -> Self:
        """info: the reply to INFO.  A file that is switched off has no size."""
        return cls(
            file_bytes=int(info.get("aof_current_size", 0)),
            data_bytes=int(info["used_memory_dataset"]),
            is_rewriting=bool(info["aof_rewrite_in_progress"] or info["aof_rewrite_scheduled"]),
        )


def is_due(now: Footprint) -> bool:
    return not now.is_rewriting and now.file_bytes >= max(FILE_BYTES_MIN, FILE_BYTES_FACTOR * now.data_bytes)


class FileRewrite:
    """Several brokers of a directory may look at once, since Redis runs one rewrite at a time.

    socket: returns the path of the server's socket, which may change when the server is restarted.
    """

    def __init__(self, socket: Callable[[], Path]) -> None:
        self._socket = socket
        self._limited_log = RateLimitedLog(every_s=600.0)

    async def run(self) -> None:
        """Looks regularly, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            try:
                if await self.look():
                    await asyncio.sleep(PAUSE_S)
            except (RedisError, OSError) as error:
                # A server that is down or loading, which its watcher reports; or it has no memory to fork.
                self._limited_log.warning("the append-only file could not be rewritten", error=str(error))
                await asyncio.sleep(PAUSE_S)

    async def look(self) -> bool:
        """Starts a rewrite if it is due, and returns whether it did.  Raises RedisError, OSError."""
        async with Redis(
            unix_socket_path=str(self._socket()), socket_timeout=ANSWER_S_MAX, socket_connect_timeout=ANSWER_S_MAX
        ) as server:
            now = Footprint.of({**await server.info("persistence"), **await server.info("memory")})
            if is_due(now):
                await server.bgrewriteaof()
                _log.debug("append-only file is rewritten", file_bytes=now.file_bytes, data_bytes=now.data_bytes)
            return is_due(now)
