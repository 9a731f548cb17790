"""Store on a cluster of three: routing, slot migration, nodes that leave."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import AsyncIterator

import pytest

from redis_ledger.errors import StoreUnavailable
from redis_ledger.store.cluster import REFRESH_PAUSE_S, Cluster, key_slot
from redis_ledger.store.store import ScriptCall, Store
from tests.support.busy_machine import within
from tests.support.redis_servers import ClusterServers, Server, redis_cluster
from tests.support.script_functions import functions, replace_scripts
from tests.support.stores import open_store

PUSH, PUSH_BOTH = functions(
    push=b"#!lua\nreturn redis.call('RPUSH', KEYS[1], ARGV[1])",
    both=b"#!lua\nredis.call('RPUSH', KEYS[2], ARGV[1])\nreturn redis.call('RPUSH', KEYS[1], ARGV[1])",
)


@pytest.fixture(autouse=True)
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_scripts(monkeypatch, PUSH, PUSH_BOTH)


@pytest.fixture
async def store(cluster_url: str, prefix: str) -> AsyncIterator[Store]:
    store = await Store.open(cluster_url, prefix=prefix, retry_ms=3_000)
    yield store
    await store.close()


def key(store: Store, name: str = "k") -> bytes:
    return f"{store.prefix}:{{{store.prefix}-{name}}}".encode()


def sides(cluster: ClusterServers, slot: int) -> tuple[Server, Server]:
    """The node that serves the slot, and one that does not."""
    source = cluster.owner(slot)
    return source, next(server for server in cluster.servers if server is not source)


async def pushed(store: Store, k: bytes) -> list[int]:
    return [int(value) for value in await store.command(b"LRANGE", k, 0, -1, key=k)]


async def test_calls_go_to_the_node_of_their_key(store, cluster):
    keys = [key(store, str(n)) for n in range(60)]
    assert await asyncio.gather(*(store.call(PUSH, [k], [1]) for k in keys)) == [1] * 60
    for k in keys:
        assert cluster.owner(key_slot(k)).ask("LLEN", k) == 1
    assert len({cluster.owner(key_slot(k)).port for k in keys}) == 3


async def test_every_primary_tells_about_itself(store, cluster):
    nodes = await store.node_info()
    assert {node.address for node in nodes} == {f"127.0.0.1:{server.port}" for server in cluster.servers}
    assert {node.role for node in nodes} == {"master"}


async def test_a_slot_that_has_moved_is_followed_and_order_is_kept(store, cluster):
    # Given a store that knows the old owner
    k = key(store)
    slot = key_slot(k)
    await store.call(PUSH, [k], [0])
    source, target = sides(cluster, slot)
    # When the slot moves while calls are issued in every tick
    calls = []

    async def issue() -> None:
        for n in range(1, 400):
            calls.append(store.call(PUSH, [k], [n]))
            if n % 2:
                await asyncio.sleep(0)

    def move() -> None:
        cluster.begin_migration(slot, source, target)
        while cluster.move_keys(slot, source, target):
            pass  # the slot may have keys of other tests
        cluster.end_migration(slot, target)

    await asyncio.gather(issue(), asyncio.to_thread(move), issue_slowly(store, k))
    await asyncio.gather(*calls)
    # Then all arrived, once, in order
    values = [value for value in await pushed(store, k) if value >= 0]
    assert values == list(range(400))
    assert cluster.owner(slot) is target


async def issue_slowly(store: Store, k: bytes) -> None:
    for _ in range(100):
        await store.call(PUSH, [k], [-1])
        await asyncio.sleep(0.001)


async def test_keys_on_their_way_are_asked_for_where_they_are(store, cluster):
    # Given a slot half moved: one key is with the target already, the other still with the source
    k = key(store)
    here, there = k + b":here", k + b":there"
    slot = key_slot(k)
    await asyncio.gather(store.call(PUSH, [here], [0]), store.call(PUSH, [there], [0]))
    source, target = sides(cluster, slot)
    cluster.begin_migration(slot, source, target)
    cluster.move_key(there, source, target)
    # When each is used, in calls, units and with many in one tick
    assert await store.call(PUSH, [here], [1]) == 2
    assert await asyncio.gather(*(store.call(PUSH, [there], [n]) for n in range(1, 20))) == list(range(2, 21))
    assert await store.multi(there, [(b"LLEN", there), ScriptCall(PUSH, [there], [20])]) == [20, 21]
    # and a call that needs both is issued: it cannot be served before the move is over
    both = store.call(PUSH_BOTH, [here, there], [99])
    await asyncio.sleep(0.05)
    behind = store.call(PUSH, [here], [100])
    await asyncio.sleep(0.05)
    assert not both.done()
    assert not behind.done()
    cluster.move_key(here, source, target)
    cluster.end_migration(slot, target)
    # Then it is served afterwards, and what was issued behind it stays behind it
    assert await both == 3
    assert await behind == 4
    assert await pushed(store, here) == [0, 1, 99, 100]
    assert (await pushed(store, there))[-2:] == [20, 99]


async def test_calls_moved_by_a_new_slot_map_wait_for_calls_in_flight_at_the_old_node(prefix):
    # Given a call that is with the old owner of a slot, which does not get to answer it
    with redis_cluster() as servers:
        store = await Store.open(servers.url, prefix=prefix, timeout_ms=20_000, retry_ms=10_000)
        k = key(store)
        slot = key_slot(k)
        source, target = sides(servers, slot)
        elsewhere = other_key_at(store, servers, target)
        assert source._process is not None
        source._process.send_signal(signal.SIGSTOP)
        done: list[str] = []
        first = store.call(PUSH, [k], [1])
        first.add_done_callback(lambda _: done.append("first"))
        # When the others say that the slot has another owner, and the store reads that map
        for server in servers.servers:
            if server is not source:
                server.ask("CLUSTER", "SETSLOT", slot, "NODE", servers.id_of(target))
        while store.topology.owner(slot).name != f"127.0.0.1:{target.port}":
            await store.topology.learn()
        second = store.call(PUSH, [k], [2])
        second.add_done_callback(lambda _: done.append("second"))
        assert await store.command(b"LLEN", elsewhere, key=elsewhere) == 0
        # Then the next call does not overtake it
        assert not done
        source._process.send_signal(signal.SIGCONT)
        await asyncio.gather(first, second)
        assert done == ["first", "second"]
        await store.close()


def other_key_at(store: Store, servers: ClusterServers, server: Server) -> bytes:
    """A key of another slot that has always been there: its answer says that what was sent before has been answered."""
    return next(k for n in range(60) if servers.owner(key_slot(k := key(store, str(n)))) is server)


async def test_calls_for_a_dead_node_fail_in_time_and_the_others_continue(prefix):
    with redis_cluster(cluster_require_full_coverage="no") as servers:
        store = await open_store(servers.url, prefix=prefix, timeout_ms=1_000, retry_ms=300)
        keys = {servers.owner(key_slot(key(store, str(n)))).port: key(store, str(n)) for n in range(40)}
        dead = servers.servers[2]
        # Given a node that is killed
        dead.kill()
        await asyncio.sleep(0.05)
        mine, other = keys[dead.port], keys[servers.servers[0].port]
        # Then what it has is unavailable, never written, and the rest works
        with pytest.raises(StoreUnavailable):
            await store.call(PUSH, [mine], [1], retry=False)
        assert await store.call(PUSH, [other], [1]) == 1
        # When it is back, so are its keys
        await asyncio.to_thread(dead.start)
        assert await eventually(store, mine) == 1
        await store.close()


async def eventually(store: Store, k: bytes) -> int:
    while True:
        try:
            length: int = await store.call(PUSH, [k], [1])
        except StoreUnavailable:
            continue
        return length


async def test_an_old_primary_with_calls_in_flight_is_left_after_a_failover(prefix):
    """It is a replica now.  A node that stayed would be unfit, and the broker not ready."""
    with redis_cluster(cluster_node_timeout="2000") as cluster:
        primary = cluster.servers[0]
        with cluster.replica_of(primary, cluster_node_timeout="2000") as replica:
            store = await Store.open(cluster.url, prefix=prefix, retry_ms=5_000)
            at = next(k for n in range(100) if cluster.owner(key_slot(k := key(store, str(n)))) is primary)
            assert await store.call(PUSH, [at], [b"0"]) == 1
            assert replica.ask("CLUSTER", "FAILOVER", "TAKEOVER") == b"OK"
            async with asyncio.timeout(20):
                while b"role:slave" not in primary.info("replication"):
                    await store.call(PUSH, [at], [b"1"], retry=True)
            # When the map is read while calls of the old primary are in flight
            topology = store.topology
            old = next((link for link in topology.links() if link.name == f"127.0.0.1:{primary.port}"), None)
            if old is None:  # it was left at once: it comes back by a redirection of a node that is not up to date
                old = topology.at("127.0.0.1", primary.port, topology.links()[0])
                await old.ready.wait()
            primary.freeze()
            waiting = asyncio.ensure_future(old.ask([(b"PING",)]))
            await asyncio.sleep(0)
            await topology.learn()
            assert old in topology.links()
            primary.thaw()
            await waiting
            # Then it is left as soon as they are answered
            async with within(10):
                while old in topology.links():
                    await asyncio.sleep(0.02)
            await store.close()


async def test_a_redirection_just_after_the_map_was_read_leads_to_another_read(prefix):
    """Otherwise a redirection of a node that is not up to date would hold until the next failure."""
    with redis_cluster() as cluster:
        store = await Store.open(cluster.url, prefix=prefix, retry_ms=5_000)
        topology = store.topology
        assert isinstance(topology, Cluster)
        owner = topology.owner(0)
        other = next(link for link in topology.links() if link is not owner)
        before = _map_reads(cluster)
        topology.refresh()
        async with within(10):
            while _map_reads(cluster) == before:
                await asyncio.sleep(0)
        await asyncio.sleep(REFRESH_PAUSE_S / 4)  # the answer is taken
        # When a node that is not up to date names another owner
        topology.moved(0, "127.0.0.1", int(other.name.partition(":")[2]), owner)
        # Then the map corrects it
        async with within(10):
            while topology.owner(0) is not owner:
                await asyncio.sleep(0.02)
        assert topology.owner(0) is owner
        await store.close()


def _map_reads(cluster) -> int:
    return sum(
        int(found[1])
        for server in cluster.servers
        if (found := re.search(rb"cmdstat_cluster\|slots:calls=(\d+)", server.info("commandstats")))
    )


async def test_an_unreachable_cluster_is_reported_in_one_sentence():
    with pytest.raises(StoreUnavailable, match="the Redis cluster cannot be used: 127"):
        await Store.open("redis+cluster://127.0.0.1:1", retry_ms=100)


async def test_a_server_that_is_no_cluster_is_reported_in_one_sentence(redis):
    with pytest.raises(StoreUnavailable, match="cluster support disabled"):
        await Store.open(f"redis+cluster://127.0.0.1:{redis.port}", retry_ms=100)
