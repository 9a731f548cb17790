"""Measured processes: a broker as `serve` starts it, and its embedded Redis.

Each has a new data directory in the temp folder (TMPDIR chooses the disk), so that no run reads data of another, or
waits for the rewrite of its append-only file.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from redis_ledger.app.embedded_redis.binary import find_server
from redis_ledger.app.embedded_redis.server import EmbeddedServer, running_pid
from redis_ledger.store.store import Store

Durability = Literal["process", "disk", "replicas"]
DURABILITIES: tuple[Durability, ...] = ("process", "disk")  # of most benches

ROOT = Path(__file__).resolve().parent.parent
READY_S_MAX = 30.0
DRAIN_S_MAX = 30.0
PROC = Path("/proc")
# Settings of an external Redis at durability `process`, as the embedded one has them.
REDIS_SETTINGS: dict[str, Any] = {"appendonly": "yes", "appendfsync": "no", "auto_aof_rewrite_percentage": "0"}


class BenchFailed(Exception):
    """The measurement failed, for the reason in the text."""


@dataclass(frozen=True)
class RunningBroker:
    """A running broker.  kafka_port: 0 if it does not listen for Kafka clients."""

    host: str
    port: int
    broker_pid: int
    redis_pid: int
    kafka_port: int = 0


@dataclass(frozen=True)
class Server:
    """A running Redis, and the folder that has its data."""

    url: str
    redis_pid: int
    home: Path


@contextlib.asynccontextmanager
async def broker(
    durability: Durability,
    *,
    kafka: bool = False,
    home: Path | None = None,
    external: Server | None = None,
    ready_s_max: float = READY_S_MAX,
    options: Sequence[str] = (),
    program: str = "redis_ledger.app.cli.main",
    root: Path = ROOT,
) -> AsyncIterator[RunningBroker]:
    """Starts a broker process with an embedded Redis, or on an external one; stops what it started at the end.

    home: an existing data folder; it is kept, and its Redis keeps running if another process uses it.
    options: further arguments of `serve`.  program: the module that has `serve`.  root: the source tree.
    """
    with contextlib.ExitStack() as stack:
        home = home or stack.enter_context(folder())
        command = ["-m", program, "serve", "--data-dir", str(home / "data"), "--http", "127.0.0.1:0"]
        command += ["--kafka", "127.0.0.1:0" if kafka else "off", "--durability", durability]
        command += [] if external is None else ["--redis", external.url]
        command += ["--log-level", "warning", "--exit-with-stdin", *options]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            sys.executable, *command, stdin=pipe, stdout=pipe, cwd=root, env=environ()
        )
        try:
            assert process.stdout is not None
            async with asyncio.timeout(ready_s_max):
                line = (await process.stdout.readline()).decode()
            if not line.startswith("ready "):
                raise BenchFailed("The broker did not start; its message is above.")
            addresses = dict(word.partition("=")[::2] for word in line.split()[1:])
            host, _, port = addresses["http"].rpartition("//")[2].rpartition(":")
            redis_pid = running_pid(home / "data") if external is None else external.redis_pid
            if redis_pid is None:
                raise BenchFailed("The embedded Redis is not running.")
            kafka_port = int(addresses["kafka"].rpartition(":")[2]) if kafka else 0
            yield RunningBroker(host, int(port), process.pid, redis_pid, kafka_port)
        finally:
            await _end(process)


@contextlib.asynccontextmanager
async def redis(durability: Durability) -> AsyncIterator[Server]:
    """Starts an embedded Redis alone, for benches inside this process."""
    assert durability != "replicas", "the embedded server has none"
    with folder() as home:
        held = await asyncio.to_thread(EmbeddedServer.attach, home / "data", durability, environ())
        try:
            pid = held.pid()
            assert pid is not None, "attach returns when the server is running"
            yield Server(held.url, pid, home)
        finally:
            await asyncio.to_thread(held.release)


@contextlib.asynccontextmanager
async def replicated(replicas: int) -> AsyncIterator[Server]:
    """A primary and its replicas, with the settings of durability `process`; the pid is the primary's."""
    program = str(find_server(environ()).path)
    with contextlib.ExitStack() as stack:
        homes = [stack.enter_context(folder()) for _ in range(replicas + 1)]
        running: list[asyncio.subprocess.Process] = []
        try:
            ports = [free_port() for _ in homes]
            for port, home in zip(ports, homes, strict=True):
                arguments = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(home), "--save", ""]
                arguments += ["--appendonly", "yes", "--appendfsync", "no", "--repl-diskless-sync-delay", "0"]
                if port != ports[0]:
                    arguments += ["--replicaof", "127.0.0.1", str(ports[0])]
                quiet = asyncio.subprocess.DEVNULL
                running.append(await asyncio.create_subprocess_exec(program, *arguments, stdout=quiet, stderr=quiet))
            await _in_step(f"redis://127.0.0.1:{ports[0]}", replicas)
            yield Server(f"redis://127.0.0.1:{ports[0]}", running[0].pid, homes[0])
        finally:
            for process in reversed(running):
                await _end(process)


async def _in_step(url: str, replicas: int) -> None:
    async with asyncio.timeout(READY_S_MAX):
        store = await Store.open(url)
        try:
            while (await store.command("WAIT", replicas, 100)) < replicas:
                await store.command("SET", "in step", "", key=b"in step")
            await store.command("DEL", "in step", key=b"in step")
        finally:
            await store.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):  # it may have ended already
        process.terminate()
    try:
        async with asyncio.timeout(DRAIN_S_MAX):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """A new folder, deleted at the end."""
    home = Path(tempfile.mkdtemp(prefix="redis-ledger-bench-"))
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def environ() -> dict[str, str]:
    """This environment without the settings of a broker, so that defaults are measured, and with bytecode, as an
    installation has it."""
    keep = ("REDIS_LEDGER_SERVER_BIN",)
    return {
        name: value
        for name, value in os.environ.items()
        if name != "PYTHONDONTWRITEBYTECODE" and (not name.startswith("REDIS_LEDGER_") or name in keep)
    }


# -- resources of a process --------------------------------------------------------------------------------------------


class Cpu:
    """Seconds of CPU of this process, a broker and a Redis since `start`; those that /proc does not have are left
    out."""

    def __init__(self, broker_pid: int | None, redis_pid: int | None) -> None:
        """broker_pid None: the broker runs in this process."""
        self._broker_pid, self._redis_pid = broker_pid, redis_pid
        self._began = self._now()

    def start(self) -> None:
        self._began = self._now()

    def used(self) -> dict[str, float]:
        return {name: value - self._began[name] for name, value in self._now().items() if name in self._began}

    def _now(self) -> dict[str, float]:
        found: dict[str, float | None] = {
            "client_cpu_s": None if self._broker_pid is None else time.process_time(),
            "broker_cpu_s": time.process_time() if self._broker_pid is None else cpu_s(self._broker_pid),
            "redis_cpu_s": None if self._redis_pid is None else cpu_s(self._redis_pid),
        }
        return {name: value for name, value in found.items() if value is not None}


def cpu_s(pid: int) -> float | None:
    """User and system time of a process with all its threads, in nanosecond resolution, without its children."""
    try:
        return time.clock_gettime((~pid << 3) | 2)  # the clock id that clock_getcpuclockid returns (Linux)
    except OSError:
        return None


def memory_mb(pid: int, field: Literal["VmRSS", "VmHWM"] = "VmRSS") -> float | None:
    """Resident memory now, or its maximum."""
    try:
        lines = (PROC / str(pid) / "status").read_text().splitlines()
    except OSError:
        return None
    kib = next((int(line.split()[1]) for line in lines if line.startswith(f"{field}:")), None)
    return None if kib is None else kib * 1024 / 1e6
