"""The processes of the demo, which are started, killed and restarted."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Sequence
from pathlib import Path

from redis_ledger.app.embedded_redis.server import running_pid
from redis_ledger.app.process import python

READY_S_MAX = 30.0
END_S_MAX = 30.0
WORDS_MAX = 600


class DemoFailed(Exception):
    """The demo could not run; the message has the reason and the path of the logs."""


class Process:
    """A Python module run as a process.  Its stderr goes to a log; it exits at the end of stdin, so it cannot outlive
    the demo.
    """

    def __init__(self, name: str, module: str, arguments: Sequence[str], logs: Path) -> None:
        self.name = name
        self.log = logs / f"{name}.log"
        self._command = [*python.command(module), *arguments]
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        pipe = asyncio.subprocess.PIPE
        with self.log.open("ab") as log:
            # Its own session: otherwise Ctrl-C would reach it too, and the SIGTERM of `stop` would be the
            # second signal, at which a broker exits immediately and leaves its Redis server running.
            self._process = await asyncio.create_subprocess_exec(
                *self._command, stdin=pipe, stdout=pipe, stderr=log, env=python.environ(), start_new_session=True
            )

    async def first_line(self) -> str:
        """The first line of stdout.  Raises DemoFailed if the process exits or prints nothing in time."""
        assert self._process is not None
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(READY_S_MAX):
                line = (await self._process.stdout.readline()).decode()
        except TimeoutError:
            line = ""
        if not line:
            raise DemoFailed(f"The {self.name} process did not respond: {self._last_words()} (Its log is {self.log}.)")
        return line

    def _last_words(self) -> str:
        """The last line of its log, with the reason for its exit."""
        try:
            lines = self.log.read_text(errors="replace").split("\n")
        except OSError as error:
            return str(error)
        said = next((line.strip() for line in reversed(lines) if line.strip()), "it logged nothing.")
        return said.removeprefix("redis-ledger: ")[:WORDS_MAX]

    async def kill(self) -> None:
        """kill -9."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        """Sends SIGTERM and waits."""
        try:
            async with asyncio.timeout(END_S_MAX):
                await self._end(signal.SIGTERM)
        except TimeoutError:
            await self._end(signal.SIGKILL)

    async def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)
            await self._process.wait()


def broker(data_dir: Path, port: int, logs: Path) -> Process:
    arguments = ["serve", "--data-dir", str(data_dir), "--http", f"127.0.0.1:{port}", "--durability", "disk"]
    arguments += ["--kafka", "off"]
    return Process("broker", "redis_ledger.app.cli.main", [*arguments, "--exit-with-stdin"], logs)


def worker(number: int, url: str, step_records: int, sabotage: str, logs: Path) -> Process:
    name = f"worker-{number}"
    arguments = ["--url", url, "--name", name, "--step-records", str(step_records), "--sabotage", sabotage]
    return Process(name, "redis_ledger.app.tools.demo.worker", arguments, logs)


def kill_redis(data_dir: Path) -> bool:
    """Kills the embedded server with SIGKILL.  False: it is not running."""
    if (pid := running_pid(data_dir)) is None:
        return False
    os.kill(pid, signal.SIGKILL)
    return True
