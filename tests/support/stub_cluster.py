"""A Redis Cluster of stub nodes, whose map of slots is what a test says (store_nodes.py)."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from redis_ledger.store import cluster
from redis_ledger.store.address import Address, parse_url
from redis_ledger.store.cluster import SLOTS, Cluster
from tests.support.store_nodes import StubNode, Ticks, Timers, call_of, rest

SEEDS = "redis+cluster://user:secret@a:1,b:2"
SEED = parse_url(SEEDS).seeds[0]
LAST = SLOTS - 1


def nodes_of(*ranges: tuple[int, int, str]) -> list[Any]:
    """The reply to CLUSTER SLOTS; each range has a replica as well."""
    rows = []
    for first, last, name in ranges:
        host, _, port = name.rpartition(":")
        rows.append([first, last, [host.encode(), int(port), b"id"], [b"replica", int(port), b"id"]])
    return rows


class ClusterMap:
    """The map as the nodes of the cluster report it.

    answers  by node: the reply to CLUSTER SLOTS, or an error; a node without one is unreachable
    asked    the nodes that the map was read from, in order
    """

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {"a:1": nodes_of((0, 99, "a:1"), (100, LAST, "b:2"))}
        self.asked: list[str] = []
        self.users: set[str | None] = set()
        self.gate: asyncio.Event | None = None  # if set, replies wait for it

    async def ask_once(self, address: Address, command: Any, *, timeout_s: float) -> Any:
        assert command == (b"CLUSTER", b"SLOTS")
        self.asked.append(address.name)
        self.users.add(address.username)
        answer = self.answers.get(address.name, ConnectionRefusedError("no"))
        if self.gate is not None:
            await self.gate.wait()
        if isinstance(answer, Exception):
            raise answer
        return answer


class OneCluster(Cluster):
    """stubs: the nodes by name, in service or not."""

    def __init__(self) -> None:
        super().__init__(Ticks(), parse_url(SEEDS), "p")
        self.timers = Timers(self.loop)
        self.loop = cast("asyncio.AbstractEventLoop", self.timers)
        self.stubs: dict[str, StubNode] = {}

    def issue(self, name: str, slot: int) -> Any:
        call = call_of(name, slot)
        self.send(slot, call)
        return call

    def owner_name(self, slot: int) -> str:
        return self.owner(slot).name

    def names(self) -> set[str]:
        return {link.name for link in self.links()}

    async def reread(self) -> None:
        await self.refresh()
        await rest()


def stub_cluster(monkeypatch: pytest.MonkeyPatch) -> tuple[ClusterMap, OneCluster]:
    """A cluster of nodes a and b that is not opened yet: slots 0 to 99 are at a, the others at b."""
    found, made = ClusterMap(), OneCluster()

    def node(*args: Any, **more: Any) -> StubNode:
        stub = StubNode(*args, **more)
        host, _, port = stub.name.rpartition(":")
        stub.address = SEED.at(host.strip("[]"), int(port))
        stub.ready.set()
        made.stubs[stub.name] = stub
        return stub

    monkeypatch.setattr(cluster, "ask_once", found.ask_once)
    monkeypatch.setattr(cluster, "REFRESH_PAUSE_S", 0.0)
    monkeypatch.setattr(cluster, "Node", node)
    return found, made
