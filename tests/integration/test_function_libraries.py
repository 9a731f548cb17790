"""Function libraries in the data: loaded where they are missing, side by side for two releases, removed when unused."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import pytest

from redis_ledger.app.embedded_redis.binary import bundled_server
from redis_ledger.broker.cluster.live_brokers import LiveBrokers
from redis_ledger.broker.cluster.unused_libraries import UnusedLibraries
from redis_ledger.store.checks import check
from redis_ledger.store.function_library import build, hash_of
from redis_ledger.store.scripts import Script
from redis_ledger.store.store import ReplyError, Store
from tests.support.broker import eventually
from tests.support.redis_servers import Server, redis_server, replicated, wait_in_step

OWN = {library.name for library in Script.libraries()}
OLDER = build("txn", {"txn/open": b"#!lua flags=allow-oom\nreturn { 'of an earlier release' }"})
WRITE = Script.load("broker/write_allow_oom")


@contextlib.asynccontextmanager
async def opened(url: str, prefix: str = "t") -> AsyncIterator[Store]:
    store = await Store.open(url, prefix=prefix, retry_ms=2_000)
    try:
        yield store
    finally:
        await store.close()


async def writes(store: Store) -> None:
    key = f"{store.prefix}:{{k}}".encode()
    await store.call(WRITE, (key,), ("SET", "v"))
    assert await store.command("GET", key, key=key) == b"v"


def calls(server: Server, command: str) -> int:
    rows = [row for row in server.info("commandstats").splitlines() if row.startswith(f"cmdstat_{command}:".encode())]
    return int(rows[0].partition(b"calls=")[2].partition(b",")[0]) if rows else 0


def loaded(server: Server) -> set[bytes]:
    listed = server.ask("FUNCTION", "LIST")
    assert isinstance(listed, list)
    return {each[1] for each in listed}


async def test_a_new_server_has_all_libraries_and_a_second_broker_loads_none():
    with redis_server(unix=True) as server:
        async with opened(server.url) as store:
            assert loaded(server) == OWN
            await writes(store)
            assert (calls(server, "fcall"), calls(server, "evalsha")) == (2, 0)  # one is the probe
        before = calls(server, "function|load")
        async with opened(server.url):
            assert calls(server, "function|load") == before == len(OWN)


async def test_valkey_runs_the_libraries():
    with redis_server(unix=True, server_binary=str(bundled_server())) as server:
        async with opened(server.url) as store:
            assert loaded(server) == OWN
            await writes(store)


async def test_a_restarted_server_has_the_libraries_from_its_append_only_file():
    with redis_server(unix=True, appendonly="yes") as server:
        async with opened(server.url):
            pass
        server.kill()
        server.start()
        async with opened(server.url):  # waits until it has loaded its data
            assert loaded(server) == OWN
            assert calls(server, "function|load") == 0


async def test_a_promoted_replica_has_the_libraries():
    with replicated(1) as (primary, replica):
        async with opened(primary.url):
            wait_in_step(replica)
            primary.ask("WAIT", 1, 2_000)
        replica.ask("REPLICAOF", "NO", "ONE")
        assert loaded(replica) == OWN
        async with opened(replica.url) as store:
            await writes(store)


async def test_every_primary_of_a_cluster_has_the_libraries(cluster, prefix):
    async with opened(cluster.url, prefix):

        async def has_all() -> bool:  # a connection to a node is opened in the background
            return all(loaded(server) >= OWN for server in cluster.servers)

        assert await eventually(has_all, True)


@pytest.mark.parametrize("refused", ["-fcall", "-function", "-function|load"])
async def test_a_user_who_may_not_call_functions_calls_scripts_and_is_warned(refused):
    with redis_server(unix=True, appendonly="yes", appendfsync="no") as server:
        server.ask("ACL", "SETUSER", "app", "on", ">pw", "~*", "&*", "+@all", refused)
        async with opened(f"unix://app:pw@{server.path}") as store:
            await writes(store)
            assert calls(server, "evalsha") > 0
            (warning,) = (await check(store, "process")).warnings
            assert "takes no function libraries: NOPERM" in warning.seen


async def test_a_broker_that_starts_on_a_full_redis_calls_scripts_until_there_is_room():
    with redis_server(unix=True) as server:
        server.ask("SET", "data", b"x" * 2_000_000)
        server.ask("CONFIG", "SET", "maxmemory", "1mb")
        async with opened(server.url) as store:
            # Given a Redis that refuses libraries; Then scripts that are allowed when it is full run
            await writes(store)
            assert not store.topology.scripts.uses_functions
            # And looking again changes nothing
            await store.load_libraries()
            assert not store.topology.scripts.uses_functions
            # When there is room again
            server.ask("CONFIG", "SET", "maxmemory", "0")
            await store.load_libraries()
            # Then functions are called
            before = calls(server, "fcall")
            await writes(store)
            assert (calls(server, "fcall"), loaded(server)) == (before + 1, OWN)


async def test_a_full_redis_that_lost_its_libraries_runs_scripts_from_the_second_call_on():
    with redis_server(unix=True) as server:
        async with opened(server.url) as store:
            server.ask("SET", "data", b"x" * 2_000_000)
            server.ask("FUNCTION", "FLUSH")
            server.ask("CONFIG", "SET", "maxmemory", "1mb")
            with pytest.raises(ReplyError, match="Function not found"):
                await writes(store)
            await writes(store)


async def test_two_releases_call_their_own_functions_on_one_server():
    with redis_server(unix=True) as server:
        server.ask("FUNCTION", "LOAD", OLDER.source)
        async with opened(server.url) as store:
            assert loaded(server) == {*OWN, OLDER.name}
            assert server.ask("FCALL", OLDER.functions["txn/open"], 0) == [b"of an earlier release"]
            await writes(store)


async def test_a_library_that_no_live_broker_uses_is_removed_at_the_second_look(prefix):
    with redis_server(unix=True) as server:
        async with opened(server.url, prefix) as store:
            server.ask("FUNCTION", "LOAD", OLDER.source)
            live = LiveBrokers(store, "b1", "http://b1")
            await live.send_heartbeat()
            unused = UnusedLibraries(store, live)
            await unused.remove()
            assert loaded(server) == {*OWN, OLDER.name}
            await unused.remove()
            assert loaded(server) == OWN


async def test_a_library_of_another_live_release_stays(prefix, monkeypatch):
    with redis_server(unix=True) as server:
        async with opened(server.url, prefix) as store:
            server.ask("FUNCTION", "LOAD", OLDER.source)
            other, live = LiveBrokers(store, "old", "http://old"), LiveBrokers(store, "b1", "http://b1")
            with monkeypatch.context() as earlier:
                earlier.setattr(Script, "libraries", lambda: (OLDER,))
                await other.send_heartbeat()
            await live.send_heartbeat()
            assert hash_of(OLDER.name) in live.libraries
            unused = UnusedLibraries(store, live)
            for _ in range(3):
                await unused.remove()
            assert OLDER.name in loaded(server)


async def test_a_removed_library_is_loaded_again_by_a_process_that_still_calls_it(prefix):
    with redis_server(unix=True) as server:
        async with opened(server.url, prefix) as store:
            for name in OWN:
                server.ask("FUNCTION", "DELETE", name)
            await writes(store)
            assert loaded(server) == OWN
