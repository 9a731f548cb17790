"""How many records of 1 KiB can one broker process take in a second as JSON?

    POST /v1/topics/t/records   {"records": [100 × {"text": 1 KiB}]}        16 connections, one partition

The broker parses about 100 KiB of JSON, builds a record batch with its CRC, and sends it to Redis, which writes it to
the append-only file: at the goal each of them moves 100 MB a second.  Every run has its own topic, which is deleted
afterwards.
"""

from __future__ import annotations

import itertools

from bench.lab import Lab, Metrics
from bench.load import Client, connected, request
from bench.processes import DURABILITIES, Cpu, Durability, broker

CONNECTIONS = 16
RECORDS, RECORD_BYTES = 100, 1024
CASE, METRIC, GOAL = "100x1KiB", "records_per_s", 100_000
BODY = {"records": [{"text": "x" * RECORD_BYTES}] * RECORDS}


async def measure(lab: Lab) -> None:
    for durability in DURABILITIES:
        await at(lab, durability)


async def at(lab: Lab, durability: Durability) -> None:
    async with broker(durability) as served, connected(served, CONNECTIONS) as client:
        cpu = Cpu(served.broker_pid, served.redis_pid)
        measured = await lab.medians(cpu, lambda seconds: appends(client, seconds, cpu))
        lab.note(CASE, METRIC, measured[METRIC], "records/s", durability, GOAL)
        lab.note(CASE, "p99_ms", measured["p99_ms"], "ms", durability)
        lab.note_costs(CASE, measured, durability)


async def appends(client: Client, seconds: float, cpu: Cpu) -> Metrics:
    await client.call("POST", "/v1/topics", {"name": "t", "partitions": 1})
    requests = itertools.repeat(request("POST", "/v1/topics/t/records", BODY))
    cpu.start()
    outcome = await client.closed(requests, seconds)
    used = cpu.used()
    await client.call("DELETE", "/v1/topics/t")
    return {
        METRIC: outcome.answers * RECORDS / outcome.seconds, "p99_ms": outcome.percentile_ms(99),
        "measured_s": outcome.seconds, **used,
    }  # fmt: skip
