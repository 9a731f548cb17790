"""Store while the connection breaks, the server dies, or replies come too late."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import AsyncIterator

import pytest

from redis_ledger.errors import LedgerError, OutcomeUnknown, StoreTimeout, StoreUnavailable
from redis_ledger.store.store import Store
from tests.support.proxy import Proxy, proxy
from tests.support.redis_servers import Server, redis_server
from tests.support.script_functions import functions, replace_scripts
from tests.support.stores import open_store

(PUSH,) = functions(push=b"#!lua\nreturn redis.call('RPUSH', KEYS[1], ARGV[1])")


@pytest.fixture(autouse=True)
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_scripts(monkeypatch, PUSH)


@pytest.fixture
async def relay(redis: Server) -> AsyncIterator[Proxy]:
    async with proxy("127.0.0.1", redis.port) as relay:
        yield relay


@pytest.fixture
async def store(relay: Proxy, prefix: str) -> AsyncIterator[Store]:
    store = await open_store(relay.url, prefix=prefix, timeout_ms=1_000, retry_ms=600)
    yield store
    await store.close()


def key(store: Store, name: str = "k") -> bytes:
    return f"{store.prefix}:{{{name}}}".encode()


async def test_a_call_that_may_be_repeated_is_repeated_when_its_reply_was_lost(store, relay):
    relay.cuts = 1  # Redis carries out what is sent now, and the reply is lost
    calls = [store.command(b"SET", key(store, str(n)), n, key=key(store, str(n))) for n in range(20)]
    assert await asyncio.gather(*calls) == [b"OK"] * 20
    assert relay.connections == 2


async def test_repeated_calls_keep_their_order(store, relay):
    relay.cuts = 1  # Redis carries out what is sent now, and the reply is lost
    early = [store.call(PUSH, [key(store)], [n]) for n in range(20)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    late = [store.call(PUSH, [key(store)], [n]) for n in range(20, 40)]
    await asyncio.gather(*early, *late)
    pushed = [int(value) for value in await store.command(b"LRANGE", key(store), 0, -1, key=key(store))]
    # What Redis carried out before the break comes first, then all that was repeated, each in order.
    assert pushed[-40:] == list(range(40))
    assert pushed[:-40] == list(range(len(pushed) - 40))
    assert len(pushed) > 40


async def test_unrepeatable_call_raises_outcome_unknown(store, relay):
    relay.cuts = 1  # Redis carries out what is sent now, and the reply is lost
    with pytest.raises(OutcomeUnknown):
        await store.call(PUSH, [key(store)], [b"once"], retry=False)
    assert await store.command(b"LRANGE", key(store), 0, -1, key=key(store)) == [b"once"]


async def test_a_unit_whose_reply_was_lost_is_written_once(store, relay):
    relay.cuts = 1  # Redis carries out what is sent now, and the reply is lost
    with pytest.raises(OutcomeUnknown):
        await store.multi(key(store), [(b"RPUSH", key(store), b"x" * 20_000)])
    assert await store.command(b"LLEN", key(store), key=key(store)) == 1


REPLIES = b"+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n$1\r\nv\r\n:1\r\n$1\r\nv\r\n"


# In the midst of each reply, and between two of them.
@pytest.mark.parametrize("after", [1, 5, 14, 20, 23, 25, 31, 38, 41, len(REPLIES) - 1])
async def test_a_reply_that_breaks_off_is_not_mixed_with_the_next(store, relay, after):
    name = key(store)
    await store.command(b"SET", name, b"v", key=name)
    relay.cut_after = after
    unit = store.multi(name, [(b"GET", name), (b"STRLEN", name)], retry=True)
    behind = store.command(b"GET", name, key=name)
    assert await unit == [b"v", 1]
    assert await behind == b"v"
    assert relay.connections == 2


async def test_a_call_issued_while_there_is_no_connection_waits_for_it_whether_it_may_be_repeated_or_not(store, relay):
    await relay.refuse()
    await asyncio.sleep(0.02)
    calls = [store.call(PUSH, [key(store)], [b"a"], retry=False), store.call(PUSH, [key(store)], [b"b"])]
    await asyncio.sleep(0.05)
    await relay.accept_again()
    assert await asyncio.gather(*calls) == [1, 2]


async def test_a_call_that_was_never_written_is_unavailable_and_not_unknown(store, relay):
    await relay.refuse()
    await asyncio.sleep(0.02)
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        await store.call(PUSH, [key(store)], [b"x"], retry=False)
    await relay.accept_again()
    assert await store.command(b"EXISTS", key(store), key=key(store)) == 0


async def test_a_written_call_that_may_be_repeated_times_out_when_redis_stays_away(store, relay):
    relay.cuts = 1_000
    with pytest.raises(StoreTimeout):
        await store.command(b"SET", key(store), b"v", key=key(store))
    relay.cuts = 0
    assert await store.command(b"GET", key(store), key=key(store)) == b"v"


async def test_a_killed_and_restarted_server_is_found_again(prefix):
    with redis_server(appendonly="yes", appendfsync="always") as server:
        store = await Store.open(server.url, prefix=prefix)
        await store.call(PUSH, [key(store)], [b"a"])
        # Given a server that died
        server.kill()
        call = store.call(PUSH, [key(store)], [b"b"])
        await asyncio.sleep(0.05)
        # When it is back, with its data and, as ever, without scripts
        await asyncio.to_thread(server.start)
        # Then the call goes through as if nothing had been
        assert await call == 2
        await store.close()


async def test_a_late_reply_times_out_and_the_connection_continues(store, relay):
    # Given a Redis that does not answer for longer than a call may take
    relay.hold()
    timed_out, unknown = store.command(b"PING"), store.command(b"PING", retry=False)
    found = await asyncio.gather(timed_out, unknown, return_exceptions=True)
    assert [type(error) for error in found] == [StoreTimeout, OutcomeUnknown]
    # When it answers after all
    later = store.call(PUSH, [key(store)], [b"x"])
    relay.release()
    # Then the late replies are passed over and the next one meets its call, on the same connection
    assert await later == 1
    assert relay.connections == 1


async def test_a_connection_that_stays_silent_is_replaced(store, relay):
    relay.muted = 1
    with pytest.raises(StoreTimeout):
        await store.command(b"PING")
    while relay.connections == 1:
        await asyncio.sleep(0.02)
    assert await store.command(b"PING") == b"PONG"
    assert relay.connections == 2


async def test_server_that_is_not_redis_is_refused(prefix):
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with pytest.raises(StoreUnavailable, match="Protocol error"):
        await Store.open(f"redis://127.0.0.1:{port}", retry_ms=100)
    server.close()


class Half(Proxy):
    """Relays only so many bytes of the next reply, and closes both sides then."""

    keep = 0

    async def _replies(
        self, number: int, reader: asyncio.StreamReader, to: asyncio.StreamWriter, back: asyncio.StreamWriter
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 20):
                if self.keep:
                    to.write(data[: self.keep])
                    await to.drain()
                    self.keep = 0
                    break
                to.write(data)
        to.close()
        back.transport.abort()


@pytest.mark.parametrize("kept", [b"+OK\r\n", b"+OK\r\n+QUEUED\r\n", b"+OK\r\n+QUEUED\r\n+QUEUED\r\n", b"+OK\r\n+QUE"])
async def test_a_unit_of_which_some_replies_came_before_the_break_is_answered_whole(redis: Server, prefix: str, kept):
    relay = Half("127.0.0.1", redis.port)
    await relay.listen(None)
    store = await Store.open(relay.url, prefix=prefix, timeout_ms=10_000, retry_ms=10_000)
    await store.command(b"SET", key(store), b"v", key=key(store))
    relay.keep = len(kept)
    unit = store.multi(key(store), [(b"GET", key(store)), (b"STRLEN", key(store))], retry=True)
    behind = store.command(b"GET", key(store), key=key(store))
    assert await unit == [b"v", 1]
    assert await behind == b"v"
    assert relay.keep == 0
    assert relay.connections == 2
    await store.close()
    await relay.close()


async def test_a_failure_that_its_caller_does_not_wait_for_any_more_is_not_logged_as_an_error(store, relay):
    logged: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: logged.append(context))
    await relay.refuse()
    calls = [store.command(b"GET", key(store), key=key(store)) for _ in range(2)]
    with pytest.raises(LedgerError):
        await calls[0]
    await asyncio.wait(calls)
    calls.clear()
    gc.collect()
    await asyncio.sleep(0)
    assert logged == []
    await relay.accept_again()
