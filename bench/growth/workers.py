"""What does a record cost Redis when many workers wait for it?

    1x1, 12x20, 100x100    workers x partitions of one shared subscription, each in a long poll of 2 s; one record every
                           50 ms, to each partition in turn, acknowledged by the worker that received it

`redis_us_per_record` is the CPU of Redis for a record's append, delivery and acknowledgement, including its background
work; `scripts_per_record` the scripts for it.  Both grow with workers and partitions if a record wakes more workers
than the one that receives it: 1x1 is the minimum.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from bench.growth.counts import Counts, Spent
from bench.lab import Lab
from bench.load import Client, connected
from bench.processes import RunningBroker, broker, folder

CASES = {"1x1": (1, 1, None), "12x20": (12, 20, 300.0), "100x100": (100, 100, None)}  # workers, partitions, goal
RECORDS, EVERY_S = 200, 0.05
SETTLE_S = 1.5
WAIT_MS = 2_000


async def measure(lab: Lab) -> None:
    for case, (workers, partitions, goal) in CASES.items():
        spent, records = await deliver(workers, partitions, max(10, int(RECORDS * lab.pace.scale)))
        lab.note(case, "redis_us_per_record", spent.cpu_s * 1e6 / records, "us", "process", goal)
        lab.note(case, "scripts_per_record", spent.commands.get("fcall", 0) / records, "scripts", "process")


async def deliver(workers: int, partitions: int, records: int) -> tuple[Spent, int]:
    with folder() as name:
        home = Path(name)
        async with broker("process", home=home) as served, connected(served, 1) as client:
            await client.call("POST", "/v1/topics", {"name": "t", "partitions": partitions})
            await client.call("POST", "/v1/topics/t/subscriptions", {"name": "s"})
            counts, got, over = Counts(home, served.redis_pid), [0], asyncio.Event()
            async with asyncio.TaskGroup() as waiting:
                for number in range(workers):
                    waiting.create_task(_work(served, f"c{number}", got, over))
                await asyncio.sleep(SETTLE_S)
                await counts.start()
                await _feed(client, partitions, records)
                await asyncio.sleep(EVERY_S)
                spent = await counts.stop()
                over.set()
            await counts.close()
            assert got[0] >= records, f"{records} records were produced and {got[0]} delivered"
            return spent, records


async def _work(served: RunningBroker, consumer: str, got: list[int], over: asyncio.Event) -> None:
    base = "/v1/topics/t/subscriptions/s"
    async with connected(served, 1) as client:
        while not over.is_set():
            body = {"wait_ms": WAIT_MS, "max_records": 10, "consumer": consumer}
            messages = (await client.call("POST", f"{base}:receive", body))["messages"]
            got[0] += len(messages)
            if messages:
                ids = [message["id"] for message in messages]
                await client.call("POST", f"{base}:ack", {"consumer": consumer, "ids": ids})


async def _feed(client: Client, partitions: int, records: int) -> None:
    for number in range(records):
        began_s = time.perf_counter()
        body = {"partition": number % partitions, "records": [{"text": "x"}]}
        await client.call("POST", "/v1/topics/t/records", body)
        await asyncio.sleep(max(0.0, EVERY_S - (time.perf_counter() - began_s)))
