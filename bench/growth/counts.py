"""Commands and CPU of a Redis over a period of time.

calls    commands, including those of scripts (INFO commandstats), without those of this module
cpu_s    of the whole process, including I/O on sockets and the append-only file
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from redis.asyncio import Redis

from bench.processes import BenchFailed, cpu_s
from redis_ledger.app.embedded_redis.server import EmbeddedServer

OURS = ("cmdstat_info", "cmdstat_hello", "cmdstat_client|setinfo")


class Spent(NamedTuple):
    """commands: calls by name."""

    seconds: float
    cpu_s: float
    calls: int
    commands: Mapping[str, int]

    @property
    def calls_per_s(self) -> float:
        return self.calls / self.seconds


class Counts:
    """Counts of the Redis that is embedded with the data in `home`."""

    def __init__(self, home: Path, redis_pid: int) -> None:
        self._client = Redis.from_url(EmbeddedServer(home / "data", "process", {}).url, protocol=2)
        self._pid = redis_pid
        self._before: Mapping[str, int] = {}
        self._began_s = self._began_cpu_s = 0.0

    async def start(self) -> None:
        self._before = await self._commands()
        self._began_s, self._began_cpu_s = time.perf_counter(), self._cpu()

    async def stop(self) -> Spent:
        """Since `start`."""
        seconds, used_s = time.perf_counter() - self._began_s, self._cpu() - self._began_cpu_s
        after = await self._commands()
        grown = {name: calls - self._before.get(name, 0) for name, calls in after.items()}
        grown = {name: calls for name, calls in sorted(grown.items(), key=lambda each: -each[1]) if calls}
        return Spent(seconds, used_s, sum(grown.values()), grown)

    async def over(self, seconds: float) -> Spent:
        """Measures the next `seconds`."""
        await self.start()
        await asyncio.sleep(seconds)
        return await self.stop()

    async def close(self) -> None:
        await self._client.aclose()

    def _cpu(self) -> float:
        used = cpu_s(self._pid)
        if used is None:
            raise BenchFailed("The CPU time of a process is not available on this machine.")
        return used

    async def _commands(self) -> dict[str, int]:
        stats = await self._client.info("commandstats")
        return {name.removeprefix("cmdstat_"): row["calls"] for name, row in stats.items() if name not in OURS}
