"""The Redis of a run.  A subclass for each topology of schedule.py knows its servers.

single            b0 ──▶ proxy b0-r0 ──▶ r0        a link for each broker
cluster           b0 ──▶ proxy brokers-r1 ──▶ r1   a link for each node: a node announces one address to all
sentinel,         brokers  ──▶ link brokers-r0 ──┐
cluster-replicas  replicas ──▶ link replicas-r0 ─┴─▶ r0    one address as well; node_proxy.py tells them apart
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from tests.sim import disk
from tests.sim.disk import Disk
from tests.sim.node_proxy import NodeProxy
from tests.sim.schedule import Schedule
from tests.support.free_ports import free_port
from tests.support.proxy import Proxy
from tests.support.redis_servers import Server

AddLink = Callable[[str, Proxy], Awaitable[Proxy]]


class RedisNodes:
    """servers, disks: by the names that faults use.  add_link: starts a proxy and gives it a name."""

    def __init__(self, plan: Schedule, folder: Path, add_link: AddLink) -> None:
        self.plan = plan
        self.servers: dict[str, Server] = {}
        self.disks: dict[str, Disk] = {}
        self.left_out = "" if disk.library() else disk.NO_COMPILER
        self._folder, self._add_link = folder, add_link

    async def start(self) -> None:
        raise NotImplementedError

    async def url(self, broker: str) -> str:
        raise NotImplementedError

    def settings(self) -> Mapping[str, str]:
        """Settings of every server."""
        conf = {"appendonly": "yes", "appendfsync": self.plan.fsync, "repl_diskless_sync_delay": "0"}
        if self.plan.durability == "replicas":
            conf |= {"min_replicas_to_write": str(self.copies - 1), "min_replicas_max_lag": "3"}
        return conf

    @property
    def copies(self) -> int:
        """Of each key: every one of them may become the primary."""
        return 1

    async def move_slot(self, chance: Any, lasts_s: float) -> None:
        raise NotImplementedError

    async def add(self, name: str, port: int, conf: Mapping[str, str]) -> Server:
        folder = self._folder / name
        folder.mkdir()
        its = self.disks[name] = Disk(folder)
        settings: dict[str, Any] = dict(conf)
        server = Server(
            folder, unix=False, port=port, server_binary=None, environ=its.environ, has_file=True, **settings
        )
        self.servers[name] = server
        await asyncio.to_thread(server.start)
        return server

    async def add_proxy(self, name: str, port: int) -> NodeProxy:
        """In front of a node, with a link for each kind of clients."""
        proxy = NodeProxy("127.0.0.1", port)
        await self._add_link(f"node-{name}", proxy)
        await self._add_link(f"brokers-{name}", proxy.brokers)
        if self.plan.has_replicas:
            await self._add_link(f"replicas-{name}", proxy.replicas)
        return proxy

    def kill(self) -> None:
        for server in self.servers.values():
            server.kill()


class SingleNode(RedisNodes):
    async def start(self) -> None:
        await self.add("r0", free_port(), self.settings())

    async def url(self, broker: str) -> str:
        return (await self._add_link(f"{broker}-r0", Proxy("127.0.0.1", self.servers["r0"].port))).url
