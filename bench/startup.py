"""How much CPU time does a process need before it is useful?

    serve   `redis-ledger serve` on a Redis that runs already, until it prints that it is ready
    help    `redis-ledger --help`

User and system time of the process, median of several starts after one that does not count, which compiles modules and
prepares the Lua scripts.  Wall time would measure what else runs on the machine.  The Redis is a process of its own and
not counted.
"""

from __future__ import annotations

import asyncio
import resource
import statistics
import subprocess
import sys

from bench.lab import Lab
from bench.processes import ROOT, Server, broker, cpu_s, environ, redis

SERVE_CPU_S_GOAL, HELP_CPU_S_GOAL = 0.7, 0.2
RUNS = 7
PROGRAM = "redis_ledger.app.entry"


async def measure(lab: Lab) -> None:
    runs = 1 if lab.pace.scale < 1 else RUNS
    async with redis("process") as server:
        await ready_cpu_s(server)
        ready = [await ready_cpu_s(server) for _ in range(runs)]
    if all(value is not None for value in ready):
        lab.note("serve", "ready_cpu_s", statistics.median(filter(None, ready)), "s", "process", SERVE_CPU_S_GOAL)
    await asyncio.to_thread(help_cpu_s)
    helped = [await asyncio.to_thread(help_cpu_s) for _ in range(runs)]
    lab.note("help", "cpu_s", statistics.median(helped), "s", "process", HELP_CPU_S_GOAL)


async def ready_cpu_s(server: Server) -> float | None:
    """Returns what the process used until it was ready; None where /proc does not have it."""
    async with broker("process", kafka=True, external=server, program=PROGRAM) as served:
        return cpu_s(served.broker_pid)


def help_cpu_s() -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", PROGRAM, "--help"]
    subprocess.run(command, check=True, cwd=ROOT, env=environ(), stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
