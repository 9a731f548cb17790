"""How many consume-transform-produce steps can one broker process take in a second, each of them one HTTP request?

    POST /v1/transactions:execute   1 acknowledgement on `in`, 1 record of 100 bytes to `out`

64 connections, each waiting for its response; both topics have one partition.  A step is a transaction with two
participants: one coordinator call to begin and register, append and pending acknowledgement in parallel, one call to
decide, two to end, and one to complete.  The messages are leased before the run, in order, a thousand at a time.
"""

from __future__ import annotations

import json

from bench.lab import Lab, Metrics
from bench.load import Client, connected, request
from bench.processes import DURABILITIES, Cpu, Durability, broker
from bench.topics import lease, produce

CONNECTIONS = 64
CASE, METRIC, GOAL = str(CONNECTIONS), "transactions_per_s", 5_000
PREPARED_PER_S = 8_000  # messages leased for each second of the run: more than can be acknowledged
VALUE = "x" * 100


async def measure(lab: Lab) -> None:
    for durability in DURABILITIES:
        await at(lab, durability)


async def at(lab: Lab, durability: Durability) -> None:
    async with broker(durability) as served, connected(served, CONNECTIONS) as client:
        await client.call("POST", "/v1/topics", {"name": "out", "partitions": 1})
        cpu = Cpu(served.broker_pid, served.redis_pid)
        rounds = iter(range(lab.pace.runs + 1))
        measured = await lab.medians(cpu, lambda seconds: steps(client, f"in-{next(rounds)}", seconds, cpu))
        lab.note(CASE, METRIC, measured[METRIC], "transactions/s", durability, GOAL)
        lab.note(CASE, "p99_ms", measured["p99_ms"], "ms", durability)
        lab.note_costs(CASE, measured, durability)


async def steps(client: Client, topic: str, seconds: float, cpu: Cpu) -> Metrics:
    count = int(PREPARED_PER_S * seconds)
    await produce(client, topic, count)
    ids = await lease(client, topic, "steps", count)
    requests = [request("POST", "/v1/transactions:execute", step(topic, each)) for each in ids]
    cpu.start()
    outcome = await client.closed(requests, seconds)
    used = cpu.used()
    assert outcome.answers < len(requests), "the messages ran out during the run: prepare more"
    await client.call("DELETE", f"/v1/topics/{topic}")
    return {
        METRIC: outcome.answers / outcome.seconds, "p50_ms": outcome.percentile_ms(50),
        "p99_ms": outcome.percentile_ms(99), "measured_s": outcome.seconds, **used,
    }  # fmt: skip


def step(topic: str, message_id: str) -> bytes:
    acks = [{"topic": topic, "subscription": "steps", "ids": [message_id]}]
    return json.dumps({"acks": acks, "records": [{"topic": "out", "records": [{"text": VALUE}]}]}).encode()
