"""How many megabytes can be read in a second from one broker process as record batches?

    GET /v1/topics/t/partitions/0/records?offset=N    Accept: application/vnd.redis-ledger.batch      16 connections

The topic holds 128 MB in batches of 64 KiB.  Each request reads the default, up to 1 MiB, at offsets spread over the
topic.  `64KiB_single` reads one batch at a time (informational): then the cost of a request counts 16 times as much.
Durability does not affect readers, so only one is measured.
"""

from __future__ import annotations

import itertools
from functools import partial

from bench.lab import Lab, Metrics
from bench.load import BATCH, Client, connected, request
from bench.processes import Cpu, broker
from bench.topics import batch

CONNECTIONS = 16
METRIC, GOAL = "mb_per_s", 400
CASES = {"64KiB": (1 << 20, GOAL), "64KiB_single": (1 << 16, None)}  # max_bytes, goal
RECORDS = 63
DATA = batch(RECORDS, 1024)
BATCHES = 2_000


async def measure(lab: Lab) -> None:
    async with broker("process") as served, connected(served, CONNECTIONS) as client:
        await client.call("POST", "/v1/topics", {"name": "t", "partitions": 1})
        await client.each([request("POST", "/v1/topics/t/records?partition=0", DATA, BATCH)] * BATCHES)
        cpu = Cpu(served.broker_pid, served.redis_pid)
        for case, (max_bytes, goal) in CASES.items():
            places = range(0, (BATCHES - 32) * RECORDS, RECORDS * 16)
            requests = itertools.cycle([fetch(offset, max_bytes) for offset in places])
            measured = await lab.medians(cpu, partial(reads, client, requests))
            lab.note(case, METRIC, measured[METRIC], "MB/s", "process", goal)
            lab.note(case, "p99_ms", measured["p99_ms"], "ms", "process")
            lab.note_costs(case, measured, "process")


def fetch(offset: int, max_bytes: int) -> bytes:
    path = f"/v1/topics/t/partitions/0/records?offset={offset}&max_bytes={max_bytes}"
    return request("GET", path, headers=f"accept: {BATCH}\r\n")


async def reads(client: Client, requests: itertools.cycle[bytes], seconds: float) -> Metrics:
    outcome = await client.closed(requests, seconds)
    return {
        METRIC: outcome.body_bytes / 1e6 / outcome.seconds, "p99_ms": outcome.percentile_ms(99),
        "measured_s": outcome.seconds,
    }  # fmt: skip
