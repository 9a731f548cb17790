"""How many transactions of five sends and five acknowledgements does an application commit in a second?

    5 × send, 1 KiB ─▶ ack of 5 messages ─▶ commit        through the Python SDK, in this process

Records and acknowledgements leave with the commit, in one request, and commits at the same time share requests, as the
SDK does by itself.  The messages of the input topic are leased before the run.

    5_sends_5_acks_1     one transaction after the other
    5_sends_5_acks_50    50 at a time; one output topic of one partition
    one_topic_50         the same, and topic_per_client_50 with an output topic for each of the 50, in turns

The goals are five times what Pulsar 4 did on the same machine with one input and one output topic.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from array import array
from collections.abc import Iterator, Sequence
from functools import partial

from bench.lab import Lab, Metrics
from bench.load import Client, connected
from bench.processes import BenchFailed, Cpu, broker
from bench.topics import lease, produce
from bench.txn.rounds import NOT_SLOWER, compared
from redis_ledger.client import AsyncClient
from redis_ledger.ids import MessageId

SENDS = ACKS = 5
AT_ONCE = 50
GOALS = {1: 410, AT_ONCE: 2_900}
METRIC = "transactions_per_s"
PREPARED_PER_S = {1: 2_000, AT_ONCE: 10_000}  # more than can be committed
VALUE = b"x" * 1024
SOURCE = "default"  # the consumer that `lease` leases for
rounds = itertools.count()


async def measure(lab: Lab) -> None:
    async with broker("process") as served, connected(served, 8) as setup:
        for name in ("out", *each_output(AT_ONCE)):
            await setup.call("POST", "/v1/topics", {"name": name, "partitions": 1})
        cpu = Cpu(served.broker_pid, served.redis_pid)
        url = f"http://{served.host}:{served.port}"
        async with AsyncClient(url, requests_max=AT_ONCE) as client:
            for at_once in (1, AT_ONCE):
                run = partial(transactions, client, setup, ["out"] * at_once, cpu)
                note(lab, f"5_sends_5_acks_{at_once}", await lab.medians(cpu, run), GOALS[at_once])
            one = partial(transactions, client, setup, ["out"] * AT_ONCE, cpu)
            many = partial(transactions, client, setup, each_output(AT_ONCE), cpu)
            found = await compared(lab, one, many, METRIC)
        note(lab, f"one_topic_{AT_ONCE}", found.first)
        note(lab, f"topic_per_client_{AT_ONCE}", found.second)
        lab.note(f"one_topic_{AT_ONCE}", "min_ratio", found.ratio, "x", "process", NOT_SLOWER)


def each_output(count: int) -> list[str]:
    return [f"out-{number}" for number in range(count)]


def note(lab: Lab, case: str, measured: Metrics, goal: float | None = None) -> None:
    lab.note(case, METRIC, measured[METRIC], "transactions/s", "process", goal)
    for metric in ("p50_ms", "p99_ms", "commit_p50_ms", "commit_p99_ms"):
        lab.note(case, metric, measured[metric], "ms", "process")
    lab.note_costs(case, measured, "process")


async def transactions(client: AsyncClient, setup: Client, outputs: Sequence[str], cpu: Cpu, seconds: float) -> Metrics:
    """outputs: the topic that each of the concurrent applications writes to."""
    source = f"in-{next(rounds)}"
    count = int(PREPARED_PER_S[AT_ONCE if len(outputs) > 1 else 1] * max(seconds, 0.5)) * ACKS
    await produce(setup, source, count)
    ids = map(MessageId.parse, await lease(setup, source, "s", count))
    groups = iter(list(zip(*[ids] * ACKS, strict=True)))
    whole_ms, commit_ms = array("d"), array("d")
    cpu.start()
    began_s = time.perf_counter()
    await asyncio.gather(
        *(application(client, source, groups, output, began_s + seconds, whole_ms, commit_ms) for output in outputs)
    )
    elapsed_s = time.perf_counter() - began_s
    used = cpu.used()
    await setup.call("DELETE", f"/v1/topics/{source}")
    return {
        METRIC: len(whole_ms) / elapsed_s, "p50_ms": percentile(whole_ms, 50), "p99_ms": percentile(whole_ms, 99),
        "commit_p50_ms": percentile(commit_ms, 50), "commit_p99_ms": percentile(commit_ms, 99),
        "measured_s": elapsed_s, **used,
    }  # fmt: skip


async def application(
    client: AsyncClient, source: str, groups: Iterator[Sequence[MessageId]], output: str, until_s: float,
    whole_ms: array[float], commit_ms: array[float],
) -> None:  # fmt: skip
    while (began_s := time.perf_counter()) < until_s:
        ids = next(groups, None)
        if ids is None:
            raise BenchFailed("The messages ran out during the run: prepare more.")
        txn = client.transaction()
        for _ in range(SENDS):
            await txn.send(output, VALUE)
        await txn.ack((source, "s", SOURCE), ids)
        decided_s = time.perf_counter()
        await txn.commit()
        ended_s = time.perf_counter()
        whole_ms.append((ended_s - began_s) * 1_000)
        commit_ms.append((ended_s - decided_s) * 1_000)


def percentile(values: array[float], percent: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))] if ordered else 0.0
