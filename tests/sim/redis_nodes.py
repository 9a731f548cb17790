"""The Redis of a run: one server, or a cluster of three primaries whose slots can move.

single    b0 ──▶ proxy b0-r0 ──▶ r0       a link for each broker
cluster   b0 ──▶ proxy brokers-r1 ──▶ r1  a link for each node: a node announces one address to all brokers
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.support.proxy import Proxy
from tests.support.redis_servers import ClusterServers, Server, lasting_port

NODES, SLOTS = 3, 16_384
FORMED_S_MAX = 60.0
NODE_TIMEOUT_MS = "3000"
KEYS_A_STEP = 5
Link = Callable[[str, int], Awaitable[Proxy]]


class RedisNodes:
    """servers: by the names that faults use.  link: makes the proxy in front of a port."""

    def __init__(self, kind: str, fsync: str, folder: Path, link: Link) -> None:
        self._kind, self._fsync, self._folder, self._link = kind, fsync, folder, link
        self.servers: dict[str, Server] = {}
        self._announced: dict[int, Server] = {}
        self._bus: dict[str, int] = {}  # ports on which the nodes of a cluster speak to each other
        self._moving: tuple[int, Server, Server] | None = None  # a slot, from and to where
        self._is_begun = False

    async def start(self) -> None:
        lasting = {"appendonly": "yes", "appendfsync": self._fsync}
        if self._kind == "single":
            await self._add("r0", lasting_port(), lasting)
            return
        for name in [f"r{n}" for n in range(NODES)]:
            port = lasting_port()
            proxy = await self._link(f"brokers-{name}", port)
            conf = {"cluster_enabled": "yes", "cluster_node_timeout": NODE_TIMEOUT_MS}
            conf |= {"cluster_require_full_coverage": "no", "cluster_announce_port": str(proxy.port)}
            conf |= {"cluster_port": str(self._bus.setdefault(name, lasting_port()))}
            self._announced[proxy.port] = await self._add(name, port, lasting | conf)
        await asyncio.to_thread(self._form)

    async def _add(self, name: str, port: int, conf: dict[str, str]) -> Server:
        folder = self._folder / name
        folder.mkdir()
        server = self.servers[name] = Server(folder, unix=False, port=port, server_binary=None, **conf)
        await asyncio.to_thread(server.start)
        return server

    def kill(self) -> None:
        for server in self.servers.values():
            server.kill()

    async def url(self, broker: str) -> str:
        if self._kind == "single":
            return (await self._link(f"{broker}-r0", self.servers["r0"].port)).url
        return "redis+cluster://" + ",".join(f"127.0.0.1:{port}" for port in self._announced)

    def _form(self) -> None:
        servers = list(self.servers.values())
        bounds = [SLOTS * n // NODES for n in range(NODES + 1)]
        for n, server in enumerate(servers):
            server.ask_all(
                ("CLUSTER", "SET-CONFIG-EPOCH", n + 1), ("CLUSTER", "ADDSLOTSRANGE", bounds[n], bounds[n + 1] - 1)
            )
        for name, server in list(self.servers.items())[1:]:
            servers[0].ask("CLUSTER", "MEET", "127.0.0.1", server.port, self._bus[name])
        until = time.monotonic() + FORMED_S_MAX
        while not all(self._agrees(server) for server in servers):
            assert time.monotonic() < until, "the cluster did not form"
            time.sleep(0.05)  # gossip has no event to wait for

    def _agrees(self, server: Server) -> bool:
        info, ranges = server.ask_all(("CLUSTER", "INFO"), ("CLUSTER", "SLOTS"))
        assert isinstance(info, bytes)
        assert isinstance(ranges, list)
        return b"cluster_state:ok" in info and b"cluster_known_nodes:3" in info and len(ranges) == NODES

    # -- slots ---------------------------------------------------------------------------------------------------------

    async def move_slot(self, chance: random.Random, lasts_s: float) -> None:
        """Moves a slot that has keys, a few keys at a time.  Raises OSError or AssertionError if a node is down; the
        next call then goes on with the same slot."""
        cluster = ClusterServers(list(self.servers.values()))
        if self._moving is None:
            slot, source = await asyncio.to_thread(self._slot_with_keys, chance)
            target = chance.choice([server for server in self.servers.values() if server is not source])
            self._moving = (slot, source, target)
        slot, source, target = self._moving
        if not self._is_begun:
            await asyncio.to_thread(cluster.begin_migration, slot, source, target)
            self._is_begun = True
        until = time.monotonic() + lasts_s
        while await asyncio.to_thread(cluster.move_keys, slot, source, target, KEYS_A_STEP):
            if time.monotonic() < until:
                await asyncio.sleep(0.05)
        await asyncio.to_thread(cluster.end_migration, slot, target)
        self._moving, self._is_begun = None, False

    def _slot_with_keys(self, chance: random.Random) -> tuple[int, Server]:
        name = chance.choice(sorted(self.servers))
        key = self.servers[name].ask("RANDOMKEY")
        slot = self.servers[name].ask("CLUSTER", "KEYSLOT", key if isinstance(key, bytes) else b"")
        assert isinstance(slot, int), slot
        return slot, self._owner(slot)

    def _owner(self, slot: int) -> Server:
        for server in self.servers.values():
            with contextlib.suppress(OSError):
                ranges = server.ask("CLUSTER", "SLOTS")
                assert isinstance(ranges, list), ranges
                port = next(primary[1] for first, last, primary, *_ in ranges if first <= slot <= last)
                return self._announced[port]
        raise AssertionError("no node of the cluster answers")
