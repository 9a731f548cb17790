"""Admission of Redis nodes: checks each before its first write on a connection, and regularly afterwards.

    connection ─▶ questions (INFO, CONFIG GET, cluster id) ─▶ node_status.py ─▶ Node.barred
    broker     ─▶ look() twice a second ─┘                                    └─▶ refusal(): /readyz, console

The first heartbeat of a broker writes the cluster id.  On a Redis Cluster each node has copies of it, the witnesses, in
its own slots: 64 keys over 16 384 slots.  So any node that lost its data is detected.
A broker that finds a different cluster id than before leaves a claim in that Redis while it runs.  So a broker that
starts later refuses to serve that Redis as well.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary, WeakSet

from hiredis import ReplyError

from redis_ledger.errors import LedgerError, RedisUnfit, TooFewReplicas
from redis_ledger.store.connection import Arg
from redis_ledger.store.inspection import Probe
from redis_ledger.store.keys import CatalogKeys, witness
from redis_ledger.store.node import Node
from redis_ledger.store.node_status import (
    FIT,
    ExpectedNode,
    KnownNode,
    NodeState,
    NodeStatus,
    ObservedNode,
    has_changed,
    node_status,
)
from redis_ledger.store.script_status import Status
from redis_ledger.store.server_info import QUESTIONS, NodeInfo, read_node
from redis_ledger.telemetry import metrics

LOOK_EVERY_S = 0.5
CLAIM_MS = 5_000
WITNESSES = 64
_log = logging.getLogger("redis_ledger.store")
Question = tuple[bytes, ...]
Command = tuple[Arg, ...]
PING: Question = (b"PING",)
UNASKED: Any = object()


class SlotMap(Protocol):
    """The primaries of a topology and the slots that they own. `Topology` implements it."""

    has_slots: bool

    def slot(self, key: bytes) -> int: ...

    def owner(self, slot: int) -> Node: ...

    def links(self) -> Sequence[Node]: ...


class Probed(NamedTuple):
    """A node that is compared. owns: whether a key belongs to it; ask: sends commands before all calls; life: its run
    id and replication id, the same for all brokers."""

    owns: Callable[[bytes], bool]
    ask: Probe
    life: str


class Admission:
    """on_changed: called when a node was restarted or replaced, before its connection has any call.
    on_compare: awaited then, with the node and the maximum wait for other brokers."""

    def __init__(self, topology: SlotMap, prefix: str) -> None:
        self.promised = ExpectedNode()
        self.cluster_id = ""
        self.on_changed: list[Callable[[], None]] = []
        self.on_compare: list[Callable[[Probed, float], Awaitable[None]]] = []
        self._doubted: WeakSet[Node] = WeakSet()  # may have lost writes since they were compared
        self._topology = topology
        self._keys = CatalogKeys(prefix)
        self._witnesses = [witness(prefix, number) for number in range(WITNESSES)]
        self._stored: Question = (b"HGET", self._keys.state, b"cluster")
        self._counted: Question = (b"HGET", self._keys.state, b"witnesses")
        self._claimed: Question = (b"GET", self._keys.claim)
        self._has_witnesses = False
        self._fit: WeakKeyDictionary[Node, NodeInfo] = WeakKeyDictionary()  # state when they were last fit
        self._last: WeakKeyDictionary[Node, NodeInfo] = WeakKeyDictionary()  # state at the last check
        self._statuses: WeakKeyDictionary[Node, NodeStatus] = WeakKeyDictionary()
        self._outside = ""
        self._is_enforced = True
        self.is_open = False

    def open(self) -> None:
        """From now on any new node may have replaced another."""
        self.is_open = True

    def learn(self, cluster_id: str) -> None:
        """cluster_id: as a broker's heartbeat read or created it."""
        self.cluster_id = self.cluster_id or cluster_id

    def expect(self, cluster_id: str) -> None:
        """cluster_id: in the data directory from an earlier start; "" if there was none."""
        self.cluster_id = cluster_id or self.cluster_id

    def check(self, status: int) -> None:
        """Raises RedisUnfit if a script found another cluster id than this broker's."""
        if status == Status.OTHER_CLUSTER:
            raise RedisUnfit(
                f"Redis does not hold the cluster {self.cluster_id} any more: its data was lost or replaced."
            )

    def serve_any(self) -> None:
        """Refuses nothing from now on: for a tool that repairs data that brokers refuse."""
        self._is_enforced = False
        self._apply()

    def bar(self, sentence: str) -> None:
        """Refuses writes on all nodes for a reason outside Redis; "" ends it."""
        self._outside = sentence
        self._apply()

    def statuses(self) -> list[tuple[str, NodeStatus]]:
        """Of every primary, by address."""
        return [(link.name, self._statuses.get(link, FIT)) for link in self._topology.links()]

    def refusal(self) -> RedisUnfit | TooFewReplicas | None:
        """Returns why writes are refused, the worst reason first; None if they are not."""
        bad = [node_state for _, node_state in self.statuses() if not node_state.is_fit]
        bad.sort(key=lambda node_state: node_state.is_readable)
        if bad:
            return bad[0].error
        return RedisUnfit(self._outside) if self._outside else None

    def fullness(self) -> float:
        """Returns the used share of maxmemory of the fullest primary at its last check; 0 without a limit."""
        nodes = [node for link in self._topology.links() if (node := self._last.get(link)) is not None]
        return max(
            ((node.used_memory_bytes or 0) / node.maxmemory_bytes for node in nodes if node.maxmemory_bytes),
            default=0.0,
        )

    # -- looking -----------------------------------------------------------------------------------------------------

    def questions(self, link: Node) -> list[Question]:
        """PING comes first: Redis replies MISCONF to it when it refuses writes."""
        asked: list[Question] = [PING, *QUESTIONS]
        if self._owns(link, self._keys.state):
            asked += [self._stored, self._claimed, self._counted]
        return asked + [(b"GET", key) for key in self._witnesses_of(link)]

    def take(self, link: Node, name: str, asked: Sequence[Question], replies: Sequence[Any]) -> NodeStatus:
        """asked: the result of questions(link); replies: in order, errors are values."""
        answers = dict(zip(asked, replies, strict=True))
        node = read_node(name, [answers[question] for question in QUESTIONS])
        stored = _text(answers.get(self._stored, UNASKED))
        self._has_witnesses |= bool(_text(answers.get(self._counted, UNASKED)))
        copies = [_text(answers.get((b"GET", key), UNASKED)) for key in self._witnesses] if self._has_witnesses else []
        stored_ids = [each for each in (stored, *copies) if each is not None]
        wrong = [each for each in stored_ids if each != self.cluster_id]
        claim = _text(answers.get(self._claimed, UNASKED)) or ""
        seen = ObservedNode(node, next(iter(wrong or stored_ids), None), claim, _misconf(answers[PING]))
        node_state = node_status(self.promised, KnownNode(self.cluster_id, self._fit.get(link)), seen)
        self._settle(link, name, node, node_state)
        if node_state.is_fit and stored:
            self.learn(stored)
        return node_state

    async def compare(self, link: Node, probe: Probe, *, within_s: float) -> None:
        """Compares a node that may have lost writes with its last known state.  A node that may be neither read nor
        written stays in doubt until it is fit."""
        if link not in self._doubted or not self._statuses.get(link, FIT).is_readable:
            return
        self._doubted.discard(link)
        try:
            for call in self.on_compare:
                await call(Probed(lambda key: self._owns(link, key), probe, self.life(link)), within_s)
        except BaseException:
            self._doubted.add(link)
            raise

    async def compare_all(self) -> None:
        """Compares every node with the state of an earlier run, before the first request is served."""
        for link in self._topology.links():
            self._doubted.add(link)
            await self.compare(link, link.ask, within_s=0.0)

    def life(self, link: Node) -> str:
        """Run id and replication id of the node, as last read; "" if unknown."""
        last = self._last.get(link)
        return f"{last.run_id} {last.replication_id}" if last else ""

    def doubt(self, link: Node) -> None:
        """The node serves slots that another one served: compares it before further calls."""
        if self.is_open:
            self._doubted.add(link)
            link.recheck()

    async def look(self) -> None:
        """Checks every connected node.  Cost: one round trip each."""
        links = [link for link in self._topology.links() if link.conn is not None]
        await asyncio.gather(*map(self._look_at, links))

    async def _look_at(self, link: Node) -> None:
        asked = self.questions(link)
        replies = await link.ask(asked)
        if any(isinstance(reply, LedgerError) and not _misconf(reply) for reply in replies):
            return  # unreachable; the next connection is checked before its first call
        if link.conn is None:
            return
        node_state = self.take(link, link.name, asked, replies)
        await link.ask(self.claim(link))
        if link in self._doubted and node_state.is_readable:
            link.recheck()
            return
        if node_state.is_fit and self.cluster_id:
            await self._bear_witness(link)

    def claim(self, link: Node) -> list[Command]:
        """Returns the commands to send after `take`: a claim of the earlier cluster if the node has another or none."""
        if self._statuses.get(link, FIT).state not in (NodeState.EMPTY, NodeState.FOREIGN):
            return []
        if not self._owns(link, self._keys.state):
            return []
        return [(b"SET", self._keys.claim, self.cluster_id, b"PX", CLAIM_MS)]

    async def _bear_witness(self, link: Node) -> None:
        """Writes the witnesses that every node has from now on; once in the life of a cluster."""
        if self._has_witnesses or not self._topology.has_slots or not self._owns(link, self._keys.state):
            return
        for key in self._witnesses:
            owner = self._topology.owner(self._topology.slot(key))
            (reply,) = await owner.ask([(b"SET", key, self.cluster_id)])
            if isinstance(reply, Exception):
                return  # again at the next check
        await link.ask([(b"HSET", self._keys.state, b"witnesses", WITNESSES)])

    # -- what follows ------------------------------------------------------------------------------------------------

    def _settle(self, link: Node, name: str, node: NodeInfo, node_state: NodeStatus) -> None:
        before = self._last.get(link)
        if has_changed(before, node) or (before is None and self.is_open):
            metrics.redis_changed.inc()
            what = (
                "Redis at %s was restarted, replaced, or is new here: run id %s, replication id %s; caches are dropped"
            )
            _log.warning(what, name, node.run_id, node.replication_id)
            self._doubted.add(link)
            for call in self.on_changed:
                call()
        known = self._statuses.get(link, FIT)
        if node_state != known and self.promised.durability is not None:  # before that, `check` names what is wrong
            if node_state.is_fit:
                _log.warning("Redis at %s is fit again: writes are accepted", name)
            else:
                _log.error("%s", node_state.sentence)
        self._last[link] = node
        if node_state.is_fit or before is None:
            self._fit[link] = node
        self._statuses[link] = node_state
        self._apply()

    def _apply(self) -> None:
        metrics.redis_unfit.put(
            [((link.name, state.value), float(self._statuses.get(link, FIT).state is state))
             for link in self._topology.links() for state in NodeState if state is not NodeState.FIT]
        )  # fmt: skip
        for link in self._topology.links():
            node_state = self._statuses.get(link, FIT)
            outside = RedisUnfit(self._outside) if self._outside else None
            error = outside if node_state.is_fit else node_state.error
            link.bar(error if self._is_enforced else None, is_readable=node_state.is_readable)

    def _owns(self, link: Node, key: bytes) -> bool:
        return self._topology.owner(self._topology.slot(key)) is link

    def _witnesses_of(self, link: Node) -> list[bytes]:
        if not self._topology.has_slots:
            return []
        return [key for key in self._witnesses if self._owns(link, key)]


def _text(reply: Any) -> str | None:
    """None: not requested, or an error; "": there is none."""
    if reply is UNASKED or isinstance(reply, Exception):
        return None
    return reply.decode(errors="replace") if reply else ""


def _misconf(reply: Any) -> str:
    """Returns why Redis refuses writes, according to PING."""
    text = str(reply) if isinstance(reply, (ReplyError, LedgerError)) else ""
    at = text.find("MISCONF")
    return text[at:] if at >= 0 else ""
