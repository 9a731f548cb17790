"""What do a thousand waiting Kafka consumers cost a broker?

    idle    1 000 connections, each with its own partition, in long polls of 500 ms

`kb_per_client` is the growth of the broker's memory for each, `broker_cpu_percent` the part of a core that they use
together, `redis_commands_per_s` their cost in Redis.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from bench.delay.kafka import Connection, connected, fetch, fetched
from bench.growth.counts import Counts
from bench.lab import Lab
from bench.load import connected as http
from bench.processes import broker, cpu_s, folder, memory_mb

CASE, CLIENTS = "idle", 1_000
WAIT_MS = 500
SETTLE_S, MEASURED_S = 3.0, 10.0


async def measure(lab: Lab) -> None:
    clients = max(10, int(CLIENTS * lab.pace.scale))
    with folder() as name:
        home = Path(name)
        async with broker("process", kafka=True, home=home) as served:
            async with http(served, 1) as client:
                await client.call("POST", "/v1/topics", {"name": "t", "partitions": clients})
            counts, over = Counts(home, served.redis_pid), asyncio.Event()
            before_mb = memory_mb(served.broker_pid)
            async with connected(served, clients) as links, asyncio.TaskGroup() as waiting:
                for number, link in enumerate(links):
                    waiting.create_task(_poll(link, number, over))
                await asyncio.sleep(SETTLE_S)
                began_cpu_s = cpu_s(served.broker_pid)
                spent = await counts.over(MEASURED_S * lab.pace.scale)
                used_cpu_s, after_mb = cpu_s(served.broker_pid), memory_mb(served.broker_pid)
                over.set()
            await counts.close()
    if before_mb is not None and after_mb is not None:
        lab.note(CASE, "broker_rss_mb", after_mb, "MB", "process")
        lab.note(CASE, "kb_per_client", (after_mb - before_mb) * 1000 / clients, "kB", "process")
    if began_cpu_s is not None and used_cpu_s is not None:
        percent = 100 * (used_cpu_s - began_cpu_s) / spent.seconds
        lab.note(CASE, "broker_cpu_percent", percent, "% of a core", "process")
    lab.note(CASE, "redis_commands_per_s", spent.calls_per_s, "commands a second", "process")


async def _poll(link: Connection, partition: int, over: asyncio.Event) -> None:
    frame = fetch("t", 0, WAIT_MS, partition)
    while not over.is_set():
        assert not fetched(await link.ask(frame)), "there is no producer"
