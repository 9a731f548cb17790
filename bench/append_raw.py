"""How many megabytes can one broker process take in a second as record batches made by the client?

    POST /v1/topics/t/records?partition=0   one batch of 63 records, 64 KiB        16 connections, one partition

Only the header is parsed; the CRC is checked, and the records are read once to validate them.  The rest is HTTP and
copying: kernel to broker, broker to Redis, Redis to its append-only file.
"""

from __future__ import annotations

import itertools

from bench.lab import Lab, Metrics
from bench.load import BATCH, Client, connected, request
from bench.processes import DURABILITIES, Cpu, Durability, broker
from bench.topics import batch

CONNECTIONS = 16
CASE, METRIC, GOAL = "64KiB", "mb_per_s", 200
DATA = batch(63, 1024)  # 63 records of 1 KiB and the batch overhead make 64 KiB, less a few hundred bytes


async def measure(lab: Lab) -> None:
    for durability in DURABILITIES:
        await at(lab, durability)


async def at(lab: Lab, durability: Durability) -> None:
    async with broker(durability) as served, connected(served, CONNECTIONS) as client:
        cpu = Cpu(served.broker_pid, served.redis_pid)
        measured = await lab.medians(cpu, lambda seconds: appends(client, seconds, cpu))
        lab.note(CASE, METRIC, measured[METRIC], "MB/s", durability, GOAL)
        lab.note(CASE, "p99_ms", measured["p99_ms"], "ms", durability)
        lab.note_costs(CASE, measured, durability)


async def appends(client: Client, seconds: float, cpu: Cpu) -> Metrics:
    await client.call("POST", "/v1/topics", {"name": "t", "partitions": 1})
    requests = itertools.repeat(request("POST", "/v1/topics/t/records?partition=0", DATA, BATCH))
    cpu.start()
    outcome = await client.closed(requests, seconds)
    used = cpu.used()
    await client.call("DELETE", "/v1/topics/t")
    return {
        METRIC: outcome.answers * len(DATA) / 1e6 / outcome.seconds, "p99_ms": outcome.percentile_ms(99),
        "measured_s": outcome.seconds, **used,
    }  # fmt: skip
