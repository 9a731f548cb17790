"""One primary with two replicas under three sentinels, which promote a replica."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.sim.redis_nodes import AddLink
from tests.sim.schedule import Schedule, nodes
from tests.sim.shards import Shards, asked, eventually
from tests.support.free_ports import free_port
from tests.support.sentinels import SERVICE, Sentinel

SHARD = "shard0"
SENTINELS, QUORUM = 3, 2
DOWN_AFTER_MS = 2_000


class SentinelNodes(Shards):
    def __init__(self, plan: Schedule, folder: Path, add_link: AddLink) -> None:
        super().__init__(plan, folder, add_link)
        self._sentinels: list[Sentinel] = []

    @property
    def copies(self) -> int:
        return 3

    async def start(self) -> None:
        first = ""
        for name in nodes("sentinel"):
            port = free_port()
            proxy = await self.add_proxy(name, port)
            conf = {**self.settings(), "replica_announce_ip": "127.0.0.1", "replica_announce_port": str(proxy.port)}
            if first:
                conf["replicaof"] = f"127.0.0.1 {self.ports[first]}"
            await self.add(name, port, conf)
            self.members.setdefault(SHARD, []).append(name)
            self.ports[name] = proxy.port
            first = first or name
        self._sentinels = [self._sentinel(f"s{number}", self.ports[first]) for number in range(SENTINELS)]
        await self._until_attached()
        await asyncio.gather(*(asyncio.to_thread(each.start) for each in self._sentinels))
        await eventually(self._is_watched, "the sentinels did not find each other and the replicas")

    def _sentinel(self, name: str, port: int) -> Sentinel:
        folder = self._folder / name
        folder.mkdir()
        server = Sentinel(folder, port=free_port())
        server.configure(port, quorum=QUORUM, down_after_ms=DOWN_AFTER_MS)
        return server

    async def _until_attached(self) -> None:
        async def are_attached() -> bool:
            found = await asked(self.servers["r0"], "INFO", "replication")
            return isinstance(found, bytes) and found.count(b"state=online") == self.copies - 1

        await eventually(are_attached, "the replicas are not attached")

    async def _is_watched(self) -> bool:
        for each in self._sentinels:
            others = await asked(each, "SENTINEL", "SENTINELS", SERVICE)
            if not isinstance(others, list) or len(others) < SENTINELS - 1:
                return False
            if len(await asyncio.to_thread(each.known_replicas)) < self.copies - 1:
                return False
        return True

    async def url(self, broker: str) -> str:
        return f"redis+sentinel://{','.join(f'127.0.0.1:{each.port}' for each in self._sentinels)}/{SERVICE}"

    async def primary(self, shard: str) -> str:
        for each in self._sentinels:
            found = await asked(each, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", SERVICE)
            if isinstance(found, list):
                return next(name for name, port in self.ports.items() if port == int(found[1]))
        return ""

    async def attach(self, shard: str, name: str) -> None:
        async def is_attached() -> bool:
            primary = await self.primary(shard)
            if primary in ("", name):
                return primary == name
            role = await asked(self.servers[primary], "ROLE")
            if not isinstance(role, list) or role[0] != b"master":
                return False
            reply = await asked(self.servers[name], "REPLICAOF", "127.0.0.1", self.ports[primary])
            if not isinstance(reply, bytes) or not reply.startswith(b"OK"):
                return False  # it loads its data
            return await asked(self.servers[name], "CONFIG", "REWRITE") == b"OK"

        await eventually(is_attached, f"{name} did not become a replica")

    async def fail_over(self, shard: str, how: str = "") -> None:
        async def is_begun() -> bool:
            return await asked(self._sentinels[0], "SENTINEL", "FAILOVER", SERVICE) == b"OK"

        await eventually(is_begun, "the sentinels did not begin a failover")

    def kill(self) -> None:
        for each in self._sentinels:
            each.kill()
        super().kill()
