"""The Spark demo's processes: a broker with a home for offloaded records, and the driver that is to be killed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from redis_ledger.app.tools.demo.processes import DemoFailed, Process

JSON_BYTES_MAX = 1 << 20
START_S_MAX = 180.0  # of a Spark, on a machine that does other things too


class Speaking(Process):
    """A process that says lines of JSON on stdout, among whatever Spark says there."""

    async def lines(self) -> AsyncIterator[dict[str, Any]]:
        """Until it ends."""
        assert self._process is not None
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            if line.startswith(b"{"):
                yield json.loads(line)

    async def say(self, command: str) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with contextlib.suppress(ConnectionError):  # it was just killed
            self._process.stdin.write(f"{command}\n".encode())
            await self._process.stdin.drain()

    async def last_line(self, within_s: float) -> dict[str, Any]:
        """Raises DemoFailed if it says nothing, or not in time."""
        said: dict[str, Any] | None = None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                async for line in self.lines():
                    said = line
        if said is None:
            raise DemoFailed(f"{self.name} did not finish; its log is {self.log}.")
        return said

    async def _end(self, number: signal.Signals) -> None:
        """With all it has started: Spark's Java is a process of its own."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
            await self._process.wait()


def broker(data_dir: Path, offload_home: Path, port: int, logs: Path) -> Process:
    arguments = ["serve", "--data-dir", str(data_dir), "--http", f"127.0.0.1:{port}", "--durability", "disk"]
    arguments += ["--kafka", "off", "--offload-home", str(offload_home)]
    return Process("broker", "redis_ledger.app.cli.main", [*arguments, "--exit-with-stdin"], logs)


def driver(arguments: Sequence[str], logs: Path) -> Speaking:
    return Speaking("driver", "redis_ledger.app.tools.demo_spark.driver", arguments, logs)
