"""Sharded pub/sub through a store: delivery, loss, slot migration."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from redis_ledger.errors import StoreUnavailable
from redis_ledger.store.cluster import key_slot
from redis_ledger.store.store import ReplyError, Store
from tests.support.busy_machine import within
from tests.support.proxy import proxy
from tests.support.redis_servers import Server, redis_server
from tests.support.script_functions import replace_scripts
from tests.support.stores import open_store


@pytest.fixture(autouse=True)
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_scripts(monkeypatch)


@pytest.fixture
async def store(redis_url: str, prefix: str) -> AsyncIterator[Store]:
    store = await Store.open(redis_url, prefix=prefix)
    yield store
    await store.close()


@dataclass
class Listener:
    messages: list[bytes] = field(default_factory=list)
    lost: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def on_message(self, message: bytes) -> None:
        self.messages.append(message)
        self.changed.set()

    def on_lost(self) -> None:
        self.lost += 1
        self.changed.set()

    async def until(self, *, messages: int = 0, lost: int = 0) -> None:
        async with within(5):
            while len(self.messages) < messages or self.lost < lost:
                self.changed.clear()
                await self.changed.wait()


async def publish(store: Store, channel: bytes, message: bytes) -> int:
    heard: int = await store.command(b"SPUBLISH", channel, message, key=channel)
    return heard


async def test_a_message_reaches_every_listener_until_it_unsubscribes(store, prefix):
    channel = f"{prefix}:{{a}}:wake".encode()
    first, second = Listener(), Listener()
    stop = await store.subscribe(channel, first.on_message, first.on_lost)
    await store.subscribe(channel, second.on_message, second.on_lost)
    # When one message is sent to both, and one after the first has left
    assert await publish(store, channel, b"1") == 1
    await first.until(messages=1)
    stop()
    await publish(store, channel, b"2")
    await second.until(messages=2)
    # Then each heard what was for it
    assert (first.messages, second.messages) == ([b"1"], [b"1", b"2"])
    assert (first.lost, second.lost) == (0, 0)


async def test_the_last_to_leave_ends_the_subscription_at_the_server(store, prefix):
    channel = f"{prefix}:{{a}}:wake".encode()
    listener = Listener()
    stop = await store.subscribe(channel, listener.on_message, listener.on_lost)
    stop()
    stop()
    async with within(5):
        while await publish(store, channel, b"x"):
            await asyncio.sleep(0.005)
    again = Listener()
    await store.subscribe(channel, again.on_message, again.on_lost)
    assert await publish(store, channel, b"y") == 1
    await again.until(messages=1)
    assert listener.messages.count(b"y") == 0


async def test_a_listener_that_raises_does_not_affect_others(store, prefix):
    channel = f"{prefix}:{{a}}:wake".encode()
    complaints: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))
    listener = Listener()
    await store.subscribe(channel, lambda message: 1 // 0, listener.on_lost)
    await store.subscribe(channel, listener.on_message, listener.on_lost)
    await publish(store, channel, b"1")
    await listener.until(messages=1)
    assert isinstance(complaints[0]["exception"], ZeroDivisionError)


async def test_a_connection_is_reported_when_lost_and_when_restored(redis: Server, prefix):
    async with proxy("127.0.0.1", redis.port) as relay:
        store = await Store.open(relay.url, prefix=prefix)
        channels = [f"{prefix}:{{{n}}}".encode() for n in range(3)]
        listener = Listener()
        for channel in channels:
            await store.subscribe(channel, listener.on_message, listener.on_lost)
        # When the connection breaks
        relay.cut()
        # Then every listener hears of it, and hears again when it is subscribed again
        await listener.until(lost=6)
        for channel in channels:
            assert await publish(store, channel, channel) == 1
        await listener.until(messages=3)
        assert sorted(listener.messages) == channels
        await store.close()


async def test_a_subscription_to_a_server_that_is_gone_fails_in_time(prefix):
    with redis_server() as server:
        store = await open_store(server.url, prefix=prefix, retry_ms=200)
        server.kill()
        listener = Listener()
        with pytest.raises(StoreUnavailable, match="does not confirm"):
            await store.subscribe(b"c", listener.on_message, listener.on_lost)
        await store.close()


async def test_a_channel_that_the_user_may_not_hear_is_refused(prefix):
    with redis_server() as server:
        server.ask("ACL", "SETUSER", "deaf", "on", ">pw", "allkeys", "allcommands", "resetchannels")
        store = await Store.open(server.url.replace("://", "://deaf:pw@"), prefix=prefix)
        listener = Listener()
        with pytest.raises(ReplyError, match="NOPERM"):
            await store.subscribe(b"c", listener.on_message, listener.on_lost)
        await store.close()


async def test_a_channel_whose_slot_moves_is_heard_at_its_new_node(cluster, cluster_url, prefix):
    store = await Store.open(cluster_url, prefix=prefix)
    channel = f"{prefix}:{{{prefix}}}:wake".encode()
    slot = key_slot(channel)
    source = cluster.owner(slot)
    target = next(server for server in cluster.servers if server is not source)
    listener = Listener()
    await store.subscribe(channel, listener.on_message, listener.on_lost)
    assert await publish(store, channel, b"before") == 1
    # When the slot moves
    cluster.begin_migration(slot, source, target)
    cluster.end_migration(slot, target)
    # Then the loss is reported, and messages arrive again
    await listener.until(messages=1, lost=2)
    assert await publish(store, channel, b"after") == 1
    await listener.until(messages=2)
    assert listener.messages == [b"before", b"after"]
    await store.close()
