"""How long does a commit take for the client?

    POST /v1/transactions/{id}:commit    of a transaction with one record, until its partition has the outcome

`1`   one connection, one commit after the other: the minimum.
`64`  64 connections and an open loop: 1 000 commits are due every second, whatever the broker does, and latency counts
      from the due time.  It includes the client's own delay.  On two cores the p99 is mostly waiting for a core.

Begin and produce happen before the measurement.
"""

from __future__ import annotations

import json

from bench.lab import Lab, Metrics
from bench.load import Client, connected, request
from bench.processes import DURABILITIES, Cpu, Durability, broker

CONNECTIONS = 64
PER_S = 1_000
GOAL_P99_MS = 5
TIMEOUT_MS = 900_000


async def measure(lab: Lab) -> None:
    for durability in DURABILITIES:
        await at(lab, durability)


async def at(lab: Lab, durability: Durability) -> None:
    async with broker(durability) as served, connected(served, CONNECTIONS) as client:
        await client.call("POST", "/v1/topics", {"name": "t", "partitions": 1})
        cpu = Cpu(served.broker_pid, served.redis_pid)
        async with connected(served, 1) as lone:
            alone = await lab.medians(cpu, lambda seconds: one_by_one(client, lone, seconds, cpu))
        many = await lab.medians(cpu, lambda seconds: on_time(client, seconds, cpu))
        for case, measured, goal in (("1", alone, None), ("64", many, GOAL_P99_MS)):
            lab.note(case, "p50_ms", measured["p50_ms"], "ms", durability)
            lab.note(case, "p99_ms", measured["p99_ms"], "ms", durability, goal)
            lab.note_costs(case, measured, durability)


async def one_by_one(client: Client, lone: Client, seconds: float, cpu: Cpu) -> Metrics:
    requests = await written(client, int(PER_S * seconds))
    cpu.start()
    outcome = await lone.closed(requests, seconds)
    used = cpu.used()
    # Transactions that were not committed would stay open and block the stable offset of later runs.
    await client.each(requests[outcome.answers :])
    return {
        "p50_ms": outcome.percentile_ms(50), "p99_ms": outcome.percentile_ms(99), "measured_s": outcome.seconds, **used,
    }  # fmt: skip


async def on_time(client: Client, seconds: float, cpu: Cpu) -> Metrics:
    requests = await written(client, int(PER_S * seconds))
    cpu.start()
    outcome = await client.paced(requests, PER_S)
    used = cpu.used()
    return {
        "p50_ms": outcome.percentile_ms(50), "p99_ms": outcome.percentile_ms(99), "measured_s": outcome.seconds, **used,
    }  # fmt: skip


async def written(client: Client, count: int) -> list[bytes]:
    """Begins so many transactions, writes one record in each, and returns their commit requests."""
    begun = await client.each([request("POST", "/v1/transactions", {"timeout_ms": TIMEOUT_MS})] * count)
    ids = [json.loads(answer)["id"] for answer in begun]
    record = [{"text": "x" * 100}]
    await client.each(
        [request("POST", "/v1/topics/t/records", {"records": record, "transaction": each}) for each in ids]
    )
    return [request("POST", f"/v1/transactions/{each}:commit") for each in ids]
