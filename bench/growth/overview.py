"""What does the console's overview cost Redis if there are many subscriptions?

    500    subscriptions with a backlog: 50 on each of ten topics of one partition with 10 000 records in batches of ten

`redis_ms` is the CPU of Redis for one view; a view is cached for two seconds, so an open console costs at most this
every two seconds.  `seconds` is the response time.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from pathlib import Path

from bench.growth.counts import Counts
from bench.lab import Lab
from bench.load import BATCH, connected, request
from bench.processes import broker, folder
from bench.topics import batch
from redis_ledger.app.console.cluster_snapshot import FRESH_MS

CASE, TOPICS, SUBSCRIPTIONS = "500", 10, 50
RECORDS, PER_BATCH = 10_000, 10
GOAL = 100


async def measure(lab: Lab) -> None:
    names = range(max(1, int(SUBSCRIPTIONS * lab.pace.scale)))
    with folder() as folder_name:
        home = Path(folder_name)
        async with broker("process", home=home) as served, connected(served, 8) as client:
            counts = Counts(home, served.redis_pid)
            for number in range(TOPICS):
                base = f"/v1/topics/t{number}"
                await client.call("POST", "/v1/topics", {"name": f"t{number}", "partitions": 1})
                await client.each([request("POST", f"{base}/subscriptions", {"name": f"s{each}"}) for each in names])
                data = request("POST", f"{base}/records?partition=0", batch(PER_BATCH, 10), BATCH)
                await client.each([data] * (RECORDS // PER_BATCH))
            spent_ms, waited_s = list[float](), list[float]()
            for _ in range(1 + lab.pace.runs):
                await asyncio.sleep(FRESH_MS / 1000 + 0.1)
                await counts.start()
                began_s = time.perf_counter()
                await client.each([request("GET", "/console")])
                waited_s.append(time.perf_counter() - began_s)
                spent_ms.append(1000 * (await counts.stop()).cpu_s)
            await counts.close()
    lab.note(
        CASE, "redis_ms", statistics.median(spent_ms[1:]), "ms", "process", GOAL
    )  # the first one compiles templates
    lab.note(CASE, "seconds", statistics.median(waited_s[1:]), "s", "process")
