"""How long after a commit does a waiting reader have the records?

A reader of committed records waits in a long poll at the end of a partition; a transaction of one record is committed.
Latency counts from sending the commit to the last byte of the reader's response, so it includes the commit.  One
transaction at a time, over HTTP.
"""

from __future__ import annotations

import asyncio
import json
import time
from array import array

from bench.lab import Lab, without_gc
from bench.load import Client, connected
from bench.processes import BenchFailed, Cpu, broker
from bench.txn.sends_acks import percentile

CASE, COUNT, GOAL_P99_MS = "commit_to_reader", 3_000, 5.0
WARM = 50
WAIT_MS = 10_000
SETTLED_S = 0.002  # until the poll waits in the broker


async def measure(lab: Lab) -> None:
    async with broker("process") as served, connected(served, 1) as writer, connected(served, 1) as reader:
        await writer.call("POST", "/v1/topics", {"name": "t", "partitions": 1})
        cpu = Cpu(served.broker_pid, served.redis_pid)
        offset = await woken(writer, reader, 0, WARM, array("d"))
        latencies_ms = array("d")
        with without_gc():
            cpu.start()
            began_s = time.perf_counter()
            await woken(writer, reader, offset, max(WARM, int(COUNT * lab.pace.scale)), latencies_ms)
            costs = {"measured_s": time.perf_counter() - began_s, **cpu.used()}
        lab.note(CASE, "p50_ms", percentile(latencies_ms, 50), "ms", "process")
        lab.note(CASE, "p99_ms", percentile(latencies_ms, 99), "ms", "process", GOAL_P99_MS)
        lab.note_costs(CASE, costs, "process")


async def woken(writer: Client, reader: Client, offset: int, count: int, latencies_ms: array[float]) -> int:
    """Returns the offset after the last transaction."""
    for _ in range(count):
        txn = (await writer.call("POST", "/v1/transactions", {}))["id"]
        await writer.call("POST", "/v1/topics/t/records", {"records": [{"text": "x" * 100}], "transaction": txn})
        path = f"/v1/topics/t/partitions/0/records?offset={offset}&wait_ms={WAIT_MS}"
        poll = asyncio.ensure_future(reader.call("GET", path))
        await asyncio.sleep(SETTLED_S)
        began_s = time.perf_counter()
        commit = asyncio.ensure_future(writer.call("POST", f"/v1/transactions/{txn}:commit"))
        answer = await poll
        latencies_ms.append((time.perf_counter() - began_s) * 1_000)
        await commit
        if len(answer["records"]) != 1:
            raise BenchFailed(f"The reader was not woken: {json.dumps(answer)[:200]}")
        offset = answer["next_offset"]
    return offset
