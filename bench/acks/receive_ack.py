"""How many records do consumers of one shared subscription receive and acknowledge in a second?

    rest_1, rest_8   consumers that send :receive and :ack, PER_RECEIVE records each, over a connection of their own
    sdk_1, sdk_8     consumers of the Python SDK in this process, which acknowledge what a receive returned

Records have 10 bytes, in batches of 1 000.  Every run has a topic of its own, and ends when all are acknowledged.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Literal

import msgspec

from bench.lab import Lab, Metrics
from bench.load import Client, Connection, connected, request
from bench.processes import Cpu, RunningBroker, broker
from bench.topics import ACK_TIMEOUT_MS, produce
from redis_ledger.client import AsyncClient

GOAL = 20_000
PER_SECOND, PER_RECEIVE = 25_000, 500
CONSUMERS = (1, 8)
SUBSCRIPTION = "s"
rounds = itertools.count()
Consume = Callable[[RunningBroker, str, int, int], Awaitable[None]]


class Received(msgspec.Struct):
    id: str


class Answer(msgspec.Struct):
    messages: list[Received]


async def measure(lab: Lab) -> None:
    async with broker("process") as served, connected(served, 8) as setup:
        cpu = Cpu(served.broker_pid, served.redis_pid)
        for door, consume in (("rest", by_rest), ("sdk", by_sdk)):
            for consumers in CONSUMERS:
                measured = await lab.medians(cpu, partial(drained, served, setup, consume, consumers, cpu))
                case = f"{door}_{consumers}"
                lab.note(case, "records_per_s", measured["records_per_s"], "records/s", "process", GOAL)
                lab.note_costs(case, measured, "process")


async def drained(
    served: RunningBroker, setup: Client, consume: Consume, consumers: int, cpu: Cpu, seconds: float
) -> Metrics:
    topic, records = f"t{next(rounds)}", int(PER_SECOND * seconds) // 1_000 * 1_000
    await produce(setup, topic, records)
    await setup.call("POST", f"/v1/topics/{topic}/subscriptions", {"name": SUBSCRIPTION})
    cpu.start()
    began_s = time.perf_counter()
    await consume(served, topic, consumers, records)
    elapsed_s = time.perf_counter() - began_s
    used = cpu.used()
    await setup.call("DELETE", f"/v1/topics/{topic}")
    return {"records_per_s": records / elapsed_s, "measured_s": elapsed_s, **used}


async def by_rest(served: RunningBroker, topic: str, consumers: int, records: int) -> None:
    path, left = f"/v1/topics/{topic}/subscriptions/{SUBSCRIPTION}", records
    loop, decoder = asyncio.get_running_loop(), msgspec.json.Decoder(Answer)

    async def consumer(name: str) -> None:
        nonlocal left
        _, connection = await loop.create_connection(Connection, served.host, served.port)
        client = Client([connection])
        body = {"consumer": name, "max_records": PER_RECEIVE, "ack_timeout_ms": ACK_TIMEOUT_MS}
        receive = request("POST", f"{path}:receive", body)
        try:
            while left > 0:
                (answer,) = await client.each([receive])
                ids = [message.id for message in decoder.decode(answer).messages]
                if ids:
                    await client.each([request("POST", f"{path}:ack", {"consumer": name, "ids": ids})])
                    left -= len(ids)
        finally:
            connection.close()

    await asyncio.gather(*(consumer(f"c{number}") for number in range(consumers)))


async def by_sdk(
    served: RunningBroker, topic: str, consumers: int, records: int, kind: Literal["shared", "key_shared"] = "shared"
) -> None:
    left = records

    async def consume(client: AsyncClient, name: str) -> None:
        nonlocal left
        consuming = client.consumer(topic, SUBSCRIPTION, name=name, kind=kind, ack_timeout_ms=ACK_TIMEOUT_MS)
        async with consuming as consumer:
            while left > 0:
                messages = await consumer.receive(PER_RECEIVE, wait_ms=100)
                if messages:
                    await consumer.ack(messages)
                    left -= len(messages)

    async with AsyncClient(f"http://{served.host}:{served.port}", requests_max=2 * consumers) as client:
        await asyncio.gather(*(consume(client, f"c{number}") for number in range(consumers)))
