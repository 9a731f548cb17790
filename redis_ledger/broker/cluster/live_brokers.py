"""The live brokers: their Kafka addresses, and which of them leads, coordinates and maintains what.

    rl:{catalog}:brokers    broker → time of its last heartbeat, by Redis's clock
    rl:{catalog}:addresses  broker → {"node": 2, "http": "http://...", "kafka": "host:port",
                                      "listeners": {"internal": "host:port", ...}, "asks": true, "leaving": false,
                                      "libraries": ["7326fd58677e", ...]}

"kafka" is the address of the first Kafka listener; "listeners" has the addresses of all if they are named; "asks" is
auth_required; "libraries" are the hashes of the function libraries that the broker calls.
A client gets the addresses of the listener that it connected to, and only brokers with that listener.  A broker
with one unnamed listener counts as having the first listener of the others, so names can be introduced one by one.

State is in Redis, so any broker serves any partition; the leader is only the broker that Kafka clients are sent to.
Leaders are a function of the live node ids, so all brokers agree.  A broker without a heartbeat for SILENT_MS is not
live; one that returns on the same address gets its node id back.  An outage of Redis does not count as silence
(lua/broker/heartbeat).  A broker whose process has ended is removed earlier, and all learn of a new one at once
(peer_watch.py).  A leaving broker keeps its address but leads and coordinates nothing, so that its clients can still
ask it where to go.
A group's coordinator is its owner while that broker is live (redis_ledger/groups), else the assigned broker.

Brokers with authentication warn about live brokers of the same Redis without it.
Source: KIP-500 (brokers and their heartbeats), rendezvous hashing (Thaler and Ravishankar).
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from redis_ledger.store.function_library import hash_of
from redis_ledger.store.keys import CatalogKeys, GroupKeys
from redis_ledger.store.scripts import Script
from redis_ledger.store.store import Store
from redis_ledger.store.stored_json import stored_json
from redis_ledger.telemetry.logs import get

HEARTBEAT = Script.load("broker/heartbeat")
BEAT_MS = 1_000  # between two heartbeats of a broker
SILENT_MS = 3_500  # a broker is not live after this much silence


_log = get()


class Node(NamedTuple):
    """A live broker.

    kafka_host, kafka_port   of the requested listener, or of its first; "" and 0 without one
    listeners                name → "host:port"; empty if they have no names
    requires_auth            whether it has auth_required
    """

    id: int
    name: str
    http: str
    kafka_host: str
    kafka_port: int
    listeners: Mapping[str, str] = MappingProxyType({})
    requires_auth: bool = False
    is_leaving: bool = False
    libraries: frozenset[str] = frozenset()

    @property
    def kafka(self) -> str:
        return f"{self.kafka_host}:{self.kafka_port}" if self.kafka_host else ""

    def at(self, kafka: str) -> Node:
        """The node with this Kafka address, "host:port"."""
        host, _, port = kafka.rpartition(":")
        return self._replace(kafka_host=host.strip("[]"), kafka_port=int(port or 0))


class _Addresses(msgspec.Struct):
    node: int = 0
    http: str = ""
    kafka: str = ""
    listeners: dict[str, str] = {}
    asks: bool = False
    leaving: bool = False
    libraries: frozenset[str] = frozenset()


_decode = stored_json(_Addresses, "The addresses of a broker")


class LiveBrokers:
    """The live brokers as of this broker's last heartbeat.  name: of this broker; requires_auth: its auth_required.

    on_return: called when this broker is live again after it was not: clients have been sent to other brokers.
    """

    def __init__(self, store: Store, name: str, http: str, *, requires_auth: bool = False) -> None:
        self._store, self._name, self._http, self._requires_auth = store, name, http, requires_auth
        self._kafka: Mapping[str, str] = {}
        self._keys = CatalogKeys(store.prefix)
        self.node_id = 0
        self.cluster_id = ""
        self.is_leaving = False
        self._leaves = False
        self.on_return: list[Callable[[], None]] = []
        self._nodes: list[Node] = []
        self._nodes_by_listener: dict[str, list[Node]] = {}

    async def announce(self, kafka: Mapping[str, str]) -> None:
        """kafka: Kafka listener → "host:port" for clients, in order; the name may be "" if there is one listener."""
        self._kafka = kafka
        await self.send_heartbeat()

    async def leave(self) -> None:
        """Makes the other brokers, if any, lead and coordinate everything."""
        self._leaves = True
        try:
            await self.send_heartbeat()
        finally:  # without Redis, the others notice the missing heartbeats
            self._learn([n._replace(is_leaving=True) if n.name == self._name else n for n in self._nodes])
            self.is_leaving = bool(self.nodes())

    async def hide(self) -> None:
        """Stops advertising this broker's address."""
        try:
            await self.announce({})
        finally:
            self._learn([node for node in self._nodes if node.name != self._name])

    async def send_heartbeat(self) -> int:
        """Stores a heartbeat and reads the live brokers; returns Redis's time in ms.  Cost: one round trip."""
        k = self._keys
        main = next(iter(self._kafka.values()), "")
        named = {name: address for name, address in self._kafka.items() if name}
        facts = {
            "http": self._http,
            "kafka": main,
            "listeners": named,
            "asks": self._requires_auth,
            "leaving": self._leaves,
            "libraries": sorted(hash_of(library.name) for library in Script.libraries()),
        }
        mine = msgspec.json.encode(facts)
        admission = self._store.admission
        args = (self._name, SILENT_MS, BEAT_MS, main, mine, "", admission.cluster_id, k.changes)
        reply = await self._store.call(HEARTBEAT, (k.brokers, k.addresses, k.state), args)
        admission.check(reply[0])
        is_first = not self.node_id
        now_ms, self.cluster_id, self.node_id, was_live = int(reply[1]), reply[2].decode(), int(reply[3]), reply[4]
        admission.learn(self.cluster_id)
        nodes = []
        for name, text in zip(reply[5::2], reply[6::2], strict=True):
            found = _decode(text)
            node = Node(found.node, name.decode(), found.http, "", 0, found.listeners, found.asks, found.leaving)
            nodes.append(node.at(found.kafka)._replace(libraries=found.libraries))
        known = {node.name for node in self.unauthenticated}
        self._learn(nodes)
        for each in self.unauthenticated:
            if each.name not in known:
                _log.warning("a broker of the same Redis has no authentication: its clients may do everything",
                             broker=each.name, http=each.http, kafka=each.kafka)  # fmt: skip
        if not was_live and not is_first:
            for call in self.on_return:
                call()
        return now_ms

    async def remove(self, name: str) -> bool:
        """Makes a broker whose process has ended count as silent, for all brokers.  Returns whether it was live.

        A heartbeat makes it live again.
        """
        now_ms = await self.send_heartbeat()
        if not self.is_live(name):
            return False
        k = self._keys
        await self._store.write_allow_oom("ZADD", k.brokers, "XX", now_ms - SILENT_MS - BEAT_MS, name)
        await self._store.command("SPUBLISH", k.changes, name, key=k.state)
        await self.send_heartbeat()
        return True

    async def on_change(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Calls `changed` when another broker may have joined, left or changed its addresses: then send_heartbeat()
        reads which.  Returns a function that ends this.  Raises StoreUnavailable."""
        return await self._store.subscribe(self._keys.changes, lambda _: changed(), changed)

    def _learn(self, nodes: Iterable[Node]) -> None:
        self._nodes, self._nodes_by_listener = sorted(nodes, key=lambda node: node.id), {}

    def nodes(self, listener: str = "") -> Sequence[Node]:
        """Live brokers with this Kafka listener that are not leaving, by id; "" is the first listener of each."""
        found = self._nodes_by_listener.get(listener)
        if found is None:
            found = [node for node in self.advertised(listener) if not node.is_leaving]
            self._nodes_by_listener[listener] = found
        return found

    def advertised(self, listener: str = "") -> Sequence[Node]:
        """As `nodes`, including brokers that are leaving."""
        seen = (node if listener == "" else node.at(self._address(node, listener)) for node in self._nodes)
        return [node for node in seen if node.kafka_host]

    def _address(self, node: Node, listener: str) -> str:
        if node.listeners or listener != next(iter(self._kafka), ""):
            return node.listeners.get(listener, "")
        return node.kafka

    def leader(self, topic: str, partition: int, listener: str = "") -> int:
        """Node id of the partition's leader; -1 without one."""
        nodes = self.nodes(listener)
        return _spread(nodes, topic, partition).id if nodes else -1

    def maintains(self, topic: str, partition: int) -> bool:
        """Whether this broker maintains a partition: its leader does, with or without a Kafka listener."""
        nodes = self.nodes() or [node for node in self._nodes if not node.is_leaving]
        return bool(nodes) and _spread(nodes, topic, partition).name == self._name

    def runs(self, job: str) -> bool:
        """Whether this one of the live brokers runs a job."""
        return max(self._nodes, key=lambda node: _weight(job, node)).name == self._name if self._nodes else True

    def is_live(self, name: str) -> bool:
        return any(node.name == name for node in self._nodes)

    @property
    def unauthenticated(self) -> Sequence[Node]:
        """Live brokers without authentication, if this broker has it."""
        return [node for node in self._nodes if self._requires_auth and not node.requires_auth]

    @property
    def all(self) -> Sequence[Node]:
        """Every live broker, by id."""
        return self._nodes

    @property
    def live(self) -> Sequence[str]:
        """Names of all live brokers."""
        return [node.name for node in self._nodes]

    @property
    def libraries(self) -> frozenset[str]:
        """Hashes of the function libraries that live brokers call."""
        return frozenset().union(*(node.libraries for node in self._nodes))

    @property
    def name(self) -> str:
        return self._name

    async def coordinator(self, group: str) -> Node | None:
        """A group's coordinator: its owner if live, else the assigned broker.  Cost: one read."""
        k = GroupKeys(self._store.prefix, group)
        owner = await self._store.command("HGET", k.state, "owner", key=k.state)
        if owner:
            for node in self.nodes():
                if node.name == owner.decode():
                    return node
        return self.assigned(group)

    def assigned(self, name: str) -> Node | None:
        """The live broker of a name, by rendezvous hashing: if a broker goes, only its own names move."""
        return max(self.nodes(), key=lambda node: _weight(name, node), default=None)


def _spread(nodes: Sequence[Node], topic: str, partition: int) -> Node:
    return nodes[(zlib.crc32(topic.encode()) + partition) % len(nodes)]


def _weight(name: str, node: Node) -> bytes:
    """Not a CRC, which is linear: one of two nodes would win for most names that differ in one digit."""
    return hashlib.blake2b(f"{name}/{node.id}".encode(), digest_size=8).digest()
