"""A member of a consumer group (KIP-848): its heartbeats, its state, and the results."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import NamedTuple

from redis_ledger.errors import InvalidRequest, UnsupportedAssignor
from redis_ledger.groups.assignors import ASSIGNORS, DEFAULT, Slice
from redis_ledger.groups.member import OVERHEAD_BYTES
from redis_ledger.groups.reconcile import NOTHING, MemberAssignment
from redis_ledger.groups.subscribed_topics import NO_SUBSCRIPTION, MemberSubscription

JOIN, LEAVE, LEAVE_FOR_A_WHILE = 0, -1, -2  # special member epochs
NAME_CHARS_MAX = 1_024  # of a member's id, instance or rack
TOPIC_NAMES_CHARS_MAX = 1 << 20  # of all topic names of a member
NEWCOMER = MemberAssignment(JOIN)


class ConsumerGroupState(Enum):
    """States with their names in Kafka's protocol."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


class Heartbeat(NamedTuple):
    """A heartbeat.  None, or -1 for the timeout: unchanged.  owned: partitions that the member may still be reading.

    who: the principal.  tried: topic names that the regular expression was tried on → whether they match.
    """

    member_id: str
    epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_ms: int = -1
    names: Sequence[str] | None = None
    regex: str | None = None
    assignor: str | None = None
    owned: frozenset[Slice] | None = None
    client_id: str = ""
    client_host: str = ""
    who: Hashable = None
    tried: Mapping[str, bool] = {}

    @property
    def is_full(self) -> bool:
        """A full heartbeat, which gets a full response: sent by a member that missed a response."""
        if self.epoch == JOIN:
            return True
        return self.rebalance_ms != -1 and self.has_subscription and self.owned is not None

    @property
    def has_subscription(self) -> bool:
        return not (self.names is None and self.regex is None)

    @property
    def size(self) -> int:
        """Memory of the member in bytes."""
        return OVERHEAD_BYTES + self.subscription(NO_SUBSCRIPTION).size

    def subscription(self, before: MemberSubscription) -> MemberSubscription:
        names = before.names if self.names is None else frozenset(self.names)
        if self.regex is None:
            return MemberSubscription(names, before.regex, before.who)
        return MemberSubscription(names, self.regex, self.who if self.regex else None)


class HeartbeatResult(NamedTuple):
    """The response to a heartbeat.  assigned: the assigned partitions; None if they have not changed."""

    member_id: str
    epoch: int
    assigned: frozenset[Slice] | None = None


@dataclass(slots=True, eq=False)
class Consumer:
    """session_until: removed without a heartbeat by then.  revoke_until: removed without a complete revocation by then.

    epoch_before: its previous epoch.  epoch_joined: its first epoch since it (re)joined.
    """

    id: str
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_ms: int = -1
    subscription: MemberSubscription = NO_SUBSCRIPTION
    assignor: str | None = None
    client_id: str = ""
    client_host: str = ""
    session_until: float = inf
    revoke_until: float = inf
    at: MemberAssignment = NEWCOMER
    epoch_before: int = -1
    epoch_joined: int = JOIN
    target: frozenset[Slice] = NOTHING

    @property
    def deadline(self) -> float:
        return min(self.session_until, self.revoke_until)

    @property
    def size(self) -> int:
        """Memory in bytes, without its partitions."""
        return OVERHEAD_BYTES + self.subscription.size

    def hear(self, request: Heartbeat) -> bool:
        """Updates the member from a heartbeat; returns whether anything has changed."""
        before = (self.client_id, self.client_host, self.rack_id, self.rebalance_ms, self.assignor, self.subscription)
        self.client_id, self.client_host = request.client_id, request.client_host
        if request.rack_id is not None:
            self.rack_id = request.rack_id
        if request.rebalance_ms != -1:
            self.rebalance_ms = request.rebalance_ms
        if request.assignor is not None:
            self.assignor = request.assignor
        self.subscription = request.subscription(self.subscription)
        return before != (
            self.client_id,
            self.client_host,
            self.rack_id,
            self.rebalance_ms,
            self.assignor,
            self.subscription,
        )


class DescribedConsumer(NamedTuple):
    member_id: str
    instance_id: str | None
    rack_id: str | None
    epoch: int
    client_id: str
    client_host: str
    names: Sequence[str]
    regex: str
    assigned: frozenset[Slice]
    target: frozenset[Slice]


class DescribedConsumers(NamedTuple):
    """The description of a group."""

    state: str
    epoch: int
    assignor: str = DEFAULT
    members: Sequence[DescribedConsumer] = ()


def check(request: Heartbeat) -> None:
    """Raises InvalidRequest, UnsupportedAssignor."""
    for what, name in (
        ("member id", request.member_id),
        ("instance id", request.instance_id),
        ("rack id", request.rack_id),
    ):
        if name == "" or len(name or "") > NAME_CHARS_MAX:
            raise InvalidRequest(f"The {what} must have 1 to {NAME_CHARS_MAX} characters.")
    if request.epoch < LEAVE_FOR_A_WHILE:
        raise InvalidRequest(f"{request.epoch} is not a member epoch.")
    if request.rebalance_ms < -1:
        raise InvalidRequest(f"{request.rebalance_ms} is not a rebalance timeout.")
    if request.epoch == LEAVE_FOR_A_WHILE and request.instance_id is None:
        raise InvalidRequest("Only a static member, one with an instance id, can leave temporarily.")
    if request.names is not None and sum(len(name) + 1 for name in request.names) > TOPIC_NAMES_CHARS_MAX:
        raise InvalidRequest(f"The topic names have more than {TOPIC_NAMES_CHARS_MAX} characters in total.")
    if request.epoch == JOIN:
        if request.rebalance_ms == -1:
            raise InvalidRequest("A joining member must send its rebalance timeout.")
        if request.owned is None or request.owned:
            raise InvalidRequest("A joining member must send an empty list of owned partitions.")
        if not request.has_subscription:
            raise InvalidRequest("A joining member must send topic names or a regular expression.")
    if request.assignor is not None and request.assignor not in ASSIGNORS:
        raise UnsupportedAssignor(f"There is no assignor {request.assignor[:80]!r}; there are {', '.join(ASSIGNORS)}.")
