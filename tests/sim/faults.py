"""Carries out the faults of a schedule: each begins at its time, and is undone after it has lasted."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from tests.sim import redis_faults, shard_faults
from tests.sim.processes import Processes
from tests.sim.recorder import Recorder
from tests.sim.schedule import Fault
from tests.sim.shards import Shards
from tests.sim.workers import Workers
from tests.support.proxy import Proxy

ALL_CONNECTIONS = 1 << 30


@asynccontextmanager
async def _kill_broker(processes: Processes, fault: Fault) -> AsyncIterator[None]:
    broker = processes.brokers[fault.target]
    broker.kill()
    yield
    await asyncio.to_thread(broker.start, processes.bug)


@asynccontextmanager
async def _pause_broker(processes: Processes, fault: Fault) -> AsyncIterator[None]:
    broker = processes.brokers[fault.target]
    broker.signal(signal.SIGSTOP)
    yield
    broker.signal(signal.SIGCONT)


@asynccontextmanager
async def _step_clock(processes: Processes, fault: Fault) -> AsyncIterator[None]:
    processes.brokers[fault.target].step_clock(fault.amount)
    yield
    processes.brokers[fault.target].step_clock(0)


@asynccontextmanager
async def _hold_host(processes: Processes, fault: Fault) -> AsyncIterator[None]:
    for link in processes.links_of(fault.target):
        link.hold()
    yield
    for link in processes.links_of(fault.target):
        link.release()
        link.cut()


@asynccontextmanager
async def _kill_client(workers: Workers, fault: Fault) -> AsyncIterator[None]:
    await workers.restart(fault.target)
    yield


@asynccontextmanager
async def _cut(link: Proxy, fault: Fault) -> AsyncIterator[None]:
    link.cut()
    yield


@asynccontextmanager
async def _hold(link: Proxy, fault: Fault) -> AsyncIterator[None]:
    link.hold()
    yield
    link.release()


@asynccontextmanager
async def _half_open(link: Proxy, fault: Fault) -> AsyncIterator[None]:
    """Requests arrive and replies vanish; then the connections break."""
    link.muted = ALL_CONNECTIONS
    yield
    link.muted = 0
    link.cut()


@asynccontextmanager
async def _slow(link: Proxy, fault: Fault) -> AsyncIterator[None]:
    link.delay_s = 0.1
    yield
    link.delay_s = 0.0


@asynccontextmanager
async def _refuse(link: Proxy, fault: Fault) -> AsyncIterator[None]:
    await link.refuse()
    yield
    await link.accept_again()


@asynccontextmanager
async def _lose_replies(link: Proxy, fault: Fault) -> AsyncIterator[None]:
    link.cuts = fault.amount
    yield


@asynccontextmanager
async def _break_reply(link: Proxy, fault: Fault) -> AsyncIterator[None]:
    link.cut_after = fault.amount
    yield


@asynccontextmanager
async def _break_request(link: Proxy, fault: Fault) -> AsyncIterator[None]:
    link.cut_request_after = fault.amount
    yield


Act = Callable[[Any, Fault], AbstractAsyncContextManager[None]]
ACTS: dict[str, Act] = {
    "broker.kill": _kill_broker,
    "broker.pause": _pause_broker,
    "clock.step": _step_clock,
    "host.hold": _hold_host,
    "client.kill": _kill_client,
    "slot.move": redis_faults.move_slot,
    "redis.kill": redis_faults.kill_redis,
    "redis.pause": redis_faults.pause_redis,
    "redis.slow": redis_faults.slow_redis,
    "redis.pause_writes": redis_faults.pause_writes,
    "redis.flush_scripts": redis_faults.flush_scripts,
    "redis.full": redis_faults.fill_redis,
    "disk.full": redis_faults.fill_disk,
    "disk.slow": redis_faults.slow_disk,
    "shard.kill": shard_faults.kill,
    "shard.freeze": shard_faults.freeze,
    "shard.behind": shard_faults.kill_ahead,
    "shard.failover": shard_faults.fail_over,
    "shard.force": shard_faults.fail_over,
    "shard.kill_replica": shard_faults.kill_replica,
    "link.cut": _cut,
    "link.hold": _hold,
    "link.half_open": _half_open,
    "link.slow": _slow,
    "link.refuse": _refuse,
    "link.lose_replies": _lose_replies,
    "link.break_reply": _break_reply,
    "link.break_request": _break_request,
}


async def cause(fault: Fault, processes: Processes, workers: Workers, recorder: Recorder) -> None:
    redis = processes.redis
    targets = {
        "broker": processes,
        "clock": processes,
        "host": processes,
        "redis": redis,
        "disk": redis,
        "link": processes.links.get(fault.target),
        "slot": redis,
        "shard": processes,
        "client": workers,
    }
    facts = {"fault": fault.kind, "target": fault.target}
    recorder.note("fault", phase="begin", amount=fault.amount, **facts)
    async with ACTS[fault.kind](targets[fault.kind.partition(".")[0]], fault):
        await asyncio.sleep(fault.lasts_s)
    if isinstance(redis, Shards) and processes.plan.lock(fault) == "redis":
        await redis.settle()
        if processes.plan.may_lose:  # the brokers compare before the next failure
            await processes.until_ready()
    recorder.note("fault", phase="end", **facts)


def heal(processes: Processes) -> None:
    """Undoes what waits for traffic that did not come."""
    for link in processes.links.values():
        link.cuts, link.cut_after, link.cut_request_after, link.muted, link.delay_s = 0, None, None, 0, 0.0
        link.release()
