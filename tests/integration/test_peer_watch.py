"""A broker whose process has ended is removed at once; one that is only hard to reach is not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from redis_ledger.broker.cluster import peer_watch
from redis_ledger.broker.cluster.live_brokers import SILENT_MS, LiveBrokers
from redis_ledger.broker.cluster.peer_watch import PeerWatch, address_of
from redis_ledger.store.store import Store
from tests.support.broker import eventually
from tests.support.busy_machine import busy_machine
from tests.support.processes import Serve
from tests.support.redis_servers import redis_server


class Peer:
    """A broker that sends heartbeats and accepts connections."""

    def __init__(self, brokers: LiveBrokers, server: asyncio.Server, accepted: list[asyncio.StreamWriter]) -> None:
        self.brokers, self.server, self.accepted = brokers, server, accepted

    async def end(self) -> None:
        """As the kernel does for a killed process."""
        self.server.close()
        self.drop_connections()
        await self.server.wait_closed()

    def drop_connections(self) -> None:
        while self.accepted:
            self.accepted.pop().transport.abort()


@asynccontextmanager
async def peer_of(store: Store, name: str = "peer") -> AsyncIterator[Peer]:
    accepted: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(lambda _, writer: accepted.append(writer), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    brokers = LiveBrokers(store, name, f"http://127.0.0.1:{port}")
    await brokers.announce({"": f"127.0.0.1:{port}"})
    peer = Peer(brokers, server, accepted)
    try:
        yield peer
    finally:
        await peer.end()


@asynccontextmanager
async def watching(store: Store, name: str = "watcher") -> AsyncIterator[LiveBrokers]:
    """The view of a broker that watches its peers."""
    brokers = LiveBrokers(store, name, "http://127.0.0.1:1")
    await brokers.announce({"": f"{name}:2"})
    watch = PeerWatch(brokers)
    watch.start()
    try:
        yield brokers
    finally:
        await watch.close()


@pytest.fixture
async def store(redis_url: str, prefix: str) -> AsyncIterator[Store]:
    store = await Store.open(redis_url, prefix=prefix)
    yield store
    await store.close()


async def connected(peer: Peer) -> None:
    assert await eventually(lambda: _count(peer), 1, 3) == 1


async def _count(peer: Peer) -> int:
    return len(peer.accepted)


async def _live(brokers: LiveBrokers) -> list[str]:
    return sorted(brokers.live)


async def _leaving(brokers: LiveBrokers) -> list[str]:
    return [node.name for node in brokers.all if node.is_leaving]


async def test_a_broker_whose_port_is_closed_is_removed_and_returns_with_a_heartbeat(store):
    async with peer_of(store) as peer, watching(store) as watcher:
        node = peer.brokers.node_id
        await connected(peer)
        began_s = time.monotonic()
        async with busy_machine() as machine:
            await peer.end()
            assert await eventually(lambda: _live(watcher), ["watcher"], SILENT_MS / 1000) == ["watcher"]
        assert time.monotonic() - began_s < SILENT_MS / 2000 + machine.lost_s
        # Redis has it, for all brokers
        assert await watcher.send_heartbeat()
        assert watcher.live == ["watcher"]
        # When the peer was not dead after all
        returned: list[int] = []
        peer.brokers.on_return.append(lambda: returned.append(peer.brokers.node_id))
        await peer.brokers.send_heartbeat()
        await peer.brokers.send_heartbeat()
        assert returned == [node]
        await watcher.send_heartbeat()
        # Then it is live again, with the same node id
        assert sorted(watcher.live) == ["peer", "watcher"]
        assert peer.brokers.node_id == node


async def test_a_broker_that_joins_or_leaves_is_known_at_once(store):
    """The heartbeats of the watchers, which are not sent here, would find it a second later."""
    async with watching(store) as watcher, watching(store, "third") as third:
        assert await eventually(lambda: _live(watcher), ["third", "watcher"], 0.8) == ["third", "watcher"]
        everyone = ["peer", "third", "watcher"]
        async with peer_of(store) as peer:
            assert await eventually(lambda: _live(watcher), everyone, 0.8) == everyone
            await peer.brokers.leave()
            assert await eventually(lambda: _leaving(third), ["peer"], 0.8) == ["peer"]
            assert await third.remove("peer")
            assert await eventually(lambda: _live(watcher), ["third", "watcher"], 0.8) == ["third", "watcher"]


async def test_a_broker_that_closes_idle_connections_stays(store):
    async with peer_of(store) as peer, watching(store) as watcher:
        for _ in range(3):
            await connected(peer)
            peer.drop_connections()
        await connected(peer)
        await watcher.send_heartbeat()
        assert sorted(watcher.live) == ["peer", "watcher"]


async def test_a_broker_that_was_never_reached_stays(store, monkeypatch):
    monkeypatch.setattr(peer_watch, "PAUSE_S_MAX", 0.05)
    async with peer_of(store) as peer:
        await peer.end()
        async with watching(store) as watcher:
            await asyncio.sleep(0.5)  # ten attempts
            await watcher.send_heartbeat()
            assert sorted(watcher.live) == ["peer", "watcher"]


@pytest.mark.parametrize(
    ("http", "address"),
    [
        ("http://10.0.0.1:8080", ("10.0.0.1", 8080)),
        ("https://b-0.example.com", ("b-0.example.com", 443)),
        ("http://[::1]:8080", ("::1", 8080)),
        ("http://[::1", None),
        ("http://host:99999", None),
        ("", None),
    ],
)
def test_the_address_of_a_peer(http, address):
    assert address_of(http) == address


@pytest.mark.full
async def test_kafka_clients_are_not_sent_to_a_killed_broker():
    async with AsyncExitStack() as stack:
        redis = stack.enter_context(redis_server())
        brokers = [Serve("--redis", redis.url, "--durability", "lossy") for _ in range(2)]
        for broker in brokers:
            stack.callback(broker.clean_up)
        assert all(broker.ready for broker in brokers)
        first, second = brokers

        admin = AIOKafkaAdminClient(bootstrap_servers=first.field("kafka"))
        await admin.start()
        stack.push_async_callback(admin.close)

        async def live() -> int:
            try:
                return len((await admin.describe_cluster())["brokers"])
            except KafkaError:  # it asked the killed one
                return 0

        assert await eventually(live, 2, 5) == 2
        await asyncio.sleep(2 * peer_watch.SYNC_S)  # the connection has no other sign
        began_s = time.monotonic()
        async with busy_machine() as machine:
            second.process.kill()
            assert await eventually(live, 1, SILENT_MS / 1000) == 1
        assert time.monotonic() - began_s < SILENT_MS / 2000 + machine.lost_s
