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
from typing import NamedTuple, Self

from redis_ledger.app.embedded_redis import probe
from redis_ledger.telemetry.logs import RateLimitedLog

FILE_BYTES_MIN = 2**30
FILE_BYTES_FACTOR = 3
BUSY = ("loading", "aof_rewrite_in_progress", "aof_rewrite_scheduled")
LOOK_EVERY_S = 2.0
PAUSE_S = 10.0  # after the start of a rewrite, or without an answer


class Footprint(NamedTuple):
    """Bytes of the append-only file, and of keys and values in memory.  is_busy: the server loads or rewrites."""

    file_bytes: int
    data_bytes: int
    is_busy: bool = False

    @classmethod
    def of(cls, info: Mapping[str, str]) -> Self:
        """info: the sections `persistence` and `memory` of INFO.  A file that is switched off has no size."""
        is_busy = any(info.get(name, "0") != "0" for name in BUSY)
        return cls(int(info.get("aof_current_size", 0)), int(info.get("used_memory_dataset", 0)), is_busy)


def is_due(now: Footprint) -> bool:
    return not now.is_busy and now.file_bytes >= max(FILE_BYTES_MIN, FILE_BYTES_FACTOR * now.data_bytes)


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
                if await asyncio.to_thread(self.look):
                    await asyncio.sleep(PAUSE_S)
            except OSError:
                await asyncio.sleep(PAUSE_S)  # the watcher reports a server that is down

    def look(self) -> bool:
        """Starts a rewrite if it is due, and returns whether it was.  Raises OSError.  Blocks."""
        socket = self._socket()
        if not is_due(Footprint.of(probe.info(socket, "persistence", "memory"))):
            return False
        reply = probe.ask(socket, "BGREWRITEAOF")
        if not reply.startswith(b"+") and b"already in progress" not in reply:
            self._limited_log.warning(
                "the append-only file could not be rewritten", error=reply.decode(errors="replace").strip()
            )
        return True
