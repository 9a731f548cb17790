"""The start-up checks against servers that are fit, unfit and silent."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import pytest

from redis_ledger.app.embedded_redis.binary import bundled_server
from redis_ledger.store.checks import Report, UnsuitableRedis, check
from redis_ledger.store.copies import CopiesRequired
from redis_ledger.store.store import Script, Store
from tests.support.redis_servers import redis_server, replicated
from tests.support.script_functions import replace_scripts
from tests.support.stores import open_store

DURABLE = {"appendonly": "yes", "appendfsync": "always"}


@pytest.fixture(autouse=True)
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_scripts(monkeypatch)


@contextlib.asynccontextmanager
async def store_on(*, server_binary: str | None = None, **conf: str) -> AsyncIterator[Store]:
    with redis_server(unix=True, server_binary=server_binary, **conf) as server:
        store = await open_store(server.url, retry_ms=300)
        try:
            yield store
        finally:
            await store.close()


async def test_a_fit_redis_passes_and_is_left_as_it_was():
    async with store_on(**DURABLE) as store:
        report = await check(store, "disk")
        assert (report.durability, report.warnings) == ("disk", [])
        assert await store.command(b"DBSIZE") == 0


@pytest.mark.parametrize(
    ("conf", "durability", "reason"),
    [
        ({"maxmemory_policy": "allkeys-lru"} | DURABLE, "lossy", "maxmemory-policy allkeys-lru"),
        ({}, "process", "appendonly no"),
        ({"appendonly": "yes", "appendfsync": "everysec"}, "process", "appendfsync everysec"),
        ({"appendonly": "yes", "appendfsync": "no"}, "disk", "appendfsync no"),
    ],
)
async def test_an_unfit_redis_is_refused_with_its_reason_and_the_cure(conf, durability, reason):
    async with store_on(**conf) as store:
        with pytest.raises(UnsuitableRedis) as refusal:
            await check(store, durability)
        assert reason in str(refusal.value)
        assert "CONFIG SET" in str(refusal.value) or "--durability" in str(refusal.value)


@pytest.mark.parametrize(
    ("conf", "durability"),
    [
        ({}, "lossy"),
        ({"appendonly": "yes", "appendfsync": "no"}, "process"),
        (DURABLE, "process"),
    ],
)
async def test_a_level_that_the_settings_keep_is_accepted(conf, durability):
    async with store_on(**conf) as store:
        assert (await check(store, durability)).durability == durability


async def test_the_level_replicas_refuses_a_primary_without_enough_of_them():
    async with store_on(**DURABLE) as store:
        with pytest.raises(UnsuitableRedis, match="has 0 of the 1 in-sync replicas"):
            await check(store, "replicas", copies=CopiesRequired(2, 1_000))


async def test_the_level_replicas_is_accepted_with_enough_of_them_and_warns_of_those_it_does_not_wait_for():
    with replicated(2, min_replicas_to_write="1") as (primary, *_):
        for min_insync, warned in ((3, []), (2, ["has 2 replicas, and answers wait for 1 of them"])):
            copies = CopiesRequired(min_insync, 1_000)
            store = await Store.open(primary.url, copies=copies)
            report = await check(store, "replicas", copies=copies)
            assert report.durability == "replicas"
            assert all(part in each.seen for part, each in zip(warned, report.warnings, strict=True))
            await store.close()


async def test_settings_that_may_not_be_read_are_warned_of_and_reported_unknown():
    with redis_server(unix=True, **DURABLE) as server:
        server.ask("ACL", "SETUSER", "app", "on", ">pw", "~*", "&*", "+@all", "-config", "-info")
        assert server.path is not None
        store = await Store.open(f"unix://app:pw@{server.path}")
        report: Report = await check(store, "process")
        assert report.durability == "unknown"
        assert len(report.warnings) == 3
        assert (report.nodes[0].version, report.nodes[0].maxmemory_policy, report.nodes[0].appendfsync) == (
            None, None, None,
        )  # fmt: skip
        await store.close()


async def test_a_replica_is_refused():
    with redis_server(repl_diskless_sync_delay="0") as primary, redis_server(unix=True, **DURABLE) as replica:
        replica.ask("REPLICAOF", "127.0.0.1", primary.port)
        store = await Store.open(replica.url, retry_ms=200)
        with pytest.raises(UnsuitableRedis, match=f"is a read-only replica of 127.0.0.1:{primary.port}"):
            await check(store, "process")
        await store.close()


async def test_a_script_that_redis_does_not_take_is_refused_by_name(monkeypatch):
    broken = Script("test/broken", b"#!lua\nthis is not lua")
    replace_scripts(monkeypatch, broken)
    async with store_on(**DURABLE) as store:
        with pytest.raises(UnsuitableRedis, match="does not take the script test/broken"):
            await check(store, "disk")


async def test_the_packaged_valkey_passes_and_tells_both_its_versions():
    async with store_on(server_binary=str(bundled_server()), **DURABLE) as store:
        (node,) = (await check(store, "disk")).nodes
        assert node.product == "valkey"
        assert node.version == "7.2.4"
        assert node.product_version is not None
        assert int(node.product_version.split(".")[0]) >= 8


async def test_an_old_version_is_refused(monkeypatch, redis_url):
    store = await Store.open(redis_url)
    (node,) = await store.node_info()
    old = type(node)(**{name: getattr(node, name) for name in type(node).__slots__} | {"version": "6.2.14"})

    async def nodes() -> list[object]:
        return [old]

    monkeypatch.setattr(store, "node_info", nodes)
    with pytest.raises(UnsuitableRedis, match=r"version 6\.2\.14\. Use Redis 7\.0"):
        await check(store, "lossy")
    await store.close()
