"""Carries out the faults of a schedule: each begins at its time, and is undone after it has lasted."""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from tests.sim.processes import Processes
from tests.sim.recorder import Recorder
from tests.sim.redis_nodes import RedisNodes
from tests.sim.schedule import Fault
from tests.sim.workers import Workers
from tests.support.proxy import Proxy
from tests.support.redis_servers import Server

ALL_CONNECTIONS = 1 << 30
PULSE_S = 0.05  # redis.slow stops the server for so long, again and again
SPARE_BYTES = 300_000  # what fits into a full Redis
MOVES_TRIED = 20


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
async def _kill_redis(server: Server, fault: Fault) -> AsyncIterator[None]:
    server.kill()
    yield
    await asyncio.to_thread(server.start)


@asynccontextmanager
async def _pause_redis(server: Server, fault: Fault) -> AsyncIterator[None]:
    server.freeze()
    yield
    server.thaw()


@asynccontextmanager
async def _slow_redis(server: Server, fault: Fault) -> AsyncIterator[None]:
    async def pulse() -> None:
        while True:
            server.freeze()
            await asyncio.sleep(PULSE_S)
            server.thaw()
            await asyncio.sleep(PULSE_S)

    pulsing = asyncio.create_task(pulse())
    try:
        yield
    finally:
        pulsing.cancel()
        server.thaw()


@asynccontextmanager
async def _pause_writes(server: Server, fault: Fault) -> AsyncIterator[None]:
    await ask(server, "CLIENT", "PAUSE", round(fault.lasts_s * 1000), "WRITE")
    yield


@asynccontextmanager
async def _flush_scripts(server: Server, fault: Fault) -> AsyncIterator[None]:
    await ask(server, "SCRIPT", "FLUSH")
    yield


@asynccontextmanager
async def _fill_redis(server: Server, fault: Fault) -> AsyncIterator[None]:
    info = await ask(server, "INFO", "memory")
    used = int(info.split(b"used_memory:")[1].split(b"\r\n")[0])
    await ask(server, "CONFIG", "SET", "maxmemory", used + SPARE_BYTES)
    yield
    await ask(server, "CONFIG", "SET", "maxmemory", 0)


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


@asynccontextmanager
async def _move_slot(redis: RedisNodes, fault: Fault) -> AsyncIterator[None]:
    chance = random.Random(fault.at_s)
    for _ in range(MOVES_TRIED):
        try:
            await redis.move_slot(chance, fault.lasts_s)
            break
        except (OSError, AssertionError):  # a node is down; a slot that was left in between moves on the next time
            await asyncio.sleep(1.0)
    yield


async def ask(server: Server, *command: Any) -> Any:
    return await asyncio.to_thread(server.ask, *command)


Act = Callable[[Any, Fault], AbstractAsyncContextManager[None]]
ACTS: dict[str, Act] = {
    "broker.kill": _kill_broker,
    "broker.pause": _pause_broker,
    "clock.step": _step_clock,
    "host.hold": _hold_host,
    "client.kill": _kill_client,
    "slot.move": _move_slot,
    "redis.kill": _kill_redis,
    "redis.pause": _pause_redis,
    "redis.slow": _slow_redis,
    "redis.pause_writes": _pause_writes,
    "redis.flush_scripts": _flush_scripts,
    "redis.full": _fill_redis,
    "link.cut": _cut,
    "link.hold": _hold,
    "link.half_open": _half_open,
    "link.slow": _slow,
    "link.refuse": _refuse,
    "link.lose_replies": _lose_replies,
    "link.break_reply": _break_reply,
    "link.break_request": _break_request,
}


async def cause(fault: Fault, processes: Processes, workers: Workers, recorder: Recorder, began_s: float) -> None:
    """began_s: when the faults of the run began, by the loop's clock."""
    loop = asyncio.get_running_loop()
    await asyncio.sleep(max(0.0, began_s + fault.at_s - loop.time()))
    targets = {
        "broker": processes,
        "clock": processes,
        "host": processes,
        "redis": processes.redis.servers.get(fault.target),
        "link": processes.links.get(fault.target),
        "slot": processes.redis,
        "client": workers,
    }
    facts = {"fault": fault.kind, "target": fault.target}
    recorder.note("fault", phase="begin", amount=fault.amount, **facts)
    async with ACTS[fault.kind](targets[fault.kind.partition(".")[0]], fault):
        await asyncio.sleep(fault.lasts_s)
    recorder.note("fault", phase="end", **facts)


def heal(processes: Processes) -> None:
    """Undoes what waits for traffic that did not come."""
    for link in processes.links.values():
        link.cuts, link.cut_after, link.cut_request_after, link.muted, link.delay_s = 0, None, None, 0, 0.0
        link.release()
