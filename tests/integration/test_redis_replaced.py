"""Redis changes under running brokers: it restarts empty, older, as another one, or with weaker durability."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

from redis_ledger.broker.broker import Broker
from redis_ledger.errors import LedgerError, RedisUnfit, StoreUnavailable
from redis_ledger.store.checks import UnsuitableRedis, check
from redis_ledger.store.cluster import key_slot
from redis_ledger.store.node_status import NodeState
from redis_ledger.store.store import Store
from redis_ledger.telemetry import metrics
from tests.support.broker import one, records, values_of
from tests.support.redis_servers import ClusterServers, Server, redis_cluster, redis_server

KEEPS: dict[str, Any] = {"appendonly": "yes", "appendfsync": "always"}
FAST: dict[str, Any] = {"coordinators": 1, "redis_retry_ms": 3_000}


@pytest.fixture
def redis() -> Iterator[Server]:
    with redis_server(**KEEPS) as server:
        yield server


@asynccontextmanager
async def promised(server: Server, prefix: str, name: str) -> AsyncIterator[Broker]:
    """A broker whose Redis is held to durability disk, as `serve` does."""
    async with one(server.url, prefix, name=name, **FAST) as broker:
        await check(broker.store, "disk")
        yield broker


@asynccontextmanager
async def some(server: Server, prefix: str, count: int) -> AsyncIterator[list[Broker]]:
    async with promised(server, prefix, "b1") as first:
        if count == 1:
            yield [first]
            return
        async with promised(server, prefix, "b2") as second:
            yield [first, second]


def states(broker: Broker) -> list[NodeState]:
    return [status.state for _, status in broker.store.admission.statuses()]


async def until(broker: Broker, state: NodeState) -> str:
    """The sentence of /readyz once the broker knows."""
    await holds(lambda: states(broker) == [state])
    with pytest.raises(RedisUnfit) as refused:
        await broker.ready()
    return refused.value.detail


async def holds(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.01)  # between two looks at a server that has no way to tell us


def is_fit(broker: Broker) -> bool:
    return states(broker) == [NodeState.FIT]


def writes(broker: Broker) -> dict[str, Callable[[], Awaitable[Any]]]:
    """Requests that an unfit Redis must not answer."""
    return {
        "produce to a topic that was": lambda: broker.records.produce("orders", records("x")),
        "produce to a new topic": lambda: broker.records.produce("fresh", records("x")),
        "begin": broker.transactions.begin,
        "init": lambda: broker.producers.init("tid", 1_000),
        "allocate": broker.producers.allocate,
        "subscribe": lambda: broker.subscriptions.create("orders", "s"),
    }


async def all_refused(broker: Broker) -> None:
    for what, act in writes(broker).items():
        with pytest.raises(RedisUnfit):
            raise AssertionError(f"{what} was answered: {await act()}")


@pytest.mark.parametrize("brokers", [pytest.param(1, marks=pytest.mark.full), 2])
@pytest.mark.parametrize("how", ["flushed", "restarted without its files"])
async def test_a_redis_that_comes_back_empty_is_neither_written_nor_read(redis: Server, prefix: str, how, brokers):
    async with some(redis, prefix, brokers) as all_of_them:
        first = all_of_them[0]
        await first.topics.create("orders", 3)
        await first.records.produce("orders", records("kept", partition=1))
        cluster = first.live_brokers.cluster_id
        if how == "flushed":
            redis.ask("FLUSHALL")
        else:
            redis.kill()
            shutil.rmtree(redis.folder / "appendonlydir")
            redis.start()
        # Not one write is answered, from the first moment on: neither offset nor topic nor id is given out again
        for broker in all_of_them:
            for act in (broker.transactions.begin, broker.producers.allocate):
                with pytest.raises(StoreUnavailable):
                    await act()
            with pytest.raises(LedgerError):
                await broker.records.produce("orders", records("x", partition=1))
            with pytest.raises(LedgerError):
                await broker.topics.create("another", 1)
        for broker in all_of_them:
            says = await until(broker, NodeState.EMPTY)
            assert f"held the cluster {cluster} and has no cluster id now" in says
            assert "stop all brokers and start them again" in says
            await all_refused(broker)
            with pytest.raises(RedisUnfit):
                await broker.records.fetch("orders", 1, "earliest")
        assert redis.ask("EXISTS", f"{prefix}:{{catalog}}:topics", f"{prefix}:{{catalog}}:state") == 0
        # A broker that starts now learns it from the claim of the running brokers
        store = await Store.open(redis.url, prefix=prefix)
        with pytest.raises(UnsuitableRedis, match=f"has served the cluster {cluster} from it"):
            await check(store, "disk")
        await store.close()
    # When all of them have been stopped, the operator has accepted the loss
    await holds(lambda: redis.ask("EXISTS", f"{prefix}:{{catalog}}:claim") == 0)
    async with promised(redis, prefix, "b3") as later:
        assert (await later.ready())["broker"] == later.name


async def test_brokers_continue_when_the_data_is_back(redis: Server, prefix: str):
    async with promised(redis, prefix, "b1") as broker:
        await broker.topics.create("orders", 1)
        await broker.records.produce("orders", records("kept"))
        redis.kill()
        kept = redis.folder / "kept"
        (redis.folder / "appendonlydir").rename(kept)
        redis.start()
        await until(broker, NodeState.EMPTY)
        redis.kill()
        shutil.rmtree(redis.folder / "appendonlydir")
        kept.rename(redis.folder / "appendonlydir")
        redis.start()
        await holds(lambda: states(broker) == [NodeState.FIT])
        assert (await broker.records.produce("orders", records("more")))[0].base_offset == 1
        assert await values_of(broker, "orders") == ["kept", "more"]


async def test_a_redis_with_another_cluster_is_not_written_and_the_broker_that_made_it_stands_back(
    redis: Server, prefix: str
):
    async with promised(redis, prefix, "b1") as knows:
        await knows.topics.create("orders", 1)
        # Given a Redis that is emptied and taken into use by a broker that knew nothing, both within one look
        redis.ask("FLUSHALL")
        async with one(redis.url, prefix, name="b2", **FAST) as new:
            says = await until(knows, NodeState.FOREIGN)
            assert f"holds the cluster {new.live_brokers.cluster_id}, and not {knows.live_brokers.cluster_id}" in says
            await all_refused(knows)
            # Then the new one serves nothing either while the first runs
            says = await until(new, NodeState.CLAIMED)
            assert knows.live_brokers.cluster_id in says
            await all_refused(new)


async def test_weaker_durability_than_promised_refuses_only_writes(redis: Server, prefix: str):
    async with promised(redis, prefix, "b1") as broker:
        await broker.topics.create("orders", 1)
        await broker.records.produce("orders", records("kept"))
        for name, weak, strong in (("appendonly", "no", "yes"), ("appendfsync", "everysec", "always")):
            redis.ask("CONFIG", "SET", name, weak)
            says = await until(broker, NodeState.WEAKER)
            assert f"{name} {weak}" in says
            await all_refused(broker)
            assert await values_of(broker, "orders") == ["kept"]
            redis.ask("CONFIG", "SET", name, strong)
            await holds(lambda: states(broker) == [NodeState.FIT])
        redis.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        assert "may evict acknowledged records" in await until(broker, NodeState.WEAKER)
        redis.ask("CONFIG", "SET", "maxmemory-policy", "noeviction")
        await holds(lambda: states(broker) == [NodeState.FIT])
        assert (await broker.records.produce("orders", records("more")))[0].base_offset == 1


@pytest.mark.parametrize("brokers", [1, 2])
async def test_a_config_set_that_a_restart_undoes_is_noticed_before_anything_is_written(prefix: str, brokers):
    with redis_server(appendonly="no", save="") as redis:
        redis.ask("CONFIG", "SET", "appendonly", "yes")
        redis.ask("CONFIG", "SET", "appendfsync", "always")
        await holds(lambda: is_rewritten(redis))
        async with some(redis, prefix, brokers) as all_of_them:
            await all_of_them[0].topics.create("orders", 1)
            await all_of_them[0].records.produce("orders", records("kept"))
            redis.kill()
            redis.start()  # with its own settings: empty, and its append-only file untouched
            for broker in all_of_them:
                with pytest.raises(LedgerError):
                    await broker.records.produce("orders", records("x"))
            for broker in all_of_them:
                await until(broker, NodeState.EMPTY)
            # Advice that is followed brings all of it back: a restart with `appendonly yes` in its configuration
            redis.kill()
            redis._conf |= KEEPS
            redis.start()
            for broker in all_of_them:
                await holds(partial(is_fit, broker))
                assert await values_of(broker, "orders") == ["kept"]
            assert (await all_of_them[0].records.produce("orders", records("more")))[0].base_offset == 1


def is_rewritten(redis: Server) -> bool:
    info = redis.ask("INFO", "persistence")
    assert isinstance(info, bytes)
    return b"aof_enabled:1" in info and b"aof_rewrite_in_progress:0" in info and b"aof_rewrite_scheduled:0" in info


@asynccontextmanager
async def older(redis: Server, prefix: str) -> AsyncIterator[tuple[Broker, Broker]]:
    """Two brokers, the first of which has acknowledged and cached what Redis does not hold any more."""
    copy = redis.folder / "copy"
    async with promised(redis, prefix, "b1") as a, promised(redis, prefix, "b2") as b:
        await a.topics.create("orders", 1)
        await a.records.produce("orders", records("old-0", "old-1"))
        shutil.copytree(redis.folder / "appendonlydir", copy)
        for number in range(2, 6):
            await a.records.produce("orders", records(f"lost-{number}"))
        assert await values_of(a, "orders") == ["old-0", "old-1", *(f"lost-{n}" for n in range(2, 6))]
        redis.kill()
        shutil.rmtree(redis.folder / "appendonlydir")
        copy.rename(redis.folder / "appendonlydir")
        redis.start()
        yield a, b


async def test_brokers_read_the_same_from_a_redis_that_came_back_older(redis: Server, prefix: str):
    async with older(redis, prefix) as (a, b):
        for number in range(2, 9):  # past the end that the first broker has cached
            await b.records.produce("orders", records(f"new-{number}"))
        expected = ["old-0", "old-1", *(f"new-{n}" for n in range(2, 9))]
        assert await values_of(b, "orders") == expected
        assert await values_of(a, "orders") == expected


async def test_an_end_offset_that_went_back_is_logged_and_counted(redis: Server, prefix: str, capfd):
    before = metrics.redis_rolled_back._value.get()
    async with older(redis, prefix):
        await holds(lambda: metrics.redis_rolled_back._value.get() == before + 1)
    assert "Redis came back with older data" in capfd.readouterr().err


async def test_a_node_of_a_cluster_that_lost_its_data_is_found_also_by_a_broker_that_starts_later(prefix: str):
    with redis_cluster(**KEEPS) as servers:
        async with one(servers.url, prefix, name="b1", **FAST) as broker:
            await check(broker.store, "disk")
            state = f"{prefix}:{{catalog}}:state"
            await holds(lambda: catalog_server(servers, prefix).ask("HGET", state, "witnesses") == b"64")
            witnesses = [server.ask("KEYS", f"{prefix}:{{witness:*") for server in servers.servers]
            assert all(witnesses)
            # When a node that does not hold the catalog is emptied
            lost = next(each for each in servers.servers if each is not catalog_server(servers, prefix))
            lost.ask("FLUSHALL")
            await holds(lambda: NodeState.EMPTY in states(broker))
            assert sorted(state.value for state in states(broker)) == ["empty", "fit", "fit"]
            with pytest.raises(RedisUnfit, match=f"127.0.0.1:{lost.port} has lost its data"):
                await broker.ready()
        # Then a broker that starts later finds it as well
        store = await Store.open(servers.url, prefix=prefix)
        with pytest.raises(UnsuitableRedis, match=f"127.0.0.1:{lost.port} has lost its data"):
            await check(store, "disk")
        await store.close()
        # and the operator's command accepts the loss
        assert catalog_server(servers, prefix).ask("HDEL", f"{prefix}:{{catalog}}:state", "witnesses") == 1
        async with one(servers.url, prefix, name="b2", **FAST) as later:
            await check(later.store, "disk")
            await holds(lambda: bool(lost.ask("KEYS", f"{prefix}:{{witness:*")))
            assert (await later.ready())["broker"] == later.name


def catalog_server(servers: ClusterServers, prefix: str) -> Server:
    return servers.owner(key_slot(f"{prefix}:{{catalog}}:state".encode()))
