"""How fast does a Kafka consumer of many partitions catch up on one of them, and what does it cost when idle?

    10, 100, 1000    partitions in one fetch session; one has 20 MB of batches of ten records of 1 000 bytes

`mb_per_s` is the rate of catching up, `min_share` the rate of a consumer of 1000 divided by that of a consumer of 10.
`idle_commands_per_s` counts commands of Redis while the consumer has everything and polls every 500 ms, minus those
without the consumer.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from pathlib import Path

from bench.delay.kafka import Connection
from bench.delay.kafka import connected as kafka_links
from bench.growth.counts import Counts
from bench.growth.sessions import Session, following
from bench.lab import Lab
from bench.load import BATCH, Client, connected, request
from bench.processes import broker, folder
from bench.topics import batch

CASES = (10, 100, 1000)
RECORDS, RECORD_BYTES, PER_BATCH = 20_000, 1_000, 10
WAIT_MS = 500
GIVE_UP_S = 30.0
IDLE_S, IDLE_GOAL = 10.0, 50
SETTLE_S = 40.0  # until the broker has checked the new partitions once
SHARE_GOAL = 0.5


async def measure(lab: Lab) -> None:
    speeds = dict[int, float]()
    with folder() as name:
        home = Path(name)
        async with (
            broker("process", kafka=True, home=home) as served,
            connected(served, 4) as client,
            kafka_links(served, 1) as (link,),
        ):
            counts = Counts(home, served.redis_pid)
            for partitions in CASES:
                topic = f"t{partitions}"
                there = await fill(client, topic, partitions, int(RECORDS * lab.pace.scale))
                runs = [await catch_up(link, topic, partitions, there) for _ in range(lab.pace.runs)]
                speeds[partitions] = statistics.median(runs)
                lab.note(str(partitions), "mb_per_s", speeds[partitions], "MB/s", "process")
            idle_s = IDLE_S * min(1.0, lab.pace.scale * 2)
            await asyncio.sleep(SETTLE_S * lab.pace.scale)
            alone = (await counts.over(idle_s)).calls_per_s
            for partitions in CASES:
                idle = await idle_commands(counts, link, f"t{partitions}", partitions, idle_s) - alone
                goal = IDLE_GOAL if partitions == CASES[-1] else None
                lab.note(str(partitions), "idle_commands_per_s", max(idle, 0.0), "commands a second", "process", goal)
            await counts.close()
    share = speeds[CASES[-1]] / speeds[CASES[0]]
    lab.note(str(CASES[-1]), "min_share", share, "of a consumer of 10", "process", SHARE_GOAL)


async def fill(client: Client, topic: str, partitions: int, records: int) -> int:
    """Returns the bytes of partition 0."""
    await client.call("POST", "/v1/topics", {"name": topic, "partitions": partitions})
    data = batch(PER_BATCH, RECORD_BYTES)
    produce = request("POST", f"/v1/topics/{topic}/records?partition=0", data, BATCH)
    await client.each([produce] * (records // PER_BATCH))
    return len(data) * (records // PER_BATCH)


async def catch_up(link: Connection, topic: str, partitions: int, bytes_there: int) -> float:
    """MB/s of partition 0 from the second fetch until all is read; the first one names every partition."""
    session = Session(link, topic, WAIT_MS)
    first = (await session.fetch(dict.fromkeys(range(partitions), 0)))[0]
    moved, read, began_s = {0: following(first)}, 0, time.perf_counter()
    while read < bytes_there - len(first) and time.perf_counter() - began_s < GIVE_UP_S:
        got = (await session.fetch(moved)).get(0)
        if got is not None:
            read += len(got)
            moved = {0: following(got)}
    return read / 1e6 / (time.perf_counter() - began_s)


async def idle_commands(counts: Counts, link: Connection, topic: str, partitions: int, seconds: float) -> float:
    """Commands a second while a consumer that has everything polls."""
    session, moved = Session(link, topic, WAIT_MS), dict.fromkeys(range(partitions), 0)
    while got := (await session.fetch(moved)).get(0):
        moved = {0: following(got)}
    await counts.start()
    until_s = time.perf_counter() + seconds
    while time.perf_counter() < until_s:
        assert not await session.fetch({}), "there is no producer"
    return (await counts.stop()).calls_per_s
