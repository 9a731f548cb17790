"""A broker as a process of its own: `redis-ledger serve` with its embedded Redis, in a folder that goes away.

    async with running({"kafka_frame_ms": "2000"}) as broker:
        broker.kafka, broker.http, broker.rss_mb()

Whatever happens, it is stopped by its own process ids.  What it says on stderr is in `broker.log`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from types import MappingProxyType

from redis_ledger.app.embedded_redis.server import running_pid

ROOT = Path(__file__).resolve().parents[2]
HOST = "127.0.0.1"
READY_S_MAX = 60.0
ADDRESS_BYTES_MAX = 4 << 30  # of the broker: a bomb that goes off must not take the machine with it
DRAIN_S_MAX = 40.0


class Broker:
    """http and kafka: (host, port), once it is ready."""

    def __init__(self, home: Path) -> None:
        self.home, self.log = home, home / "log"
        self.http: tuple[str, int] = (HOST, 0)
        self.kafka: tuple[str, int] = (HOST, 0)
        self._process: asyncio.subprocess.Process | None = None

    async def start(self, settings: Mapping[str, str], advertised: str | None) -> None:
        serve = [sys.executable, "-m", "redis_ledger.app.cli.main", "serve", "--data-dir", str(self.home / "data")]
        serve += ["--http", f"{HOST}:0", "--kafka", f"{HOST}:0", "--durability", "process", "--log-level", "warning"]
        serve += [] if advertised is None else ["--kafka-advertised", advertised]
        serve += [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
        pipe = asyncio.subprocess.PIPE
        with self.log.open("ab") as log:
            # It ends with its stdin, so that not even a kill -9 of the fuzzer leaves it behind.
            self._process = await asyncio.create_subprocess_exec(
                *serve, "--exit-with-stdin", stdin=pipe, stdout=pipe, stderr=log, cwd=ROOT, env=environment(),
                start_new_session=True,
            )  # fmt: skip
        assert self._process.stdout is not None
        async with asyncio.timeout(READY_S_MAX):
            line = (await self._process.stdout.readline()).decode()
        words = dict(word.partition("=")[::2] for word in line.split())
        assert "kafka" in words, f"the broker did not start: {self.log.read_text()[-2000:]}"
        if sys.platform == "linux":
            resource.prlimit(self.pid, resource.RLIMIT_AS, (ADDRESS_BYTES_MAX, ADDRESS_BYTES_MAX))
        self.http, self.kafka = address(words["http"].removeprefix("http://")), address(words["kafka"])

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        assert self._process is not None
        return self._process.returncode

    def rss_mb(self, field: str = "VmRSS") -> float:
        """Resident memory in MB now, or with VmHWM at its highest; 0 where there is no /proc, or no process."""
        try:
            lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        except OSError:
            return 0.0
        return next((int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(f"{field}:")), 0.0)

    async def drain(self, within_s: float = DRAIN_S_MAX) -> int | None:
        """SIGTERM; the exit code, or None if it has not ended in time: then it is killed."""
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(within_s):
                return await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
            return None

    async def end(self) -> None:
        if self._process is not None and self._process.returncode is None:
            await self.drain()
        if (redis := running_pid(self.home / "data")) is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(redis, signal.SIGKILL)


@contextlib.asynccontextmanager
async def running(
    settings: Mapping[str, str] = MappingProxyType({}), advertised: str | None = None
) -> AsyncIterator[Broker]:
    home = Path(tempfile.mkdtemp(prefix="redis-ledger-fuzz-"))
    broker = Broker(home)
    try:
        await broker.start(settings, advertised)
        yield broker
    finally:
        await broker.end()
        shutil.rmtree(home, ignore_errors=True)


def address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)


def environment() -> dict[str, str]:
    """Ours without the settings of a broker."""
    keep = ("REDIS_LEDGER_SERVER_BIN",)
    return {name: value for name, value in os.environ.items() if not name.startswith("REDIS_LEDGER_") or name in keep}
