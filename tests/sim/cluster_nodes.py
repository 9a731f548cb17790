"""A Redis Cluster of three primaries whose slots can move, each with a replica or without one."""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path

from tests.sim.redis_nodes import AddLink
from tests.sim.schedule import Schedule, nodes
from tests.sim.shards import Shards, asked, eventually
from tests.support.free_ports import free_port
from tests.support.redis_servers import ClusterServers, Server

PRIMARIES, SLOTS = 3, 16_384
FORMED_S_MAX = 60.0
KEYS_A_STEP = 5


class ClusterNodes(Shards):
    """A shard without replicas has one member."""

    def __init__(self, plan: Schedule, folder: Path, add_link: AddLink) -> None:
        super().__init__(plan, folder, add_link)
        self._bus: dict[str, int] = {}  # ports on which the nodes speak to each other
        self._moving: tuple[int, str, str] | None = None  # a slot, from and to which shard

    @property
    def copies(self) -> int:
        return 2 if self.plan.has_replicas else 1

    async def start(self) -> None:
        for number, name in enumerate(nodes(self.plan.topology)):
            port = free_port()
            proxy = await self.add_proxy(name, port)
            self.ports[name], self._bus[name] = proxy.port, free_port()
            self.members.setdefault(f"shard{number % PRIMARIES}", []).append(name)
            conf = {
                "cluster_enabled": "yes",
                "cluster_require_full_coverage": "no",
                "cluster_port": str(self._bus[name]),
            }
            conf |= {"cluster_node_timeout": "2500" if self.plan.has_replicas else "3000"}
            conf |= {"cluster_replica_validity_factor": "0", "cluster_allow_replica_migration": "no"}
            await self.add(name, port, {**self.settings(), **conf, "cluster_announce_port": str(proxy.port)})
        await asyncio.to_thread(self._form)
        for first, *others in self.members.values():
            for name in others:
                await self._replicate(name, first)
        await self.settle()

    async def url(self, broker: str) -> str:
        return "redis+cluster://" + ",".join(f"127.0.0.1:{port}" for port in self.ports.values())

    def _form(self) -> None:
        servers = list(self.servers.values())
        bounds = [SLOTS * n // PRIMARIES for n in range(PRIMARIES + 1)]
        for n, server in enumerate(servers[:PRIMARIES]):
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
        known = b"cluster_known_nodes:%d\r" % len(self.servers)
        return b"cluster_state:ok" in info and known in info and len(ranges) == PRIMARIES

    async def _replicate(self, name: str, primary: str) -> None:
        id = await asked(self.servers[primary], "CLUSTER", "MYID")
        assert isinstance(id, bytes)

        async def is_replica() -> bool:
            return await asked(self.servers[name], "CLUSTER", "REPLICATE", id) == b"OK"

        await eventually(is_replica, f"{name} did not become a replica")

    # -- promotions ----------------------------------------------------------------------------------------------------

    async def primary(self, shard: str) -> str:
        """Of several that say so, the one with the newest configuration."""
        found = {name: epoch for name in self.members[shard] if (epoch := await self._epoch(name)) >= 0}
        return max(found, key=lambda name: found[name], default="")

    async def _epoch(self, name: str) -> int:
        """Of a primary; -1 of another node."""
        role, info = await asked(self.servers[name], "ROLE"), await asked(self.servers[name], "CLUSTER", "INFO")
        if not isinstance(role, list) or role[0] != b"master" or not isinstance(info, bytes):
            return -1
        return next(int(line.partition(b":")[2]) for line in info.splitlines() if line.startswith(b"cluster_my_epoch:"))

    async def fail_over(self, shard: str, how: str = "") -> None:
        async def is_begun() -> bool:
            (name, *_) = await self.replicas(shard)
            return await asked(self.servers[name], "CLUSTER", "FAILOVER", *([how] if how else [])) == b"OK"

        await eventually(is_begun, f"{shard} did not begin a failover")

    # -- slots ---------------------------------------------------------------------------------------------------------

    async def move_slot(self, chance: random.Random, lasts_s: float) -> None:
        """Moves a slot that has keys, a few keys at a time.  Raises OSError or AssertionError if a node is down; the
        next call then goes on with the same slot."""
        primaries = {shard: self.servers[await self.known_primary(shard)] for shard in self.members}
        cluster = ClusterServers(list(primaries.values()))
        if self._moving is None:
            from_shard = chance.choice(sorted(primaries))
            slot = await asyncio.to_thread(_slot_with_keys, primaries[from_shard])
            owner = await asyncio.to_thread(self._owner, slot, primaries)
            self._moving = (slot, owner, chance.choice(sorted(shard for shard in primaries if shard != owner)))
        slot, from_shard, to_shard = self._moving
        source, target = primaries[from_shard], primaries[to_shard]
        await asyncio.to_thread(cluster.begin_migration, slot, source, target)
        until = time.monotonic() + lasts_s
        while await asyncio.to_thread(cluster.move_keys, slot, source, target, KEYS_A_STEP):
            if time.monotonic() < until:
                await asyncio.sleep(0.05)
        await asyncio.to_thread(cluster.end_migration, slot, target)
        self._moving = None

    def _owner(self, slot: int, primaries: dict[str, Server]) -> str:
        ranges = next(iter(primaries.values())).ask("CLUSTER", "SLOTS")
        assert isinstance(ranges, list), ranges
        port = next(primary[1] for first, last, primary, *_ in ranges if first <= slot <= last)
        return self.shard_of(next(name for name, announced in self.ports.items() if announced == port))


def _slot_with_keys(server: Server) -> int:
    key = server.ask("RANDOMKEY")
    slot = server.ask("CLUSTER", "KEYSLOT", key if isinstance(key, bytes) else b"")
    assert isinstance(slot, int), slot
    return slot
