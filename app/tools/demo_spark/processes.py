"""The processes of the Spark demo: a broker with an offload home, and the driver."""

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
START_S_MAX = 180.0  # start of Spark on a busy machine


class JsonLinesProcess(Process):
    """A process that prints lines of JSON between Spark's output."""

    async def lines(self) -> AsyncIterator[dict[str, Any]]:
        """Yields the JSON lines until the process exits."""
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
        """Returns the last JSON line.  Raises DemoFailed if there is none in time."""
        said: dict[str, Any] | None = None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                async for line in self.lines():
                    said = line
        if said is None:
            raise DemoFailed(f"{self.name} did not finish; its log is {self.log}.")
        return said

    async def _end(self, number: signal.Signals) -> None:
        """Ends the process group, because Spark runs Java as a child process."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
            await self._process.wait()


def broker(data_dir: Path, offload_home: Path, port: int, logs: Path) -> Process:
    arguments = ["serve", "--data-dir", str(data_dir), "--http", f"127.0.0.1:{port}", "--durability", "disk"]
    arguments += ["--kafka", "off", "--offload-home", str(offload_home)]
    return Process("broker", "redis_ledger.app.cli.main", [*arguments, "--exit-with-stdin"], logs)


def driver(arguments: Sequence[str], logs: Path) -> JsonLinesProcess:
    return JsonLinesProcess("driver", "redis_ledger.app.tools.demo_spark.driver", arguments, logs)
