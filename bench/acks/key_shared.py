"""What does the order of keys cost?  Eight consumers of a key_shared subscription, and of a shared one, in turn.

rest_8, sdk_8    as in receive_ack.py, with 1 000 keys in turn
min_ratio        records in a second of key_shared to those of shared, median of the rounds
"""

from __future__ import annotations

import itertools
import statistics
import time
from functools import partial
from typing import Literal

from bench.acks.receive_ack import SUBSCRIPTION, Consume, by_rest, by_sdk
from bench.lab import Lab
from bench.load import BATCH, Client, connected, request
from bench.processes import RunningBroker, broker
from bench.topics import NOW_MS, PER_BATCH
from redis_ledger.records.build import encode

KEYS, CONSUMERS, ROUNDS, GOAL = 1_000, 8, 3, 0.7
PER_SECOND = 25_000
KINDS: tuple[Literal["shared", "key_shared"], ...] = ("shared", "key_shared")
numbers = itertools.count()


async def measure(lab: Lab) -> None:
    records = max(int(3 * PER_SECOND * lab.pace.scale) // PER_BATCH, 1) * PER_BATCH
    async with broker("process") as served, connected(served, 8) as setup:
        for door, consume in (("rest", by_rest), ("sdk", by_sdk)):
            rates: dict[Literal["shared", "key_shared"], list[float]] = {kind: [] for kind in KINDS}
            for number in range(ROUNDS):
                for kind in KINDS[:: -1 if number % 2 else 1]:
                    run = partial(by_sdk, kind=kind) if consume is by_sdk else consume
                    rates[kind].append(records / await drained(served, setup, run, kind, records))
            case = f"{door}_{CONSUMERS}"
            ratios = [a / b for a, b in zip(rates["key_shared"], rates["shared"], strict=True)]
            lab.note(case, "records_per_s", statistics.median(rates["key_shared"]), "records/s", "process")
            lab.note(case, "min_ratio", statistics.median(ratios), "of shared", "process", GOAL)


async def drained(served: RunningBroker, setup: Client, consume: Consume, kind: str, records: int) -> float:
    """Returns the seconds until all records are acknowledged."""
    topic = f"t{next(numbers)}"
    await setup.call("POST", "/v1/topics", {"name": topic, "partitions": 1})
    data = encode([(b"%d" % (n % KEYS), b"x" * 10, (), NOW_MS) for n in range(PER_BATCH)])
    await setup.each([request("POST", f"/v1/topics/{topic}/records?partition=0", data, BATCH)] * (records // PER_BATCH))
    await setup.call("POST", f"/v1/topics/{topic}/subscriptions", {"name": SUBSCRIPTION, "kind": kind})
    began_s = time.perf_counter()
    await consume(served, topic, CONSUMERS, records)
    elapsed_s = time.perf_counter() - began_s
    await setup.call("DELETE", f"/v1/topics/{topic}")
    return elapsed_s
