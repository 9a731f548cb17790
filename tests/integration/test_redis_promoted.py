"""A replica that was behind takes over: by hand, by Sentinel, and in a Redis Cluster."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from redis_ledger.broker.broker import Broker
from redis_ledger.ledger.leader_epochs import GAP
from redis_ledger.store.cluster import key_slot
from tests.support.broker import begun, eventually, one, records, values_of
from tests.support.proxy import Proxy
from tests.support.proxy import proxy as relayed
from tests.support.redis_servers import Server, redis_cluster, redis_server
from tests.support.sentinels import sentinel

FAST: dict[str, Any] = {"coordinators": 1, "redis_retry_ms": 20_000, "redis_timeout_ms": 20_000}


async def holds(condition: Callable[[], bool], within_s: float = 30) -> None:
    async with asyncio.timeout(within_s):
        while not condition():
            await asyncio.sleep(0.01)  # a server has no way to tell that it is in step


def is_in_step(primary: Server, replica: Server) -> bool:
    return written(primary) == written(replica)


def written(server: Server) -> int:
    lines = server.info("replication").splitlines()
    return next(int(line.partition(b":")[2]) for line in lines if line.startswith(b"master_repl_offset:"))


@contextlib.contextmanager
def pair() -> Iterator[tuple[Server, Server]]:
    """A primary and a replica that has all of it."""
    fast: dict[str, Any] = {"repl_diskless_sync_delay": "0"}
    with redis_server(**fast) as primary, redis_server(replicaof=f"127.0.0.1 {primary.port}", **fast) as replica:
        until = time.monotonic() + 15
        while b"master_link_status:up" not in replica.info("replication"):
            assert time.monotonic() < until, "the replica is not in step"
            time.sleep(0.02)  # replication has no event to wait for
        yield primary, replica


async def statuses(broker: Broker) -> list[str]:
    return [each.status for each in await broker.transactions.list()]


def lost(broker: Broker) -> list[tuple[str, int, int, int]]:
    return [(each.topic, each.partition, each.first_offset, each.end_offset) for each in broker.lost_writes.partitions]


@contextlib.asynccontextmanager
async def two(url: str, prefix: str) -> AsyncIterator[tuple[Broker, Broker]]:
    async with one(url, prefix, name="b1", **FAST) as first, one(url, prefix, name="b2", **FAST) as second:
        yield first, second


def cut_off(primary: Server, replica: Server) -> None:
    """From now on the replica gets nothing of what its primary writes."""
    replica.freeze()
    primary.ask("CLIENT", "KILL", "TYPE", "replica")


async def lose(first: Broker, second: Broker, primary: Server, replica: Server, topic: str = "orders") -> None:
    """Two records that the replica has, three that it has not, and an open transaction."""
    await first.topics.create(topic, 1)
    await first.records.produce(topic, records("old-0", "old-1"))
    await holds(lambda: is_in_step(primary, replica))
    cut_off(primary, replica)
    await first.records.produce(topic, records("lost-2", "lost-3"))
    await second.records.produce(topic, records("lost-4"))
    await begun(first, "lost-5", topic=topic)
    assert await values_of(second, topic) == ["old-0", "old-1", "lost-2", "lost-3", "lost-4"]


async def check_continued(first: Broker, second: Broker, topic: str = "orders") -> None:
    await holds(lambda: bool(lost(first)) and bool(lost(second)))
    (appended,) = await first.records.produce(topic, records("new"))
    assert GAP < appended.base_offset < 3 * GAP
    for broker in (first, second):
        assert await values_of(broker, topic) == ["old-0", "old-1", "new"]
    found = {*lost(first), *lost(second)}
    assert {(name, number, begin) for name, number, begin, _ in found} == {(topic, 0, 2)}
    assert max(end for *_, end in found) == 6
    assert (await second.topics.head(topic, 0)).leader_epoch in (1, 2)


@pytest.fixture
async def proxy() -> AsyncIterator[tuple[Proxy, Server, Server]]:
    with pair() as (primary, replica):
        async with relayed("127.0.0.1", primary.port) as relay:
            yield relay, primary, replica


async def test_a_replica_that_is_promoted_by_hand(proxy, prefix: str):
    relay, primary, replica = proxy
    async with two(relay.url, prefix) as (first, second):
        await lose(first, second, primary, replica)
        primary.kill()
        replica.thaw()
        replica.ask("REPLICAOF", "NO", "ONE")
        relay.lead_to("127.0.0.1", replica.port)
        await check_continued(first, second)


async def test_a_replica_that_has_everything_changes_nothing(proxy, prefix: str):
    relay, primary, replica = proxy
    async with two(relay.url, prefix) as (first, second):
        await first.topics.create("orders", 1)
        await first.records.produce("orders", records("a", "b"))
        txn = await begun(first, "c", topic="orders")
        await holds(lambda: is_in_step(primary, replica))
        primary.kill()
        replica.ask("REPLICAOF", "NO", "ONE")
        relay.lead_to("127.0.0.1", replica.port)
        await second.transactions.commit(txn)
        assert (await second.records.produce("orders", records("d")))[0].base_offset == 4
        assert await values_of(first, "orders") == ["a", "b", "c", "d"]
        assert (first.lost_writes.kinds, second.lost_writes.kinds) == ({}, {})


async def test_a_replica_that_sentinel_promotes(prefix: str):
    with pair() as (primary, replica), sentinel(primary) as watcher:
        watcher.wait_for_replicas(1)
        async with two(watcher.url, prefix) as (first, second):
            await lose(first, second, primary, replica)
            primary.kill()
            replica.thaw()
            await check_continued(first, second)


async def test_a_replica_of_a_cluster_that_takes_over(prefix: str):
    settings = {"cluster_node_timeout": "2000", "cluster_require_full_coverage": "no"}
    with redis_cluster(**settings) as cluster:
        catalog = cluster.owner(key_slot(f"{prefix}:{{catalog}}:state".encode()))
        tc = cluster.owner(key_slot(f"{prefix}:{{tc:0}}:state".encode()))
        topic = next(
            name
            for name in map(str, range(100))
            if cluster.owner(key_slot(f"{{{name}:0}}".encode())) not in (catalog, tc)
        )
        primary = cluster.owner(key_slot(f"{{{topic}:0}}".encode()))
        with cluster.replica_of(primary, cluster_node_timeout="2000") as replica:
            async with two(cluster.url, prefix) as (first, second):
                await lose(first, second, primary, replica, topic)
                cluster.take_over(replica, primary)
                await check_continued(first, second, topic)
                # the coordinator is on a node that has lost nothing: its transaction with the partition is aborted
                assert "coordinator" not in first.lost_writes.kinds
                assert await eventually(lambda: statuses(second), ["aborted"], 15)
