"""Durability `replicas` in the store: what Redis answers is passed on when enough real replicas have it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from redis_ledger.errors import NotReplicated, OutcomeUnknown, StoreTimeout, TooFewReplicas
from redis_ledger.store.connection import RedisCall
from redis_ledger.store.copies import CopiesRequired
from redis_ledger.store.node import Node
from redis_ledger.store.replication import HELD_BYTES_MAX
from redis_ledger.store.store import Store
from tests.support.busy_machine import busy_machine, within
from tests.support.redis_servers import Server, redis_cluster, redis_server, replicated, wait_for_replicas, wait_in_step
from tests.support.script_functions import functions, replace_scripts
from tests.support.sentinels import naming

(PUSH,) = functions(push=b"#!lua\nreturn redis.call('RPUSH', KEYS[1], ARGV[1])")
TIMEOUT_MS = 400


@pytest.fixture(autouse=True)
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_scripts(monkeypatch, PUSH)


@pytest.fixture
def servers() -> Iterator[list[Server]]:
    """A primary and two replicas."""
    with replicated() as started:
        yield started


@contextlib.asynccontextmanager
async def store_on(
    url: str, prefix: str, min_insync: int = 3, timeout_ms: int = TIMEOUT_MS, retry_ms: int = 5_000
) -> AsyncIterator[Store]:
    store = await Store.open(url, prefix=prefix, retry_ms=retry_ms, copies=CopiesRequired(min_insync, timeout_ms))
    try:
        yield store
    finally:
        await store.close()


def key_of(prefix: str, name: str = "k") -> bytes:
    return f"{prefix}:{{{name}}}".encode()


async def served_again(store: Store, key: bytes) -> None:
    async with within(5):
        while True:
            with contextlib.suppress(TooFewReplicas, StoreTimeout):
                await store.command(b"EXISTS", key, key=key)
                return
            await asyncio.sleep(0.02)


async def test_what_was_answered_is_on_every_required_replica(servers, prefix):
    key = key_of(prefix)
    async with store_on(servers[0].url, prefix) as store:
        for n in range(50):
            # A script, a command and a unit
            assert await store.call(PUSH, [key], [n], retry=False) == 3 * n + 1
            assert await store.command(b"RPUSH", key, n, key=key, retry=False) == 3 * n + 2
            assert await store.multi(key, [(b"RPUSH", key, n)]) == [3 * n + 3]
            assert [server.ask("LLEN", key) for server in servers[1:]] == [3 * n + 3] * 2


async def test_a_stopped_replica_holds_writes_and_reads_and_fails_them_when_the_time_is_up(servers, prefix):
    key, loop = key_of(prefix), asyncio.get_running_loop()
    async with store_on(servers[0].url, prefix) as store:
        await store.call(PUSH, [key], [b"before"])
        # Given a replica that does not answer
        servers[2].freeze()
        began = loop.time()
        calls = [
            store.call(PUSH, [key], [b"held"], retry=False),
            store.multi(key, [(b"RPUSH", key, b"held")]),
            store.call(PUSH, [key], [b"held"], retry=True),
            store.command(b"LLEN", key, key=key),
        ]
        # When half the time is over, then nothing was answered, although the primary has carried it out
        done, _ = await asyncio.wait(calls, timeout=TIMEOUT_MS / 2000)
        assert not done
        assert servers[0].ask("LLEN", key) == 4
        # When it is up, then each call fails by its kind
        async with busy_machine() as machine:
            failed = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(each) for each in failed] == [NotReplicated, NotReplicated, StoreTimeout, StoreTimeout]
        assert TIMEOUT_MS / 1000 <= loop.time() - began < TIMEOUT_MS / 1000 + 1 + machine.lost_s
        # and the next ones are refused before they are sent, reads and units too
        for refused in (
            store.call(PUSH, [key], [b"no"]),
            store.command(b"LLEN", key, key=key),
            store.multi(key, [(b"RPUSH", key, b"no")]),
        ):
            with pytest.raises(TooFewReplicas, match="2 in-sync copies of its data, and 3 are required"):
                await refused
        assert servers[0].ask("LLEN", key) == 4
        # When it goes on, then calls are served again
        servers[2].thaw()
        await served_again(store, key)
        assert await store.call(PUSH, [key], [b"after"]) == 5
        assert servers[2].ask("LLEN", key) == 5


async def test_a_replica_that_goes_on_in_time_releases_what_was_held_in_order(servers, prefix):
    key = key_of(prefix)
    async with store_on(servers[0].url, prefix, timeout_ms=5_000) as store:
        servers[2].freeze()
        answers: list[int] = []
        calls = [store.call(PUSH, [key], [n], retry=False) for n in range(20)]
        for call in calls:
            call.add_done_callback(lambda done: answers.append(done.result()))
        await asyncio.sleep(0.2)
        assert not answers
        servers[2].thaw()
        await asyncio.gather(*calls)
        assert answers == list(range(1, 21))


async def test_fewer_copies_wait_for_the_fastest_replica_only(servers, prefix):
    key = key_of(prefix)
    async with store_on(servers[0].url, prefix, min_insync=2) as store:
        servers[2].freeze()
        assert await store.call(PUSH, [key], [b"a"]) == 1
        assert servers[1].ask("LLEN", key) == 1


async def test_a_topic_that_requires_more_copies_waits_for_them_and_others_do_not(servers, prefix):
    few, many = key_of(prefix, "few"), key_of(prefix, "many")
    async with store_on(servers[0].url, prefix, min_insync=2) as store:
        store.require_copies(many, 3)
        store.require_copies(few, 1)  # never fewer than the store's
        assert await store.call(PUSH, [many], [b"a"]) == 1
        servers[2].freeze()
        held = store.call(PUSH, [many], [b"b"], retry=False)
        read = store.command(b"LLEN", many, key=many)
        assert await store.call(PUSH, [few], [b"a"]) == 1
        with pytest.raises(NotReplicated):
            await held
        with pytest.raises(StoreTimeout):
            await read
        with pytest.raises(TooFewReplicas, match="2 in-sync copies of its data, and 3 are required"):
            await store.call(PUSH, [many], [b"c"])
        assert await store.call(PUSH, [few], [b"b"]) == 2
        # When it asks for no more than others
        store.require_copies(many, 1)
        assert await store.call(PUSH, [many], [b"c"]) == 3


async def test_a_unit_that_does_not_await_replicas_is_answered_at_once(servers, prefix):
    key = key_of(prefix)
    async with store_on(servers[0].url, prefix, timeout_ms=5_000) as store:
        servers[2].freeze()
        held = store.multi(key, [(b"RPUSH", key, b"waits")])
        assert await store.multi(key, [(b"RPUSH", key, b"does not")], awaits_replicas=False) == [2]
        assert not held.done()


async def test_an_error_of_redis_is_answered_without_a_replica(servers, prefix):
    key = key_of(prefix)
    async with store_on(servers[0].url, prefix, timeout_ms=5_000) as store:
        await store.command(b"SET", key, b"text", key=key)
        servers[2].freeze()
        with pytest.raises(Exception, match="WRONGTYPE"):
            await store.call(PUSH, [key], [b"a"])


async def test_a_held_call_is_repeated_at_the_new_primary_if_that_is_safe(servers, prefix):
    key = key_of(prefix)
    primary, heir, follower = servers
    named = [primary.port]
    async with naming(named) as url, store_on(url, prefix, min_insync=3, timeout_ms=8_000) as store:
        await store.command(b"SET", key, 0, key=key)
        # Given calls that the primary carried out and one replica does not confirm
        follower.freeze()
        safe = store.command(b"SET", key, 1, key=key, retry=True)
        unit = store.multi(key, [(b"APPEND", key, b"2")])
        await asyncio.sleep(0.2)
        assert primary.ask("GET", key) == b"12"
        # When the primary dies and the other replica, which has all of it, takes over with both of them
        primary.kill()
        follower.thaw()
        heir.ask("REPLICAOF", "NO", "ONE")
        follower.ask("REPLICAOF", "127.0.0.1", heir.port)
        with replicated_by(heir):
            wait_for_replicas(heir, 2)
            named[0] = heir.port
            with pytest.raises(OutcomeUnknown, match="may or may not have happened"):
                await unit
            # Then the safe one was sent again, and waited there
            assert await safe == b"OK"
            assert heir.ask("GET", key) == b"1"
            assert follower.ask("GET", key) == b"1"


async def test_a_primary_that_was_demoted_and_promoted_again_confirms_nothing_of_before(servers, prefix):
    key = key_of(prefix)
    primary, heir, follower = servers
    async with store_on(primary.url, prefix, min_insync=3, timeout_ms=8_000) as store:
        await store.command(b"SET", key, b"before", key=key)
        # Given a write that only the primary has
        for server in (heir, follower):
            server.freeze()
        primary.ask("CLIENT", "KILL", "TYPE", "replica")
        lost = store.multi(key, [(b"SET", key, b"lost")])
        await asyncio.sleep(0.2)
        assert primary.ask("GET", key) == b"lost"
        # When the heir takes over, the old primary copies its data, and becomes the primary again
        primary.freeze()
        heir.thaw()
        heir.ask("REPLICAOF", "NO", "ONE")
        primary.thaw()
        primary.ask("REPLICAOF", "127.0.0.1", heir.port)
        async with within(10):
            while primary.ask("GET", key) != b"before":
                await asyncio.sleep(0.02)
        primary.ask("REPLICAOF", "NO", "ONE")
        follower.thaw()
        for server in (heir, follower):
            server.ask("REPLICAOF", "127.0.0.1", primary.port)
        # Then the write is not answered as done
        with pytest.raises(OutcomeUnknown):
            await lost
        await served_again(store, key)
        assert await store.command(b"GET", key, key=key) == b"before"


async def test_a_lost_acknowledgement_connection_is_opened_again(servers, prefix):
    key = key_of(prefix)
    async with store_on(servers[0].url, prefix) as store:
        assert await store.call(PUSH, [key], [b"a"]) == 1
        listed = servers[0].ask("CLIENT", "LIST", "TYPE", "normal")
        assert isinstance(listed, bytes)
        for line in listed.splitlines():
            fields = dict(pair.split(b"=", 1) for pair in line.split())
            if fields[b"cmd"] == b"info" and fields[b"lib-name" if b"lib-name" in fields else b"name"] == b"":
                servers[0].ask("CLIENT", "KILL", "ID", fields[b"id"])
        assert await store.call(PUSH, [key], [b"b"]) == 2


async def test_each_node_of_a_cluster_has_a_barrier(prefix):
    with redis_cluster(repl_diskless_sync_delay="0", cluster_node_timeout="3000") as cluster:
        with contextlib.ExitStack() as stack:
            replicas = [stack.enter_context(cluster.replica_of(each)) for each in cluster.servers]
            async with store_on(cluster.url, prefix, min_insync=2, timeout_ms=1_000) as store:
                keys = [key_of(prefix, str(n)) for n in range(30)]
                for key in keys:
                    await served_again(store, key)
                assert await asyncio.gather(*(store.call(PUSH, [key], [b"a"]) for key in keys)) == [1] * 30
                assert all(node.barrier is not None for node in store.topology.links())
                # When one replica stops, then calls on its node fail, and no others
                replicas[0].freeze()
                results = await asyncio.gather(
                    *(store.call(PUSH, [key], [b"b"], retry=False) for key in keys), return_exceptions=True
                )
                at_first = [cluster.owner(store.topology.slot(key)) is cluster.servers[0] for key in keys]
                assert 0 < sum(at_first) < 30
                assert [isinstance(each, NotReplicated) for each in results] == at_first
                replicas[0].thaw()


async def test_held_replies_above_the_bound_stop_the_reading(servers, prefix):
    key = key_of(prefix)
    async with store_on(servers[0].url, prefix, timeout_ms=5_000) as store:
        await store.command(b"SET", key, b"x" * (1 << 20), key=key)
        await served_again(store, key)
        servers[2].freeze()
        reads = [store.command(b"GET", key, key=key) for _ in range(HELD_BYTES_MAX // (1 << 20) + 40)]
        (link,) = store.topology.links()
        assert link.barrier is not None
        async with within(5):
            while not link.barrier._is_paused:
                await asyncio.sleep(0.02)
        await asyncio.sleep(0.2)
        assert link.barrier._held_bytes < HELD_BYTES_MAX + (8 << 20)
        # When the replica goes on, then all are read
        servers[2].thaw()
        assert {len(each) for each in await asyncio.gather(*reads)} == {1 << 20}
        assert not link.barrier._is_paused


async def test_a_full_redis_still_confirms(servers, prefix):
    key = key_of(prefix)
    async with store_on(servers[0].url, prefix) as store:
        await store.command(b"SET", key, b"v", key=key)
        servers[0].ask("CONFIG", "SET", "maxmemory", "1")
        assert await store.command(b"GET", key, key=key) == b"v"


async def test_other_levels_have_no_barrier_and_calls_stay_plain(servers, prefix, monkeypatch):
    sent: list[RedisCall] = []
    send = Node.send

    def noted(self: Node, call: RedisCall) -> None:
        sent.append(call)
        send(self, call)

    monkeypatch.setattr(Node, "send", noted)
    store = await Store.open(servers[0].url, prefix=prefix)
    key = key_of(prefix)
    for server in servers[1:]:
        server.freeze()
    assert await store.call(PUSH, [key], [b"a"]) == 1
    assert all(call.plain for call in sent)
    assert [node.barrier for node in store.topology.links()] == [None]
    await store.close()


@contextlib.contextmanager
def replicated_by(primary: Server, **conf: Any) -> Iterator[Server]:
    """One replica more."""
    with redis_server(replicaof=f"127.0.0.1 {primary.port}", repl_diskless_sync_delay="0", **conf) as replica:
        wait_in_step(replica)
        yield replica
