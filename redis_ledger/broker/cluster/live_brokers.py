"""Who serves: the live brokers, their Kafka addresses, and who of them answers for what.

    rl:{catalog}:brokers    broker → time of its last heartbeat, by Redis's clock
    rl:{catalog}:addresses  broker → {"node": 2, "http": "http://...", "kafka": "host:port",
                                      "listeners": {"internal": "host:port", ...}, "asks": true, "leaving": false}

"kafka" is where the first Kafka listener is, "listeners" has all of them if they have names.  A client is told the
addresses of the listener that it came in by, and those brokers only that have it.  A broker whose only listener has no
name counts as having the first listener of the others, so brokers can be given names one after the other.

State is in Redis, so "leader of a partition" only says which broker a Kafka client is sent to: any broker serves any
partition.  The spread is a function of the live node ids, so all brokers answer alike.  A broker that has been silent
for SILENT_MS is not live; one that comes back on the same address takes its node id over.  Silence counts only while
Redis receives heartbeats, so a Redis that was away does not make live brokers disappear (lua/broker/heartbeat).
One that is leaving still has its address, and leads and coordinates nothing: a client that knows it asks it once more,
is sent on, and only then hears that it is gone.
A group's coordinator is the broker that owns it, as long as that lives (redis_ledger/groups), else the one its name
falls to.

A broker that asks who calls tells the others, and says so when one of them does not: beside that one nothing is closed.
Older releases ask nobody, and say nothing about it.
Source: KIP-500 (brokers and their heartbeats), rendezvous hashing (Thaler and Ravishankar).
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from redis_ledger.store.keys import CatalogKeys, GroupKeys
from redis_ledger.store.scripts import Script
from redis_ledger.store.store import Store
from redis_ledger.telemetry.logs import get

HEARTBEAT = Script.load("broker/heartbeat")
BEAT_MS = 1_000  # between two heartbeats of a broker
SILENT_MS = 3_500  # a broker is not live after this much silence


_log = get()


class Node(NamedTuple):
    """A live broker.  kafka_host, kafka_port: of the listener that was asked for, or of its first; empty where it has
    none.  listeners: name → "host:port", empty if they have no names.  asks: who calls.  is_leaving: to the others."""

    id: int
    name: str
    http: str
    kafka_host: str
    kafka_port: int
    listeners: Mapping[str, str] = MappingProxyType({})
    asks: bool = False
    is_leaving: bool = False

    @property
    def kafka(self) -> str:
        return f"{self.kafka_host}:{self.kafka_port}" if self.kafka_host else ""

    def told(self, kafka: str) -> Node:
        """It with this address, "host:port"."""
        host, _, port = kafka.rpartition(":")
        return self._replace(kafka_host=host.strip("[]"), kafka_port=int(port or 0))


class _Addresses(msgspec.Struct):
    node: int = 0
    http: str = ""
    kafka: str = ""
    listeners: dict[str, str] = {}
    asks: bool = False
    leaving: bool = False


_decode = msgspec.json.Decoder(_Addresses).decode


class LiveBrokers:
    """The brokers this one knows of, as of its last heartbeat.  name: of this broker's process; asks: it does."""

    def __init__(self, store: Store, name: str, http: str, *, asks: bool = False) -> None:
        self._store, self._name, self._http, self._asks = store, name, http, asks
        self._kafka: Mapping[str, str] = {}
        self._keys = CatalogKeys(store.prefix)
        self.node_id = 0
        self.cluster_id = ""
        self.is_leaving = False
        self._leaves = False
        self._nodes: list[Node] = []
        self._nodes_by_listener: dict[str, list[Node]] = {}

    async def announce(self, kafka: Mapping[str, str]) -> None:
        """kafka: of each Kafka listener, the first one first, its name and the "host:port" where clients reach it.  The
        name is "" where there is one listener only and needs none."""
        self._kafka = kafka
        await self.beat()

    async def leave(self) -> None:
        """Kafka clients are to go to the other brokers, if there are any: these lead and coordinate everything now."""
        self._leaves = True
        try:
            await self.beat()
        finally:  # Redis may be away: others then find out by our silence
            self._learn([n._replace(is_leaving=True) if n.name == self._name else n for n in self._nodes])
            self.is_leaving = bool(self.nodes())

    async def hide(self) -> None:
        """No client is told this broker's address any more."""
        try:
            await self.announce({})
        finally:
            self._learn([node for node in self._nodes if node.name != self._name])

    async def beat(self) -> int:
        """Stores a heartbeat of this broker and learns which others live; Redis's time, ms.  Cost: one round trip."""
        k = self._keys
        main = next(iter(self._kafka.values()), "")
        named = {name: address for name, address in self._kafka.items() if name}
        facts = {"http": self._http, "kafka": main, "listeners": named, "asks": self._asks, "leaving": self._leaves}
        mine = msgspec.json.encode(facts)
        admission = self._store.admission
        args = (self._name, SILENT_MS, BEAT_MS, main, mine, "", admission.cluster_id)
        reply = await self._store.call(HEARTBEAT, (k.brokers, k.addresses, k.state), args)
        admission.check(reply[0])
        now_ms, self.cluster_id, self.node_id = int(reply[1]), reply[2].decode(), int(reply[3])
        admission.learn(self.cluster_id)
        nodes = []
        for name, text in zip(reply[4::2], reply[5::2], strict=True):
            found = _decode(text)
            node = Node(found.node, name.decode(), found.http, "", 0, found.listeners, found.asks, found.leaving)
            nodes.append(node.told(found.kafka))
        known = {node.name for node in self.open}
        self._learn(nodes)
        for each in self.open:
            if each.name not in known:
                _log.warning("a broker of the same Redis asks nobody who they are, so who reaches it may do everything",
                             broker=each.name, http=each.http, kafka=each.kafka)  # fmt: skip
        return now_ms

    def _learn(self, nodes: Iterable[Node]) -> None:
        self._nodes, self._nodes_by_listener = sorted(nodes, key=lambda node: node.id), {}

    def nodes(self, listener: str = "") -> Sequence[Node]:
        """Live brokers that clients are sent to, with that Kafka listener and its addresses, by id; "" is the first
        one of each."""
        found = self._nodes_by_listener.get(listener)
        if found is None:
            found = [node for node in self.shown(listener) if not node.is_leaving]
            self._nodes_by_listener[listener] = found
        return found

    def shown(self, listener: str = "") -> Sequence[Node]:
        """As `nodes`, with those that are leaving: whose addresses clients are told."""
        seen = (node if listener == "" else node.told(self._address(node, listener)) for node in self._nodes)
        return [node for node in seen if node.kafka_host]

    def _address(self, node: Node, listener: str) -> str:
        if node.listeners or listener != next(iter(self._kafka), ""):
            return node.listeners.get(listener, "")
        return node.kafka

    def leader(self, topic: str, partition: int, listener: str = "") -> int:
        """Node id of the broker that clients are sent to for a partition; -1 when there is none."""
        nodes = self.nodes(listener)
        return _spread(nodes, topic, partition).id if nodes else -1

    def keeps(self, topic: str, partition: int) -> bool:
        """Whether this broker does the upkeep of a partition: its leader does.  Where no broker has a Kafka listener,
        it is the one that would lead."""
        nodes = self.nodes() or [node for node in self._nodes if not node.is_leaving]
        return bool(nodes) and _spread(nodes, topic, partition).name == self._name

    def does(self, job: str) -> bool:
        """Whether this broker does a job that one of all live brokers is to do."""
        return max(self._nodes, key=lambda node: _lot(job, node)).name == self._name if self._nodes else True

    def is_live(self, name: str) -> bool:
        return any(node.name == name for node in self._nodes)

    @property
    def open(self) -> Sequence[Node]:
        """Live brokers that let in everybody although this one asks who calls."""
        return [node for node in self._nodes if self._asks and not node.asks]

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
        if owner:
            for node in self.nodes():
                if node.name == owner.decode():
                    return node
        return self.falls_to(group)

    def falls_to(self, name: str) -> Node | None:
        """The live broker a name falls to, the same on every broker; of the others' names none moves when one goes."""
        return max(self.nodes(), key=lambda node: _lot(name, node), default=None)


def _spread(nodes: Sequence[Node], topic: str, partition: int) -> Node:
    return nodes[(zlib.crc32(topic.encode()) + partition) % len(nodes)]


def _lot(name: str, node: Node) -> bytes:
    """Not a CRC: that is linear, so of two nodes the same one would win for most names that differ in a digit."""
    return hashlib.blake2b(f"{name}/{node.id}".encode(), digest_size=8).digest()
