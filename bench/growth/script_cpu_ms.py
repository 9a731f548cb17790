"""How long can one script block Redis?

    largest input that the API accepts ─▶ the product's own calls ─▶ SLOWLOG of Redis ─▶ the longest run of each script

Redis is single-threaded: while a script runs, all other clients of the node wait.  So no script may run for more than
GOAL_MS, however much a client sends or has stored.  Each case in `INPUTS` brings scripts to their largest input through
the broker's own code; a script of lua/ without a case fails the bench.  The time is that which Redis measures for the
call.  Where the machine permits, Redis has priority over all other processes; elsewhere the time includes theirs.  So a
case above the goal is repeated, ATTEMPTS times in total, and the least counts.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from bench.growth import (
    inputs_cursors,
    inputs_delays,
    inputs_fsck,
    inputs_partitions,
    inputs_sidecar,
    inputs_snapshots,
    inputs_transactions,
)
from bench.lab import Lab
from bench.processes import BenchFailed, redis
from redis_ledger.broker.broker import Broker
from redis_ledger.config import Config
from redis_ledger.store.scripts import Script
from redis_ledger.store.store import Store

GOAL_MS = 10.0
ATTEMPTS = 3
INPUTS: tuple[Callable[[Broker], Awaitable[None]], ...] = (
    *inputs_transactions.INPUTS, *inputs_cursors.INPUTS, *inputs_partitions.INPUTS, *inputs_delays.INPUTS,
    *inputs_fsck.INPUTS, *inputs_sidecar.INPUTS, *inputs_snapshots.INPUTS,
)  # fmt: skip


async def measure(lab: Lab) -> None:
    async with redis("process") as server:
        undisturbed(server.redis_pid)
        longest = await all_of(server.url)
    for name, ms in sorted(longest.items()):
        lab.note(name, "script_ms", ms, "ms", "process", GOAL_MS)


def undisturbed(pid: int) -> None:
    """Gives Redis priority, where the machine permits, so that no other process takes its core while a script runs."""
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(pid, os.SCHED_FIFO, os.sched_param(1))


async def all_of(url: str, only: str = "") -> dict[str, float]:
    """Script → its longest run in ms.  Raises BenchFailed for scripts that no case called."""
    longest: dict[str, float] = {}
    for number, case in enumerate(INPUTS):
        if only and only not in case.__name__:
            continue
        taken: dict[str, float] = {}
        for attempt in range(ATTEMPTS):
            began_s = time.perf_counter()
            found = await one(url, case, f"s{number}a{attempt}")
            taken = {name: min(ms, taken.get(name, ms)) for name, ms in found.items()}
            spent = time.perf_counter() - began_s
            high = " ".join(f"{name} {ms:.1f}" for name, ms in sorted(taken.items(), key=_by_ms) if ms > GOAL_MS / 2)
            print(f"{case.__name__}: {spent:.1f} s  {high}", file=sys.stderr, flush=True)
            if max(taken.values()) <= GOAL_MS or max(taken.values()) > 4 * GOAL_MS:
                break
        for name, ms in taken.items():
            longest[name] = max(ms, longest.get(name, 0.0))
    missing = [script.name for script in Script.all() if script.name not in longest]
    if missing and not only:
        raise BenchFailed(f"No case calls {', '.join(missing)}; add one to bench/growth/inputs_*.py.")
    return longest


async def one(url: str, case: Callable[[Broker], Awaitable[None]], prefix: str) -> dict[str, float]:
    """Returns the longest run of each script of one case, in ms."""
    async with opened(url, prefix) as broker:
        command = broker.store.command
        await command("CONFIG", "SET", "slowlog-max-len", 1_000_000)
        await command("CONFIG", "SET", "slowlog-log-slower-than", 0)
        await command("SLOWLOG", "RESET")
        await case(broker)
        rows = await command("SLOWLOG", "GET", -1)
        await command("CONFIG", "SET", "slowlog-log-slower-than", -1)
        await command("SLOWLOG", "RESET")
        await command("FLUSHALL")
    names = {script.function: script.name for script in Script.all()}
    longest: dict[str, float] = {}
    for _, _, us, words, *_ in rows:
        name = names.get(words[1]) if words[0].upper() == b"FCALL" else None
        if name is not None:
            longest[name] = max(us / 1000, longest.get(name, 0.0))
    return longest


@asynccontextmanager
async def opened(url: str, prefix: str) -> AsyncIterator[Broker]:
    """A broker whose deadlines do not pass while a case prepares its input."""
    settings: dict[str, Any] = {"coordinators": 1, "ack_timeout_ms": 3_600_000, "consumer_session_ms": 600_000}
    config = Config(prefix=prefix, redis_timeout_ms=60_000, **settings)
    store = await Store.open(url, prefix=prefix, timeout_ms=config.redis_timeout_ms, retry_ms=config.redis_retry_ms)
    try:
        broker = await Broker.open(store, config)
        try:
            yield broker
        finally:
            await broker.close()
    finally:
        await store.close()


def _by_ms(pair: tuple[str, float]) -> float:
    return -pair[1]
