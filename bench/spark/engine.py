"""Spark as a separate process, driven by lines of JSON; and the CPU of each process.

spark.py ─ driver.py ─ java ─ pyspark.daemon ─ worker, worker      broker        Redis
           └ driver ┘  jvm    └────── executors ────────┘
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bench.processes import PROC, ROOT, BenchFailed, RunningBroker

READY_S_MAX = 120.0
END_S_MAX = 20.0
LINE_BYTES_MAX = 16 << 20
REST_WINDOW_S, REST_CPU_S, REST_S_MAX = 0.5, 0.05, 40.0
ROLES = ("executors", "jvm", "driver", "broker", "redis")


class Seen(NamedTuple):
    """A process.  cpu_s: its own, and of its ended children."""

    parent: int
    command: str
    cpu_s: float


class Engine:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.pid = process.pid

    async def ask(self, step: str, **values: Any) -> dict[str, Any]:
        """Raises BenchFailed with Spark's error."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"step": step, **values}).encode() + b"\n")
        await self._process.stdin.drain()
        answer = await self._line()
        if "failed" in answer:
            raise BenchFailed(f"Spark's step {step} failed: {answer['failed']}")
        return answer

    async def _line(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line:
            raise BenchFailed("Spark ended; its message is above.")
        answer: dict[str, Any] = json.loads(line)
        return answer

    async def end(self) -> None:
        """Closes its input, on which it ends together with its JVM."""
        if self._process.returncode is not None:
            return
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            async with asyncio.timeout(END_S_MAX):
                await self._process.wait()
        except TimeoutError:
            for pid in reversed(family(self.pid, processes())):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, 9)
            await self._process.wait()


@contextlib.asynccontextmanager
async def spark() -> AsyncIterator[Engine]:
    command = (str(ROOT / "scripts" / "spark.py"), "run", "-m", "bench.spark.driver")
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, *command, stdin=pipe, stdout=pipe, cwd=ROOT, limit=LINE_BYTES_MAX
    )
    engine = Engine(process)
    try:
        async with asyncio.timeout(READY_S_MAX):
            await engine._line()
        yield engine
    finally:
        await engine.end()


# -- CPU by role -------------------------------------------------------------------------------------------------------


class Costs:
    """CPU seconds by role, since `start`.  A child in which Redis rewrites its file counts as Redis."""

    def __init__(self, engine: Engine, served: RunningBroker) -> None:
        self._engine, self._served = engine, served
        self.start()

    def start(self) -> None:
        self._began = self._now()

    async def rest(self) -> None:
        """Waits until broker and Redis are idle, for example after rewriting a file; not forever."""
        until_s = time.monotonic() + REST_S_MAX
        while time.monotonic() < until_s:
            before = self._now()
            await asyncio.sleep(REST_WINDOW_S)
            now = self._now()
            if sum(now[role] - before[role] for role in ("broker", "redis")) < REST_CPU_S:
                return

    def used(self) -> dict[str, float]:
        return {role: seconds - self._began[role] for role, seconds in self._now().items()}

    def _now(self) -> dict[str, float]:
        return by_role(processes(), self._engine.pid, self._served.broker_pid, self._served.redis_pid)


def by_role(seen: Mapping[int, Seen], spark_pid: int, broker_pid: int, redis_pid: int) -> dict[str, float]:
    """Returns the CPU seconds of each of ROLES."""
    seconds = dict.fromkeys(ROLES, 0.0)
    redis = set(family(redis_pid, seen))
    for pid in family(spark_pid, seen):
        if seen[pid].command == "java":
            role = "jvm"
        elif any(seen[above].command == "java" for above in ancestors(pid, seen)):
            role = "executors"
        else:
            role = "driver"
        seconds[role] += seen[pid].cpu_s
    seconds["redis"] = sum(seen[pid].cpu_s for pid in redis)
    seconds["broker"] = sum(seen[pid].cpu_s for pid in family(broker_pid, seen) if pid not in redis)
    return seconds


def family(pid: int, seen: Mapping[int, Seen]) -> list[int]:
    """Returns the process and its descendants, parents first."""
    children: dict[int, list[int]] = {}
    for number, each in seen.items():
        children.setdefault(each.parent, []).append(number)
    found = [pid] if pid in seen else []
    for member in found:
        found += children.get(member, [])
    return found


def ancestors(pid: int, seen: Mapping[int, Seen]) -> list[int]:
    found: list[int] = []
    while (parent := seen[pid].parent) in seen:
        found.append(parent)
        pid = parent
    return found


def processes() -> dict[int, Seen]:
    found = {}
    ticks = os.sysconf("SC_CLK_TCK")
    for folder in PROC.iterdir():
        if folder.name.isdigit() and (each := _seen(folder, ticks)) is not None:
            found[int(folder.name)] = each
    return found


def _seen(folder: Path, ticks: int) -> Seen | None:
    try:
        stat = (folder / "stat").read_text()
    except OSError:
        return None  # it has ended
    before, _, after = stat.rpartition(")")  # the name in parentheses may contain spaces
    fields = after.split()
    return Seen(int(fields[1]), before.partition("(")[2], sum(map(int, fields[11:15])) / ticks)
