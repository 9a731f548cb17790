"""What does a broker keep in memory after a million records?

    produced   1 000 requests of 1 000 records of 100 bytes, JSON, to 4 partitions
    consumed   through a subscription, 1 000 messages a receive, every one acknowledged

Memory should not grow with the number of records: payload is in Redis, and caches are bounded.  The rest is Python with
its modules (the larger part) and the largest concurrent bodies, which the allocator keeps.
`broker_rss_peak_mb` is the maximum.
"""

from __future__ import annotations

import json

from bench.lab import Lab
from bench.load import Client, connected, request
from bench.processes import broker, memory_mb

CONNECTIONS = 8
CASE, GOAL = "1M_records", 250
RECORDS, PER_REQUEST, PARTITIONS = 1_000_000, 1_000, 4
SUBSCRIPTION = "/v1/topics/t/subscriptions/s"


async def measure(lab: Lab) -> None:
    count = int(RECORDS * lab.pace.scale)
    async with broker("process") as served, connected(served, CONNECTIONS) as client:
        lab.note(CASE, "broker_rss_before_mb", memory_mb(served.broker_pid), "MB", "process")
        await client.call("POST", "/v1/topics", {"name": "t", "partitions": PARTITIONS})
        await client.call("POST", "/v1/topics/t/subscriptions", {"name": "s"})
        body = {"records": [{"text": "x" * 100}] * PER_REQUEST}
        await client.each([request("POST", "/v1/topics/t/records", body)] * (count // PER_REQUEST))
        consumed = await consume(client, count)
        assert consumed == count, f"{count} records were produced and {consumed} consumed"
        lab.note(CASE, "broker_rss_mb", memory_mb(served.broker_pid), "MB", "process", GOAL)
        lab.note(CASE, "broker_rss_peak_mb", memory_mb(served.broker_pid, "VmHWM"), "MB", "process")
        lab.note(CASE, "redis_rss_mb", memory_mb(served.redis_pid), "MB", "process")


async def consume(client: Client, count: int) -> int:
    """Receives and acknowledges until there are no more messages; returns their number."""
    consumed = 0
    while consumed < count:
        receive = request("POST", f"{SUBSCRIPTION}:receive", {"max_records": PER_REQUEST})
        answers = await client.each([receive] * CONNECTIONS)
        taken = [[message["id"] for message in json.loads(answer)["messages"]] for answer in answers]
        await client.each([request("POST", f"{SUBSCRIPTION}:ack", {"ids": ids}) for ids in taken if ids])
        if not any(taken):
            break
        consumed += sum(map(len, taken))
    return consumed
