"""Who serves: the live brokers, their Kafka addresses, and who of them answers for what.

    rl:{catalog}:brokers    broker → time of its last heartbeat, by Redis's clock
    rl:{catalog}:addresses  broker → {"node": 2, "http": "http://...", "kafka": "host:port"}

State is in Redis, so "leader of a partition" only says which broker a Kafka client is sent to: any broker serves any
partition.  The spread is a function of the live node ids, so all brokers answer alike.  A broker that has been silent
for SILENT_MS is not live; one that comes back on the same address takes its node id over.
A group's coordinator is the broker that owns it, as long as that lives (redis_ledger/groups), else the one its name
falls to.  Source: KIP-500 (brokers and their heartbeats), rendezvous hashing (Thaler and Ravishankar).
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from redis_ledger.store.keys import CatalogKeys, GroupKeys
from redis_ledger.store.scripts import Script
from redis_ledger.store.store import Store

BEAT = Script.load("broker/beat")
SILENT_MS = 3_500  # a broker beats once a second


class Node(NamedTuple):
    """A live broker.  kafka_host is empty for one without a Kafka listener."""

    id: int
    name: str
    http: str
    kafka_host: str
    kafka_port: int


class _Address(msgspec.Struct):
    node: int = 0
    http: str = ""
    kafka: str = ""


class Members:
    """The brokers this one knows of, as of its last heartbeat.  name: of this broker's process."""

    def __init__(self, store: Store, name: str, http: str) -> None:
        self._store, self._name, self._http = store, name, http
        self._kafka = ""
        self._keys = CatalogKeys(store.prefix)
        self._decode = msgspec.json.Decoder(_Address).decode
        self.node_id = 0
        self.cluster_id = ""
        self.is_leaving = False
        self._nodes: list[Node] = []

    async def announce(self, kafka: str) -> None:
        """kafka: "host:port" where clients reach this broker's Kafka listener."""
        self._kafka = kafka
        await self.beat()

    async def leave(self) -> None:
        """Kafka clients are to go to the other brokers, if there are any: these are all that metadata names now."""
        try:
            await self.announce("")
        finally:  # Redis may be away: others then find out by our silence
            self._nodes = [node for node in self._nodes if node.name != self._name]
            self.is_leaving = bool(self.nodes)

    async def beat(self) -> int:
        """Says that this broker lives, and learns who else does; Redis's time, ms.  Cost: two round trips."""
        k = self._keys
        seconds, micros = await self._store.command("TIME", key=k.brokers)
        now_ms = int(seconds) * 1000 + int(micros) // 1000
        args = (self._name, now_ms, SILENT_MS, self._http, self._kafka)
        reply = await self._store.call(BEAT, (k.brokers, k.addresses, k.state), args)
        self.cluster_id, self.node_id = reply[1].decode(), int(reply[2])
        nodes = []
        for name, text in zip(reply[3::2], reply[4::2], strict=True):
            address = self._decode(text)
            host, _, port = address.kafka.rpartition(":")
            nodes.append(Node(address.node, name.decode(), address.http, host.strip("[]"), int(port or 0)))
        self._nodes = sorted(nodes)
        return now_ms

    @property
    def nodes(self) -> Sequence[Node]:
        """Live brokers with a Kafka listener, by id."""
        return [node for node in self._nodes if node.kafka_host]

    def leader(self, topic: str, partition: int) -> int:
        """Node id of the broker that clients are sent to for a partition; -1 when there is none."""
        nodes = self.nodes
        if not nodes:
            return -1
        return nodes[(zlib.crc32(topic.encode()) + partition) % len(nodes)].id

    def is_live(self, name: str) -> bool:
        return any(node.name == name for node in self._nodes)

    @property
    def everybody(self) -> Sequence[Node]:
        """Every live broker, by id."""
        return self._nodes

    @property
    def live(self) -> Sequence[str]:
        """Names of all live brokers."""
        return [node.name for node in self._nodes]

    @property
    def name(self) -> str:
        return self._name

    async def coordinator(self, group: str) -> Node | None:
        """Where a group's members go: to its owner while that lives, else to whom its name falls.  Cost: one read."""
        k = GroupKeys(self._store.prefix, group)
        owner = await self._store.command("HGET", k.state, "owner", key=k.state)
        nodes = self.nodes
        if owner:
            for node in nodes:
                if node.name == owner.decode():
                    return node
        return self.falls_to(group)

    def falls_to(self, name: str) -> Node | None:
        """The live broker a name falls to, the same on every broker; of the others' names none moves when one goes."""
        return max(self.nodes, key=lambda node: zlib.crc32(f"{name}/{node.id}".encode()), default=None)
