"""How many records can be scheduled in a second through one broker process?

    http               POST /v1/topics/t/records   {"records": [1 000 × {"text": 100 bytes, "deliver_at": ...}]}
    kafka              Produce, batches of 1 000 records of 100 bytes, each with its own header deliver-at
    kafka_same_delay   the same with deliver-after: 3600000, so that a batch is one index entry
    ..._one_partition  the same into one partition instead of four (informational): a partition has one call to Redis in
                       flight, so broker and Redis work less in parallel

A record of `http` and `kafka` is due in one to two hours, at random, so that nearly every one gets its own index entry;
full buckets are sealed during the run.  HTTP has 8 connections with one request in flight each, Kafka 4 with 5, the
default of a producer; its batches are prepared in advance, without idempotence.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from functools import partial

from bench.delay import kafka
from bench.delay.dues import HOUR_MS, far, now_ms
from bench.lab import Lab, Metrics
from bench.load import Client, connected, request
from bench.processes import DURABILITIES, Cpu, Durability, broker
from redis_ledger.records.build import Headers, encode

RECORDS, VALUE = 1_000, "x" * 100
POOL = 200  # requests prepared in advance, which are repeated
HTTP_CONNECTIONS = 8
KAFKA_CONNECTIONS, IN_FLIGHT = 4, 5
METRIC = "records_per_s"
Run = Callable[
    [float], Awaitable[tuple[int, float]]
]  # seconds to run → requests with a response, and the seconds they took
GOALS = {"http": 50_000, "kafka": 150_000, "kafka_same_delay": 150_000}
PARTITIONS = 4


async def measure(lab: Lab) -> None:
    for durability in DURABILITIES:
        await at(lab, durability)


async def at(lab: Lab, durability: Durability) -> None:
    pool = max(5, int(POOL * lab.pace.scale))
    async with broker(durability, kafka=True) as served, connected(served, HTTP_CONNECTIONS) as client:
        cpu = Cpu(served.broker_pid, served.redis_pid)

        async def one(case: str, partitions: int, run: Run) -> None:
            measured = await lab.medians(cpu, lambda seconds: scheduled(client, cpu, partitions, run, seconds))
            lab.note(case, METRIC, measured[METRIC], "records/s", durability, GOALS.get(case))
            lab.note_costs(case, measured, durability)

        async with kafka.connected(served, KAFKA_CONNECTIONS) as connections:
            for partitions, name in ((PARTITIONS, ""), (1, "_one_partition")):
                if partitions == 1 and durability == "disk":
                    continue
                http, own = bodies(pool, partitions), batches(pool, partitions)
                await one(f"http{name}", partitions, partial(over_http, client, http))
                await one(f"kafka{name}", partitions, partial(over_kafka, connections, own))
            same = batches(pool, PARTITIONS, "deliver-after")
            await one("kafka_same_delay", PARTITIONS, partial(over_kafka, connections, same))


async def scheduled(client: Client, cpu: Cpu, partitions: int, run: Run, seconds: float) -> Metrics:
    topic = {"name": "t", "partitions": partitions, "settings": {"delayed_delivery": True}}
    await client.call("POST", "/v1/topics", topic)
    cpu.start()
    requests, elapsed_s = await run(seconds)
    used = cpu.used()
    waiting = (await client.call("GET", "/v1/topics/t/scheduled:stats"))["total"]["records"]
    await client.call("DELETE", "/v1/topics/t")
    assert waiting == requests * RECORDS, f"{requests * RECORDS} records were scheduled, and {waiting} wait"
    return {METRIC: waiting / elapsed_s, "measured_s": elapsed_s, **used}


async def over_http(client: Client, requests: list[bytes], seconds: float) -> tuple[int, float]:
    outcome = await client.closed(itertools.cycle(requests), seconds)
    return outcome.answers, outcome.seconds


async def over_kafka(connections: list[kafka.Connection], requests: list[bytes], seconds: float) -> tuple[int, float]:
    return await kafka.produced(connections, IN_FLIGHT, itertools.cycle(requests), seconds)


def bodies(pool: int, partitions: int) -> list[bytes]:
    found = []
    for number in range(pool):
        records = [{"text": VALUE, "deliver_at": due} for due in far(RECORDS, seed=number)]
        body = {"partition": number % partitions, "records": records}
        found.append(request("POST", "/v1/topics/t/records", body))
    return found


def batches(pool: int, partitions: int, header: str = "deliver-at") -> list[bytes]:
    found = []
    for number in range(pool):
        dues = far(RECORDS, seed=number) if header == "deliver-at" else itertools.repeat(HOUR_MS, RECORDS)
        headers: list[Headers] = [[(header, b"%d" % due)] for due in dues]
        data = encode([(None, VALUE.encode(), each, now_ms()) for each in headers])
        found.append(kafka.produce("t", data, number % partitions))
    return found
