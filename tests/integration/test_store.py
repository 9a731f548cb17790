"""Store on one server: calls, units, order, pipelining, errors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from redis_ledger.errors import LedgerError, RedisUnfit, StorageFull, StoreUnavailable, TooFewReplicas, Unavailable
from redis_ledger.store.store import ReplyError, Script, ScriptCall, ScriptMissing, Store
from tests.support.processes import eventually
from tests.support.proxy import proxy
from tests.support.redis_servers import Server, redis_server
from tests.support.script_functions import functions, replace_scripts

PUSH, FREE = functions(
    push=b"#!lua\nreturn redis.call('RPUSH', KEYS[1], ARGV[1])",
    free=b"#!lua flags=allow-oom\nreturn redis.call('DEL', KEYS[1])",
)


@pytest.fixture(autouse=True)
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store knows the scripts of these tests instead of those in lua/."""
    replace_scripts(monkeypatch, PUSH, FREE)


@pytest.fixture
async def store(redis_url: str, prefix: str) -> AsyncIterator[Store]:
    store = await Store.open(redis_url, prefix=prefix)
    yield store
    await store.close()


def forget_scripts(redis: Server) -> None:
    redis.ask("SCRIPT", "FLUSH")
    redis.ask("FUNCTION", "FLUSH")


def key(store: Store, name: str = "k") -> bytes:
    return f"{store.prefix}:{{{name}}}".encode()


async def test_a_script_runs_with_its_keys_and_arguments(store):
    # Given an empty list; When a script pushes; Then it answers the length, as Redis gives it
    assert await store.call(PUSH, [key(store)], [b"a"]) == 1
    assert await store.call(PUSH, [key(store)], ["b"]) == 2
    assert await store.call(PUSH, [key(store)], [3]) == 3
    assert await store.command(b"LRANGE", key(store), 0, -1, key=key(store)) == [b"a", b"b", b"3"]


async def test_calls_are_carried_out_in_the_order_they_were_issued(store):
    # Given a thousand calls, all issued before the first is awaited
    calls = [store.call(PUSH, [key(store)], [n]) for n in range(1_000)]
    # When all are answered
    answers = await asyncio.gather(*calls)
    # Then each met its own reply
    assert answers == list(range(1, 1_001))


async def test_everything_of_one_tick_leaves_in_one_write(redis, prefix):
    async with proxy("127.0.0.1", redis.port) as relay:
        store = await Store.open(relay.url, prefix=prefix)
        relay.requests.clear()
        # Given a hundred calls and a unit in one tick
        calls = [store.call(PUSH, [key(store)], [n]) for n in range(100)]
        calls.append(store.multi(key(store), [(b"LLEN", key(store))]))
        # When they are answered
        answers = await asyncio.gather(*calls)
        # Then one piece went over the wire
        assert answers[-1] == [100]
        assert len(relay.requests) == 1
        await store.close()


async def test_a_unit_is_answered_with_the_list_of_exec(store):
    found = await store.multi(
        key(store),
        [(b"SET", key(store, "k"), b"v"), ScriptCall(PUSH, [key(store) + b":list"], [b"x"]), (b"GET", key(store))],
    )
    assert found == [b"OK", 1, b"v"]


async def test_a_failed_command_of_a_unit_is_an_element_and_the_others_stand(store):
    found = await store.multi(key(store), [(b"SET", key(store), b"v"), (b"RPUSH", key(store), b"x")])
    assert found[0] == b"OK"
    assert isinstance(found[1], ReplyError)
    assert str(found[1]).startswith("WRONGTYPE")


async def test_a_unit_with_a_malformed_command_is_not_carried_out(store):
    with pytest.raises(ReplyError, match="wrong number of arguments"):
        await store.multi(key(store), [(b"SET", key(store), b"v"), (b"RPUSH", key(store))])
    assert await store.command(b"EXISTS", key(store), key=key(store)) == 0


async def test_large_arguments_arrive_whole_among_small_calls(store):
    # Given payloads around and far above the size from which they are not copied
    payloads = [bytes([n]) * size for n, size in enumerate((8_191, 8_192, 8_193, 300_000, 5_000_000))]
    # When they are written in units, with small calls between them, in one tick
    calls = []
    for payload in payloads:
        calls.append(store.multi(key(store), [(b"APPEND", key(store), payload), (b"STRLEN", key(store))]))
        calls.append(store.call(PUSH, [key(store) + b":list"], [b"x"]))
    await asyncio.gather(*calls)
    # Then the value is their sum
    assert await store.command(b"GET", key(store), key=key(store)) == b"".join(payloads)


async def test_an_error_reply_reaches_only_its_own_caller(store):
    await store.command(b"SET", key(store), b"v", key=key(store))
    calls = [store.call(PUSH, [key(store)], [b"x"]), store.command(b"GET", key(store), key=key(store))]
    error, value = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(error, ReplyError)
    assert value == b"v"


async def test_a_cancelled_call_leaves_the_replies_behind_it_in_place(store):
    first, second = store.call(PUSH, [key(store)], [b"a"]), store.call(PUSH, [key(store)], [b"b"])
    first.cancel()
    assert await second == 2


@pytest.mark.parametrize("uses_functions", [True, False])
async def test_scripts_are_loaded_again_after_a_flush_and_order_is_kept(redis, store, uses_functions):
    # Given scripts that the server has forgotten
    store.topology.scripts.uses_functions = uses_functions
    await store.call(PUSH, [key(store)], [b"first"])
    forget_scripts(redis)
    # When calls go out, some while the first is being refused
    early = [store.call(PUSH, [key(store)], [n]) for n in range(50)]
    await asyncio.sleep(0)
    late = [store.call(PUSH, [key(store)], [n]) for n in range(50, 100)]
    # Then all are carried out, in order
    assert await asyncio.gather(*early, *late) == list(range(2, 102))


@pytest.mark.parametrize("uses_functions", [True, False])
async def test_a_unit_whose_script_was_unknown_says_so_and_works_the_second_time(redis, store, uses_functions):
    store.topology.scripts.uses_functions = uses_functions
    forget_scripts(redis)
    unit = [(b"SET", key(store), b"v"), ScriptCall(PUSH, [key(store) + b":list"], [b"x"])]
    with pytest.raises(ScriptMissing):
        await store.multi(key(store), unit)
    assert await store.multi(key(store), unit) == [b"OK", 1]


async def test_a_script_that_redis_cannot_compile_fails_with_its_own_error(store):
    broken = Script("test/broken", b"#!lua\nthis is not lua")
    with pytest.raises(ReplyError, match="NOSCRIPT"):
        await store.call(broken, [key(store)], [])


async def test_a_full_redis_refuses_writes_and_still_frees(prefix):
    with redis_server(unix=True) as full:
        store = await Store.open(full.url, prefix=prefix)
        # Given a Redis whose maxmemory was lowered below what it holds
        await store.command(b"SET", key(store, "0"), b"x" * 1_000_000, key=key(store, "0"))
        full.ask("CONFIG", "SET", "maxmemory", "1mb")
        # When a script, a unit and a script that frees are called
        with pytest.raises(StorageFull):
            await store.call(PUSH, [key(store)], [b"x"])
        with pytest.raises(StorageFull):
            await store.multi(key(store), [(b"SET", key(store), b"x"), (b"GET", key(store))])
        # Then only what frees is let through
        assert await store.call(FREE, [key(store, "0")], []) == 1
        await store.close()


async def test_an_unreachable_server_is_reported_with_its_address():
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:1 cannot be used"):
        await Store.open("redis://127.0.0.1:1", retry_ms=100)


async def test_a_password_is_used_and_a_wrong_one_refused_at_once(prefix):
    with redis_server(requirepass="s3cret:@/") as guarded:
        host = guarded.url.removeprefix("redis://")
        started = asyncio.get_running_loop().time()
        with pytest.raises(StoreUnavailable, match="WRONGPASS"):
            await Store.open(f"redis://:wrong@{host}")
        with pytest.raises(StoreUnavailable, match="NOAUTH"):
            await Store.open(f"redis://{host}")
        assert asyncio.get_running_loop().time() - started < 1
        store = await Store.open(f"redis://default:s3cret%3A%40%2F@{host}/3", prefix=prefix)
        await store.command(b"SET", key(store), b"v", key=key(store))
        assert b"db=3" in await store.command(b"CLIENT", b"INFO")
        await store.close()


async def test_a_closed_store_refuses_calls(redis_url):
    store = await Store.open(redis_url)
    await store.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await store.command(b"PING")


async def test_closing_fails_what_is_under_way(redis_url, prefix):
    store = await Store.open(redis_url, prefix=prefix)
    call = store.command(b"GET", key(store), key=key(store))
    await store.close()
    with pytest.raises(Unavailable, match="closed"):
        await call


async def test_a_node_tells_about_itself(store, redis: Server):
    (node,) = await store.node_info()
    assert node.address == f"127.0.0.1:{redis.port}"
    assert node.version is not None
    assert node.version.startswith("7.")
    assert (node.role, node.maxmemory_policy, node.appendonly, node.appendfsync) == (
        "master", "noeviction", False, "everysec",
    )  # fmt: skip
    assert node.used_memory_bytes is not None
    assert node.used_memory_bytes > 0


def lacks_replicas(server: Server) -> None:
    assert server.ask("CONFIG", "SET", "min-replicas-to-write", 1) == b"OK"


def cannot_save(server: Server) -> None:
    gone = server.folder / "gone"
    gone.mkdir()
    assert server.ask("CONFIG", "SET", "dir", str(gone)) == b"OK"
    gone.rmdir()
    assert server.ask("CONFIG", "SET", "save", "3600 1") == b"OK"
    server.ask("BGSAVE")
    eventually(lambda: b"rdb_last_bgsave_status:err" in bytes(server.ask("INFO", "persistence")))  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("breaks", "kind", "why"),
    [(lacks_replicas, TooFewReplicas, "too few replicas"), (cannot_save, RedisUnfit, "cannot save them")],
)
async def test_a_write_that_redis_itself_refuses_fails_with_the_reason_before_the_broker_has_looked(
    prefix: str, breaks: Callable[[Server], None], kind: type[LedgerError], why: str
) -> None:
    with redis_server(enable_protected_configs="local") as server:
        store = await Store.open(server.url, prefix=prefix)
        # Given a Redis that begins to refuse writes, and a store that has not looked at it since
        breaks(server)
        # When a script, a command and a unit write, then each is refused with the same error and the same sentence
        refusals = await asyncio.gather(
            store.call(PUSH, [key(store)], [b"a"]),
            store.command(b"SET", key(store), b"a", key=key(store)),
            store.multi(key(store), [(b"SET", key(store), b"a")]),
            return_exceptions=True,
        )
        assert [type(each) for each in refusals] == [kind] * 3
        for each in refusals:
            assert why in str(each)
            assert "writes go on when" in str(each)
        await store.close()
