"""Store behind a real sentinel: it finds the primary, also after a failover."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from redis_ledger.errors import StoreUnavailable
from redis_ledger.store.store import Store
from tests.support.busy_machine import within
from tests.support.free_ports import free_port
from tests.support.redis_servers import Server, redis_server
from tests.support.script_functions import functions, replace_scripts
from tests.support.sentinels import naming, sentinel

(PUSH,) = functions(push=b"#!lua\nreturn redis.call('RPUSH', KEYS[1], ARGV[1])")


@pytest.fixture(autouse=True)
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_scripts(monkeypatch, PUSH)


async def test_the_primary_is_found_through_the_first_sentinel_that_answers(redis: Server, prefix):
    with sentinel(redis) as watcher:
        store = await Store.open(f"redis+sentinel://127.0.0.1:{free_port()},127.0.0.1:{watcher.port}/mine")
        assert (await store.node_info())[0].address == f"127.0.0.1:{redis.port}"
        await store.close()


async def test_a_primary_that_was_demoted_is_left_for_the_one_that_the_sentinel_names(prefix):
    fast: dict[str, Any] = {"repl_diskless_sync_delay": "0"}
    async with contextlib.AsyncExitStack() as stack:
        first = stack.enter_context(redis_server(**fast))
        second = stack.enter_context(redis_server(replicaof=f"127.0.0.1 {first.port}", **fast))
        # Given a store that writes to the first primary, and a replica that has all of it
        named = [first.port]
        url = await stack.enter_async_context(naming(named))
        store = await Store.open(url, prefix=prefix, retry_ms=5_000)
        key = f"{prefix}:k".encode()
        assert await store.call(PUSH, [key], [b"before"]) == 1
        while second.ask("LLEN", key) != 1:
            await asyncio.sleep(0.02)
        # When the roles change while the store's connection stays, and the sentinel learns of it later
        second.ask("REPLICAOF", "NO", "ONE")
        first.ask("REPLICAOF", "127.0.0.1", second.port)
        calls = [store.call(PUSH, [key], [n], retry=False) for n in range(10)]
        await asyncio.sleep(0.1)
        named[0] = second.port
        # Then what was refused is written to the new primary, in order
        assert await asyncio.gather(*calls) == list(range(2, 12))
        assert (await store.node_info())[0].address == f"127.0.0.1:{second.port}"
        await store.close()


async def test_a_primary_that_stays_alive_is_left_for_the_one_that_the_sentinel_names(prefix):
    """SENTINEL FAILOVER promotes a replica while the old primary goes on, for ten seconds."""
    with redis_server() as first, redis_server() as second:
        named = [first.port]
        async with naming(named) as url:
            store = await Store.open(url, prefix=prefix, retry_ms=5_000)
            key = f"{prefix}:k".encode()
            assert await store.call(PUSH, [key], [b"before"]) == 1
            named[0] = second.port
            async with within(5):
                while not second.ask("EXISTS", key):
                    await store.call(PUSH, [key], [b"after"], retry=True)
                    await asyncio.sleep(0.05)
            assert (await store.node_info())[0].address == f"127.0.0.1:{second.port}"
            await store.close()


async def test_subscriptions_follow_the_primary(prefix):
    """The old one stays alive, and would pass messages on late or never."""
    with redis_server() as first, redis_server() as second:
        named = [first.port]
        async with naming(named) as url:
            store = await Store.open(url, prefix=prefix, retry_ms=5_000)
            channel, got = f"{prefix}:{{a}}:wake".encode(), list[bytes]()
            await store.subscribe(channel, got.append, lambda: None)
            named[0] = second.port
            async with within(10):
                while not got:
                    second.ask("SPUBLISH", channel, "here")
                    await asyncio.sleep(0.05)
            assert got[0] == b"here"
            await store.close()


async def test_an_unknown_sentinel_primary_is_reported_in_one_sentence(prefix):
    with redis_server() as primary, sentinel(primary) as watcher:
        with pytest.raises(StoreUnavailable, match="does not know 'other'"):
            await Store.open(f"redis+sentinel://127.0.0.1:{watcher.port}/other", prefix=prefix, retry_ms=200)
