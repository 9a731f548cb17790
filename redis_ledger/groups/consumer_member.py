"""A member of a consumer group (KIP-848): what it says in a heartbeat, what is known of it, and what it is told."""

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
from redis_ledger.groups.subscribed_topics import NO_WISH, Wish

JOIN, LEAVE, LEAVE_FOR_A_WHILE = 0, -1, -2  # member epochs that are orders
NAME_CHARS_MAX = 1_024  # of a member's id, instance or rack
WISH_CHARS_MAX = 1 << 20  # of all topic names of a member
NEWCOMER = MemberAssignment(JOIN)


class State(Enum):
    """The values are what clients are told."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


class Heartbeat(NamedTuple):
    """A heartbeat.  None, or -1 for the timeout: as before.  owned: what the member may still be reading.
    who: sends it.  tried: names that the expression was tried on, and whether they match."""

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
        """It says all there is to say, so it is told all: a member that missed an answer asks this way."""
        if self.epoch == JOIN:
            return True
        return self.rebalance_ms != -1 and self.says_wish and self.owned is not None

    @property
    def says_wish(self) -> bool:
        return not (self.names is None and self.regex is None)

    @property
    def size(self) -> int:
        """Bytes it will cost to know this member."""
        return OVERHEAD_BYTES + self.wish(NO_WISH).size

    def wish(self, before: Wish) -> Wish:
        names = before.names if self.names is None else frozenset(self.names)
        if self.regex is None:
            return Wish(names, before.regex, before.who)
        return Wish(names, self.regex, self.who if self.regex else None)


class HeartbeatResult(NamedTuple):
    """The answer to a heartbeat.  assigned: what the member may read; None when that is what it was told before."""

    member_id: str
    epoch: int
    assigned: frozenset[Slice] | None = None


@dataclass(slots=True, eq=False)
class Consumer:
    """session_until, revoke_until: when it is put out, unless it speaks, or has given up by then what it has to.

    epoch_before: its epoch before that of `at`.  epoch_joined: the first since it joined, or joined again.
    """

    id: str
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_ms: int = -1
    wish: Wish = NO_WISH
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
        """Bytes it costs besides its share of the partitions."""
        return OVERHEAD_BYTES + self.wish.size

    def hear(self, beat: Heartbeat) -> bool:
        """Takes what a heartbeat says of the member; whether anything has changed."""
        before = (self.client_id, self.client_host, self.rack_id, self.rebalance_ms, self.assignor, self.wish)
        self.client_id, self.client_host = beat.client_id, beat.client_host
        if beat.rack_id is not None:
            self.rack_id = beat.rack_id
        if beat.rebalance_ms != -1:
            self.rebalance_ms = beat.rebalance_ms
        if beat.assignor is not None:
            self.assignor = beat.assignor
        self.wish = beat.wish(self.wish)
        return before != (self.client_id, self.client_host, self.rack_id, self.rebalance_ms, self.assignor, self.wish)


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
    """A group as an administrator sees it."""

    state: str
    epoch: int
    assignor: str = DEFAULT
    members: Sequence[DescribedConsumer] = ()


def check(beat: Heartbeat) -> None:
    """Raises InvalidRequest, UnsupportedAssignor."""
    for what, name in (("member id", beat.member_id), ("instance id", beat.instance_id), ("rack id", beat.rack_id)):
        if name == "" or len(name or "") > NAME_CHARS_MAX:
            raise InvalidRequest(f"The {what} must have 1 to {NAME_CHARS_MAX} characters.")
    if beat.epoch < LEAVE_FOR_A_WHILE:
        raise InvalidRequest(f"{beat.epoch} is no member epoch.")
    if beat.rebalance_ms < -1:
        raise InvalidRequest(f"{beat.rebalance_ms} is no rebalance timeout.")
    if beat.epoch == LEAVE_FOR_A_WHILE and beat.instance_id is None:
        raise InvalidRequest("Only a static member, one with an instance id, can leave for a while.")
    if beat.names is not None and sum(len(name) + 1 for name in beat.names) > WISH_CHARS_MAX:
        raise InvalidRequest(f"The topics' names together have more than {WISH_CHARS_MAX} characters.")
    if beat.epoch == JOIN:
        if beat.rebalance_ms == -1:
            raise InvalidRequest("Who joins names its rebalance timeout.")
        if beat.owned is None or beat.owned:
            raise InvalidRequest("Who joins owns no partitions, and says so.")
        if not beat.says_wish:
            raise InvalidRequest("Who joins names its topics, or an expression for them.")
    if beat.assignor is not None and beat.assignor not in ASSIGNORS:
        raise UnsupportedAssignor(f"There is no assignor {beat.assignor[:80]!r}; there are {', '.join(ASSIGNORS)}.")
