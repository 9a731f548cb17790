"""Faults of one Redis server, of its disk, and of the slots of a cluster."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.sim.redis_nodes import RedisNodes
from tests.sim.schedule import Fault
from tests.support.redis_servers import Server

PULSE_S = 0.05  # redis.slow stops the server for so long, again and again
SPARE_BYTES = 300_000  # what fits into a full Redis
MOVES_TRIED = 20


@asynccontextmanager
async def kill_redis(redis: RedisNodes, fault: Fault) -> AsyncIterator[None]:
    server = redis.servers[fault.target]
    server.kill()
    yield
    await start(redis, fault.target)


@asynccontextmanager
async def pause_redis(redis: RedisNodes, fault: Fault) -> AsyncIterator[None]:
    server = redis.servers[fault.target]
    server.freeze()
    yield
    server.thaw()


@asynccontextmanager
async def slow_redis(redis: RedisNodes, fault: Fault) -> AsyncIterator[None]:
    server = redis.servers[fault.target]

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
async def pause_writes(redis: RedisNodes, fault: Fault) -> AsyncIterator[None]:
    server = redis.servers[fault.target]
    await ask(server, "CLIENT", "PAUSE", round(fault.lasts_s * 1000), "WRITE")
    yield


@asynccontextmanager
async def flush_scripts(redis: RedisNodes, fault: Fault) -> AsyncIterator[None]:
    server = redis.servers[fault.target]
    await ask(server, "SCRIPT", "FLUSH")
    await ask(server, "FUNCTION", "FLUSH")
    yield


@asynccontextmanager
async def fill_redis(redis: RedisNodes, fault: Fault) -> AsyncIterator[None]:
    server = redis.servers[fault.target]
    info = await ask(server, "INFO", "memory")
    used = int(info.split(b"used_memory:")[1].split(b"\r\n")[0])
    await ask(server, "CONFIG", "SET", "maxmemory", used + SPARE_BYTES)
    yield
    await ask(server, "CONFIG", "SET", "maxmemory", 0)


@asynccontextmanager
async def fill_disk(redis: RedisNodes, fault: Fault) -> AsyncIterator[None]:
    """With `appendfsync always` Redis ends when a write fails."""
    redis.disks[fault.target].is_full = True
    yield
    redis.disks[fault.target].is_full = False
    await asyncio.sleep(0.1)  # an end that has begun
    if not redis.servers[fault.target].is_running:
        redis.servers[fault.target].kill()
        await start(redis, fault.target)


@asynccontextmanager
async def slow_disk(redis: RedisNodes, fault: Fault) -> AsyncIterator[None]:
    redis.disks[fault.target].sync_ms = fault.amount
    yield
    redis.disks[fault.target].sync_ms = 0


@asynccontextmanager
async def move_slot(redis: RedisNodes, fault: Fault) -> AsyncIterator[None]:
    chance = random.Random(fault.at_s)
    for _ in range(MOVES_TRIED):
        try:
            await redis.move_slot(chance, fault.lasts_s)
            break
        except (OSError, AssertionError):  # a node is down; a slot that was left in between moves on the next time
            await asyncio.sleep(1.0)
    yield


async def start(redis: RedisNodes, name: str) -> None:
    """Without `attach`: a failover may be under way, and the sentinels decide whose replica the server becomes."""
    await asyncio.to_thread(redis.servers[name].start)


async def ask(server: Server, *command: Any) -> Any:
    return await asyncio.to_thread(server.ask, *command)
