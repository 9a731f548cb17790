"""Records fall due in one partition while a producer writes to another one of the same topic.

    load   a broker in this process schedules, seals full buckets, and stops
    serve  a broker process takes over from the data in Redis
    due    from here on: delivery in partition 0, and 10 records of 100 bytes over REST into partition 1, 250 times a
           second in an open loop, until all scheduled records are in the log

`seconds` counts from the first due time.  Latency counts from the due time of a request.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Iterable

from bench.delay.dues import now_ms
from bench.delay.loading import TOPIC, loader
from bench.lab import Metrics, Pace, without_gc
from bench.load import connected, request
from bench.processes import BenchFailed, Cpu, broker, redis
from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.store import Store

CONNECTIONS, PER_S = 8, 250
OTHER = request("POST", f"/v1/topics/{TOPIC}/records", {"partition": 1, "records": [{"text": "x" * 100}] * 10})
START_S, SLACK = 5.0, 2.0  # for a broker to start, and tolerance for the loading time
WARM_UP_S = 2.0  # the warm-up takes one second of it
POLL_S = 0.005
FIRED_S_MAX = 120.0


async def fired(pace: Pace, count: int, dues: Callable[[int], Iterable[int]]) -> Metrics:
    """dues: from the first due time (ms) on, `count` of them."""
    async with redis("process") as server:
        async with loader(server, pace.scale) as load:
            expected_s = await load.seconds_for(count, pace.scale)
            begin_ms = now_ms() + int((SLACK * expected_s + START_S) * 1000)
            partition = await load.create(TOPIC, 2)
            await load.schedule(partition, dues(begin_ms))
            await load.settled(partition)
        store = await Store.open(server.url)
        try:
            async with broker("process", home=server.home) as served:
                if begin_ms - now_ms() < WARM_UP_S * 1000:
                    raise BenchFailed("Loading took longer than estimated, and records are due already.")
                await until(begin_ms - WARM_UP_S * 1000)  # a connection that is idle for long would be closed
                async with connected(served, CONNECTIONS) as client:
                    await client.paced([OTHER] * PER_S, PER_S)
                    cpu = Cpu(served.broker_pid, served.redis_pid)
                    await until(begin_ms)
                    with without_gc():
                        cpu.start()
                        began_s = time.perf_counter()
                        logged = asyncio.create_task(all_logged(store, partition.keys, count))
                        outcome = await client.paced(itertools.repeat(OTHER), PER_S, until=logged.done)
                        used = cpu.used()
                        measured_s = time.perf_counter() - began_s
                    at_ms = await logged
        finally:
            await store.close()
    return {
        "seconds": (at_ms - begin_ms) / 1000, "other_p99_ms": outcome.percentile_ms(99),
        "other_p50_ms": outcome.percentile_ms(50), "measured_s": measured_s, **used,
    }  # fmt: skip


async def until(at_ms: float) -> None:
    await asyncio.sleep(max(0.0, at_ms / 1000 - time.time()))


async def all_logged(store: Store, keys: PartitionKeys, count: int) -> float:
    """Waits until the log has so many records; returns the time in ms since 1970."""
    until_s = time.monotonic() + FIRED_S_MAX
    while (found := int(await store.command("HGET", keys.state, "next", key=keys.state))) < count:
        if time.monotonic() > until_s:
            raise BenchFailed(f"After {FIRED_S_MAX:.0f} s {found} of {count} records are in the log.")
        await asyncio.sleep(POLL_S)
    at_ms = time.time() * 1000
    assert found == count, f"{count} records were scheduled, and {found} are in the log"
    return at_ms
