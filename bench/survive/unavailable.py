"""How long do clients wait when a broker or a Redis dies?

    broker     kill -9 of one of two brokers, which stays away for the rest of the round
    redis      kill -9 of the only Redis, which is started again at once with its append-only file
    sentinel   kill -9 of a primary with two replicas; a sentinel promotes one of them
    cluster    kill -9 of one of three primaries, each with a replica; the cluster promotes it

While it happens, writers produce one record at a time and wait for its acknowledgement: a Kafka producer for each of
four partitions (aiokafka, idempotent), and as many of the SDK.  A writer's wait is its longest time between two
acknowledgements around the kill.  What no broker can change is not in it: in `redis` the time until the new process
answers PING, in `sentinel` the time until the sentinel names another primary, in `cluster` the time until a replica is
primary.  `p50_s` and `max_s` are of all writers of a kind in all rounds.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from bench.lab import Lab
from bench.processes import BenchFailed
from redis_ledger.client import AsyncClient
from redis_ledger.errors import LedgerError
from tests.support.processes import Serve
from tests.support.redis_servers import Server, redis_cluster, redis_server, replicated
from tests.support.sentinels import sentinel

TOPIC, PARTITIONS, ROUNDS = "t", 4, 5
SETTLE_S, WATCH_S = 2.0, 15.0  # before the kill; after it
ROUND_S_MAX = 120.0
EVERY_S = 0.01
DOWN_AFTER_MS = NODE_TIMEOUT_MS = 1_000
GOALS: dict[str, tuple[float | None, float]] = {
    "broker": (0.5, 2.0), "redis": (1.0, 3.0), "sentinel": (None, 1.0), "cluster": (None, 1.0),
}  # fmt: skip
APPEND_ONLY: dict[str, Any] = {"appendonly": "yes", "appendfsync": "no"}


@dataclass
class Setup:
    """kill: returns when the service could be there again, by time.monotonic(); now, if nothing has to come back."""

    brokers: list[Serve]
    kill: Callable[[], float]

    @property
    def http(self) -> list[str]:
        return [url for broker in self.brokers for url in broker.urls]

    @property
    def kafka(self) -> list[str]:
        return [broker.field("kafka") for broker in self.brokers]


@dataclass
class Writer:
    """produce: one record, until it is acknowledged.  acknowledged_s: when each was."""

    kind: str
    produce: Callable[[], Awaitable[object]]
    acknowledged_s: list[float] = field(default_factory=list)

    async def run(self, until_s: float) -> None:
        while time.monotonic() < until_s:
            try:
                await self.produce()
            except (KafkaError, LedgerError):
                continue  # a user would try again, too
            self.acknowledged_s.append(time.monotonic())
            await asyncio.sleep(EVERY_S)

    def wait_s(self, killed_s: float) -> float:
        """The longest time between two acknowledgements of which the second came after the kill."""
        found = [after - before for before, after in pairwise(self.acknowledged_s) if after > killed_s]
        if not found:
            raise BenchFailed(f"A writer ({self.kind}) got no acknowledgement within {WATCH_S} s after the kill.")
        return max(found)


async def measure(lab: Lab) -> None:
    for case, setup in SETUPS.items():
        waits: dict[str, list[float]] = {}
        for _ in range(max(1, round(ROUNDS * lab.pace.scale))):
            async with asyncio.timeout(ROUND_S_MAX):  # some clients wait without end for a broker that is gone
                for kind, wait_s in await one_round(setup):
                    waits.setdefault(kind, []).append(wait_s)
        p50_s, max_s = GOALS[case]
        for kind, found in waits.items():
            lab.note(f"{case}_{kind}", "p50_s", statistics.median(found), "s", "process", p50_s)
            lab.note(f"{case}_{kind}", "max_s", max(found), "s", "process", max_s)


async def one_round(prepare: Callable[[ExitStack], Setup]) -> list[tuple[str, float]]:
    """The kind and the wait of each writer, without the time that no broker can change."""
    with ExitStack() as stack:
        setup = await asyncio.to_thread(prepare, stack)
        setup.brokers[0].call("POST", "/v1/topics", {"name": TOPIC, "partitions": PARTITIONS})
        async with AsyncExitStack() as clients:
            writers = [await kafka_writer(clients, setup, number) for number in range(PARTITIONS)]
            client = await clients.enter_async_context(AsyncClient(setup.http))
            writers += [sdk_writer(client, number) for number in range(PARTITIONS)]
            until_s = time.monotonic() + SETTLE_S + WATCH_S
            tasks = [asyncio.create_task(writer.run(until_s)) for writer in writers]
            await asyncio.sleep(SETTLE_S)
            killed_s = time.monotonic()
            back_s = await asyncio.to_thread(setup.kill)
            await asyncio.gather(*tasks)
        return [(writer.kind, max(0.0, writer.wait_s(killed_s) - (back_s - killed_s))) for writer in writers]


async def kafka_writer(clients: AsyncExitStack, setup: Setup, partition: int) -> Writer:
    producer = await clients.enter_async_context(
        AIOKafkaProducer(bootstrap_servers=setup.kafka, enable_idempotence=True, linger_ms=0)
    )
    return Writer("kafka", lambda: producer.send_and_wait(TOPIC, b"x", partition=partition))


def sdk_writer(client: AsyncClient, partition: int) -> Writer:
    producer = client.producer(TOPIC, linger_ms=0)

    async def produce() -> None:
        await (await producer.send(b"x", partition=partition)).result()

    return Writer("sdk", produce)


# -- what is killed ----------------------------------------------------------------------------------------------------


def _serve(stack: ExitStack, url: str, brokers: int) -> list[Serve]:
    found = []
    for _ in range(brokers):
        broker = Serve("--redis", url, "--durability", "process")
        stack.callback(broker.clean_up)
        found.append(broker)
    for broker in found:
        assert broker.ready
    return found


def _until_primary(server: Server) -> float:
    while b"role:master" not in server.info("replication"):
        time.sleep(0.002)
    return time.monotonic()


def a_broker(stack: ExitStack) -> Setup:
    brokers = _serve(stack, stack.enter_context(redis_server(**APPEND_ONLY)).url, 2)

    def kill() -> float:
        now_s = time.monotonic()
        brokers[0].process.kill()
        return now_s

    return Setup(brokers, kill)


def a_redis(stack: ExitStack) -> Setup:
    redis = stack.enter_context(redis_server(**APPEND_ONLY))

    def kill() -> float:
        redis.kill()
        redis.start()
        return time.monotonic()

    return Setup(_serve(stack, redis.url, 1), kill)


def a_sentinel_primary(stack: ExitStack) -> Setup:
    primary, *_ = stack.enter_context(replicated(2))
    watcher = stack.enter_context(sentinel(primary, down_after_ms=DOWN_AFTER_MS))
    watcher.wait_for_replicas(2)

    def kill() -> float:
        primary.kill()
        while watcher.primary_port() == primary.port:
            time.sleep(0.002)
        return time.monotonic()

    return Setup(_serve(stack, watcher.url, 1), kill)


def a_cluster_primary(stack: ExitStack) -> Setup:
    settings = {"cluster_node_timeout": str(NODE_TIMEOUT_MS), **APPEND_ONLY}
    cluster = stack.enter_context(redis_cluster(**settings))
    replicas = [stack.enter_context(cluster.replica_of(server, **settings)) for server in cluster.servers]

    def kill() -> float:
        cluster.servers[0].kill()
        return _until_primary(replicas[0])

    return Setup(_serve(stack, cluster.url, 1), kill)


SETUPS: dict[str, Callable[[ExitStack], Setup]] = {
    "broker": a_broker, "redis": a_redis, "sentinel": a_sentinel_primary, "cluster": a_cluster_primary,
}  # fmt: skip
