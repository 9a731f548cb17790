"""What does a waiting record cost in memory, and how long does a restart take with five million of them?

    index    bytes_per_record        memory of sealed buckets in Redis (snapshots, rows, live bitmaps), divided by their
                                     records
             open_bytes_per_record   of the sorted set of the open bucket, by its records; each partition has one,
                                     of 50 000 entries at most
             total_bytes_per_record  growth of Redis's memory, divided by all records: payload and index
    restart  seconds                 from the launch of a broker process until a consumer has the first record that was
                                     due while no broker ran; Redis was running
             seconds_with_redis      the same after kill -9 of broker and Redis, which has to load its file

Values of 90 to 110 bytes, each record with its own entry, due in one to two hours, at random; one partition.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time

from bench.delay.dues import far, now_ms
from bench.delay.loading import TOPIC, Loader, loader
from bench.lab import Lab
from bench.load import Client, connected, request
from bench.processes import BenchFailed, RunningBroker, Server, broker, redis
from redis_ledger.broker.types import NewRecord
from redis_ledger.ledger.partition import Partition

CASES = {"1M": 1_000_000, "5M": 5_000_000}
BYTES_GOAL, RESTART_GOAL = 6, 2
CASE = "5M"
SOON_MS = 5_000
READY_S_MAX = 180.0  # with a Redis that loads gigabytes
FIRST_S_MAX_MS = 60_000


async def measure(lab: Lab, restart: Lab) -> None:
    async with redis("process") as server:
        async with loader(server, lab.pace.scale) as load:
            await indexed(lab, load)
            due = await soon(load)
        await restarted(restart, server, due)


# -- memory ------------------------------------------------------------------------------------------------------------


async def indexed(lab: Lab, load: Loader) -> None:
    partition = await load.create(TOPIC, 1)
    before, done, elapsed_s = await used_memory(load), 0, 0.0
    for case, records in CASES.items():
        count = int(records * lab.pace.scale)
        elapsed_s += await load.schedule(partition, far(count - done, seed=count))
        done = count
        await load.settled(partition)
        buckets = await load.broker.delayed.trackers.get(partition).index.storage.buckets()
        d, sealed = partition.keys.delay, sum(bucket.records for bucket in buckets)
        snapshots = [d.snapshot(bucket.snapshot) for bucket in buckets]
        lab.note(case, "buckets", len(buckets), "buckets", "process")
        index = await usage(load, partition, [*snapshots, d.buckets, d.live])
        lab.note(case, "bytes_per_record", index / sealed, "B", "process", BYTES_GOAL)
        if left := count - sealed:
            lab.note(case, "open_bytes_per_record", await usage(load, partition, [d.open]) / left, "B", "process")
        total = await used_memory(load) - before
        lab.note(case, "total_bytes_per_record", total / count, "B", "process")
        lab.note(case, "loaded_records_per_s", count / elapsed_s, "records/s", "process")


async def usage(load: Loader, partition: Partition, keys: list[bytes]) -> int:
    """In bytes, with every element counted."""
    ask = load.broker.store.command
    found = [await ask("MEMORY", "USAGE", key, "SAMPLES", 0, key=partition.keys.state) for key in keys]
    return sum(int(each or 0) for each in found)


async def used_memory(load: Loader) -> int:
    rows = (await load.broker.store.command("INFO", "memory")).decode().splitlines()
    return int(dict(row.partition(":")[::2] for row in rows if ":" in row)["used_memory"])


# -- restart -----------------------------------------------------------------------------------------------------------


async def soon(load: Loader) -> int:
    """Schedules one more record, which is due first; returns its due time."""
    made = await load.broker.records.produce(TOPIC, [NewRecord(None, b"first", deliver_after_ms=SOON_MS)])
    return made[0].scheduled[0].deliver_at_ms


async def restarted(lab: Lab, server: Server, due_ms: int) -> None:
    await until(due_ms)
    began_s = time.perf_counter()
    async with broker("process", home=server.home) as served, connected(served, 1) as client:
        await first(client, 0)
        lab.note(CASE, "seconds", time.perf_counter() - began_s, "s", "process", RESTART_GOAL)
        body = {"records": [{"text": "second", "deliver_after": SOON_MS}]}
        made = json.loads((await client.each([request("POST", f"/v1/topics/{TOPIC}/records", body)]))[0])
        kill(served)
    await until(made["results"][0]["scheduled"][0]["deliver_at_ms"])
    began_s = time.perf_counter()
    async with (
        broker("process", home=server.home, ready_s_max=READY_S_MAX) as served,
        connected(served, 1) as client,
    ):
        await first(client, 1)
        lab.note(CASE, "seconds_with_redis", time.perf_counter() - began_s, "s", "process")


async def until(due_ms: int) -> None:
    if now_ms() > due_ms:
        raise BenchFailed("The broker stopped so late that it delivered the record meant for its successor.")
    await asyncio.sleep((due_ms - now_ms()) / 1000 + 0.1)


async def first(client: Client, offset: int) -> None:
    """Returns when a consumer has the record at this offset."""
    path = f"/v1/topics/{TOPIC}/partitions/0/records?offset={offset}&wait_ms={FIRST_S_MAX_MS}"
    fetched = json.loads((await client.each([request("GET", path)]))[0])
    if [record["offset"] for record in fetched["records"]] != [offset]:
        raise BenchFailed(f"One record was due, and a consumer got {fetched['records'][:3]}.")


def kill(served: RunningBroker) -> None:
    for pid in (served.broker_pid, served.redis_pid):
        os.kill(pid, signal.SIGKILL)
