"""Decides whether a Redis node may serve writes and reads, and why not.  Pure.

    its cluster id is gone                           EMPTY      no writes, no reads
    another cluster id is stored                     FOREIGN    no writes, no reads
    another running broker has another cluster id    CLAIMED    no writes, no reads
    it refuses writes itself (MISCONF)               DISK       no writes
    too few replicas in sync, at level `replicas`    REPLICAS   no writes, no reads: nothing could be confirmed
    weaker than promised, or evicts keys             WEAKER     no writes

A node that lost its data must not be written to: offsets, transaction ids and topics would be allocated twice.
It is not read from either, since a consumer whose offset is gone would start at the beginning.
Run id and replication id also change harmlessly (a restart, a new replica), so a change only clears the caches.
Source: valkey src/replication.c, src/server.c.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from redis_ledger.errors import RedisUnfit, TooFewReplicas
from redis_ledger.store.copies import CopiesRequired
from redis_ledger.store.server_info import NodeInfo
from redis_ledger.store.suitability import ATTACH, Durability, problems, too_few_replicas


class NodeState(Enum):
    FIT = "fit"
    EMPTY = "empty"
    FOREIGN = "foreign"
    CLAIMED = "claimed"
    DISK = "disk"
    REPLICAS = "replicas"
    WEAKER = "weaker"


START_OVER = "stop all brokers and start them again"


class ExpectedNode(NamedTuple):
    """durability: None: nothing was promised.  start_over: how an operator gives up acknowledged records.
    copies: required at level `replicas`."""

    durability: Durability | None = None
    start_over: str = START_OVER
    copies: CopiesRequired | None = None


class KnownNode(NamedTuple):
    """cluster_id: "" while none is known.  node: its state when it was last fit; None: it is new."""

    cluster_id: str = ""
    node: NodeInfo | None = None


class ObservedNode(NamedTuple):
    """cluster_id: as stored on the node, "" if it is missing but expected; None: not read, or not expected.
    claim: the cluster id of a running broker; misconf: why Redis refuses writes."""

    node: NodeInfo
    cluster_id: str | None = None
    claim: str = ""
    misconf: str = ""


class NodeStatus(NamedTuple):
    state: NodeState
    sentence: str = ""

    @property
    def error(self) -> RedisUnfit | TooFewReplicas:
        """What a refused call fails with."""
        return TooFewReplicas(self.sentence) if self.state is NodeState.REPLICAS else RedisUnfit(self.sentence)

    @property
    def is_fit(self) -> bool:
        return self.state is NodeState.FIT

    @property
    def is_readable(self) -> bool:
        return self.state in (NodeState.FIT, NodeState.DISK, NodeState.WEAKER)


FIT = NodeStatus(NodeState.FIT)


def node_status(promised: ExpectedNode, known: KnownNode, seen: ObservedNode) -> NodeStatus:
    at = f"Redis at {seen.node.address}"
    stops = "Brokers neither write to it nor read from it"
    over = f"or, to give up what was acknowledged, {promised.start_over}"
    if known.cluster_id and seen.cluster_id == "":
        return NodeStatus(NodeState.EMPTY, (
            f"{at} has lost its data: it held the cluster {known.cluster_id} and has no cluster id now. {stops}. "
            f"Bring its data back (restore it, or restart Redis with `appendonly yes` in redis.conf if its "
            f"append-only file is still there), {over}."
        ))  # fmt: skip
    if known.cluster_id and seen.cluster_id not in (None, known.cluster_id):
        return NodeStatus(NodeState.FOREIGN, (
            f"{at} holds the cluster {seen.cluster_id}, and not {known.cluster_id} as before. {stops}. "
            f"Bring back the Redis with the earlier data, {over}."
        ))  # fmt: skip
    if seen.claim and seen.cluster_id is not None and seen.claim != seen.cluster_id:
        return NodeStatus(NodeState.CLAIMED, (
            f"{at} {f'holds the cluster {seen.cluster_id}' if seen.cluster_id else 'has no cluster id'}, and another "
            f"broker that runs has served the cluster {seen.claim} from it: its data was lost or replaced. {stops}. "
            f"Bring back the Redis with the earlier data, {over}."
        ))  # fmt: skip
    if seen.misconf:
        return NodeStatus(NodeState.DISK, refused_by_redis(seen.node.address, seen.misconf).detail)
    if promised.durability is not None:
        in_sync = None if promised.copies is None else seen.node.replication.in_sync(promised.copies.lag_s_max)
        if promised.copies is not None and in_sync is not None and in_sync < promised.copies.min_insync:
            why = too_few_replicas(seen.node.address, in_sync, promised.copies)
            return NodeStatus(NodeState.REPLICAS, f"{why}: requests are refused. {ATTACH}")
        restarted = has_restarted(known.node, seen.node) and bool(known.node and known.node.appendonly)
        found = [each for each in problems(seen.node, promised.durability, restarted=restarted)
                 if each.level == "problem"]  # fmt: skip
        if found:
            return NodeStatus(NodeState.WEAKER, (
                f"Writes are refused, since durability {promised.durability} was promised: "
                f"{' '.join(f'{each.seen}. {each.cure}' for each in found)}"
            ))  # fmt: skip
    return FIT


def refused_by_redis(address: str, reply: str) -> RedisUnfit | TooFewReplicas:
    """Explains why a node itself refuses a write, with the remedy.  reply: its error, MISCONF or NOREPLICAS."""
    word, _, rest = reply.partition(" ")
    reason = rest.rstrip(".")
    if word == "NOREPLICAS":
        return TooFewReplicas(
            f"Redis at {address} refuses writes because it has too few replicas: {reason}. "
            "Look at its replicas and at min-replicas-to-write; writes go on when enough replicas are in sync."
        )
    return RedisUnfit(
        f"Redis at {address} refuses writes because it cannot save them: {reason}. "
        "Look at its disk and its log; writes go on when it can save again."
    )


def has_restarted(before: NodeInfo | None, now: NodeInfo) -> bool:
    return before is not None and None not in (before.run_id, now.run_id) and before.run_id != now.run_id


def has_changed(before: NodeInfo | None, now: NodeInfo) -> bool:
    """Whether the node may hold older data than before, so that caches must be cleared."""
    if before is None:
        return False
    return (before.run_id, before.replication_id) != (now.run_id, now.replication_id)
