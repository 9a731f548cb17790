"""How late do records arrive if 1 000 are due in every second of a minute?

60 000 records of 100 bytes, due at random ms, scheduled in advance over Kafka.  A Kafka consumer reads one partition
with long polls; the arrival is the time of the last byte of a response, by this machine's clock, which is also that of
Redis.  lateness = arrival - due time: delivery, wake-up of the broker, read, and transfer to the consumer.  A `min_ms`
below 0 would be an early record.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from bench.delay import kafka
from bench.delay.dues import now_ms, scattered
from bench.lab import Lab, without_gc
from bench.load import connected
from bench.processes import BenchFailed, Cpu, broker
from redis_ledger.records.batch import split
from redis_ledger.records.build import encode
from redis_ledger.records.read import decode

CASE, PER_S, SECONDS = "1000_per_s", 1_000, 60
PER_BATCH, VALUE_BYTES = 1_000, 100
AHEAD_MS = 6_000  # for scheduling all of them
WAIT_MS = 500
LATE_S_MAX = 30.0
GOALS = {"p50_ms": 5, "p99_ms": 50, "min_ms": 0}
TOPIC = {"name": "t", "partitions": 1, "settings": {"delayed_delivery": True}}


async def measure(lab: Lab) -> None:
    seconds = max(2.0, SECONDS * lab.pace.scale)
    count = int(PER_S * seconds)
    async with broker("process", kafka=True) as served, connected(served, 1) as client:
        await client.call("POST", "/v1/topics", TOPIC)
        async with kafka.connected(served, 2) as (producer, consumer):
            begin_ms = now_ms() + AHEAD_MS
            await scheduled(producer, list(scattered(begin_ms, seconds, count)))
            if now_ms() > begin_ms - 1_000:
                raise BenchFailed("Scheduling took so long that records were due before it ended.")
            cpu = Cpu(served.broker_pid, served.redis_pid)
            with without_gc():
                cpu.start()
                began_s = time.perf_counter()
                async with asyncio.timeout(AHEAD_MS / 1000 + seconds + LATE_S_MAX):
                    arrivals = await consumed(consumer, count)
                costs = {"measured_s": time.perf_counter() - began_s, **cpu.used()}
    late_ms = sorted(lateness_ms(arrivals))
    assert len(late_ms) == count, f"{count} records were scheduled, and {len(late_ms)} arrived"
    lab.note(CASE, "p50_ms", late_ms[count // 2], "ms", "process", GOALS["p50_ms"])
    lab.note(CASE, "p99_ms", late_ms[int(count * 0.99)], "ms", "process", GOALS["p99_ms"])
    lab.note(CASE, "max_ms", late_ms[-1], "ms", "process")
    lab.note(CASE, "min_ms", late_ms[0], "ms", "process", GOALS["min_ms"])
    lab.note_costs(CASE, costs, "process")


async def scheduled(producer: kafka.Connection, dues: Sequence[int]) -> None:
    for at in range(0, len(dues), PER_BATCH):
        rows = [
            (None, b"%d" % due + b"x" * (VALUE_BYTES - 13), [("deliver-at", b"%d" % due)], now_ms())
            for due in dues[at : at + PER_BATCH]
        ]
        kafka.expect_produced(await producer.ask(kafka.produce("t", encode(rows))))


async def consumed(consumer: kafka.Connection, count: int) -> list[kafka.Arrival]:
    """Returns every response with records, until there are so many."""
    arrivals = []
    offset = 0
    while offset < count:
        arrival = await consumer.ask(kafka.fetch("t", offset, WAIT_MS))
        if data := kafka.fetched(arrival):
            arrivals.append(kafka.Arrival(arrival.at_ms, memoryview(data)))
            last = split(data)[-1][0]
            offset = last.base_offset + last.count
    return arrivals


def lateness_ms(arrivals: Sequence[kafka.Arrival]) -> list[float]:
    """Lateness of every record: its value begins with its due time."""
    return [
        arrival.at_ms - int((record.value or b"")[:13])
        for arrival in arrivals
        for _, batch in split(arrival.frame)
        for record in decode(batch)
    ]
