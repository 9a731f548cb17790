"""Faults that promote a replica or take one away.  The primary of the shard is looked up when a fault begins."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.sim.processes import Processes
from tests.sim.schedule import Fault
from tests.sim.shards import Shards

HOWS = {0: "FORCE", 1: "TAKEOVER"}
ASKED_MAX, BEGUN_S_MAX = 10, 10.0  # a failover that was asked for may be given up by Redis


def shards_of(processes: Processes) -> Shards:
    assert isinstance(processes.redis, Shards)
    return processes.redis


async def bring_back(redis: Shards, shard: str, name: str) -> None:
    await asyncio.to_thread(redis.servers[name].start)
    await redis.attach(shard, name)


@asynccontextmanager
async def kill(processes: Processes, fault: Fault) -> AsyncIterator[None]:
    redis = shards_of(processes)
    old = await redis.known_primary(fault.target)
    redis.servers[old].kill()
    await redis.until_promoted(fault.target, old)
    yield
    await bring_back(redis, fault.target, old)


@asynccontextmanager
async def kill_ahead(processes: Processes, fault: Fault) -> AsyncIterator[None]:
    """The primary goes on without its replicas, and dies: the promoted one is behind."""
    redis = shards_of(processes)
    old = await redis.known_primary(fault.target)
    link = processes.links[f"replicas-{old}"]
    link.hold()
    yield
    redis.servers[old].kill()
    link.cut()  # what was held is gone
    link.release()
    await redis.until_promoted(fault.target, old)
    await bring_back(redis, fault.target, old)


@asynccontextmanager
async def freeze(processes: Processes, fault: Fault) -> AsyncIterator[None]:
    """The old primary continues where it stopped, when there is a new one."""
    redis = shards_of(processes)
    old = await redis.known_primary(fault.target)
    redis.servers[old].freeze()
    await redis.until_promoted(fault.target, old)
    yield
    if processes.plan.may_lose:  # two primaries at once are not covered at this level (docs/reliability.md)
        processes.links[f"brokers-{old}"].cut()
    redis.servers[old].thaw()
    await redis.attach(fault.target, old)


@asynccontextmanager
async def fail_over(processes: Processes, fault: Fault) -> AsyncIterator[None]:
    """A promotion that an operator asks for, while the primary is alive."""
    redis = shards_of(processes)
    old = await redis.known_primary(fault.target)
    how = HOWS[fault.amount] if fault.kind == "shard.force" else ""
    for _ in range(ASKED_MAX):
        await redis.fail_over(fault.target, how)
        try:
            await redis.until_promoted(fault.target, old, BEGUN_S_MAX)
            break
        except AssertionError:
            continue
    yield


@asynccontextmanager
async def kill_replica(processes: Processes, fault: Fault) -> AsyncIterator[None]:
    redis = shards_of(processes)
    name = random.Random(fault.at_s).choice(await redis.replicas(fault.target))
    redis.servers[name].kill()
    yield
    await bring_back(redis, fault.target, name)
