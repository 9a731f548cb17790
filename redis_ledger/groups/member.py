"""A member of a classic group, what it asks for, and what it is told.

A JoinGroup or SyncGroup that has to wait is known by its `ticket`, an object of the caller's that the group hands back
unopened with the answer.  So a group knows nothing of futures or connections, and a test's tickets are numbers.
Source: KIP-394 (ids before members), KIP-345 (static membership), KIP-814 (skipped assignments).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from redis_ledger.errors import LedgerError

OVERHEAD_BYTES = 1_024  # what a member costs besides what it sent


class State(Enum):
    """The values are what clients are told."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class Limits(NamedTuple):
    initial_delay_ms: int  # an empty group waits this long for more members, and again whenever one has come
    members_max: int


class Join(NamedTuple):
    """A JoinGroup.  Times in ms.

    protocols   name → metadata, the member's favourite first
    new_id      what a member is called that comes without an id
    is_called   it must come again with that id before it is a member (KIP-394)
    can_skip    it understands that it leads and need not assign (KIP-814)
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_ms: int
    rebalance_ms: int
    protocol_type: str
    protocols: Mapping[str, bytes]
    new_id: str = ""
    is_called: bool = True
    can_skip: bool = True

    @property
    def size(self) -> int:
        return size_of(self.protocols)


class Sync(NamedTuple):
    """A SyncGroup.  protocol_type, protocol: None where the client does not say.  assignments: the leader's."""

    member_id: str
    instance_id: str | None
    generation: int
    protocol_type: str | None
    protocol: str | None
    assignments: Mapping[str, bytes]


class JoinedMember(NamedTuple):
    member_id: str
    instance_id: str | None
    metadata: bytes


class Joined(NamedTuple):
    """members: all of them for the leader, who assigns; empty for the others."""

    member_id: str
    generation: int
    protocol_type: str
    protocol: str
    leader: str
    members: Sequence[JoinedMember]
    skip_assignment: bool = False


class Synced(NamedTuple):
    protocol_type: str
    protocol: str
    assignment: bytes


class Tell(NamedTuple):
    ticket: Any
    answer: Joined | Synced | LedgerError | Any


class Changes(NamedTuple):
    """What has changed in a group since it was stored last.

    rows       member id → its row, empty if the member is not stored any more
    members    how many members are stored from now on
    is_whole   no other rows are stored from now on
    """

    generation: int
    membership: bytes
    rows: Mapping[str, bytes]
    members: int
    is_whole: bool = False


@dataclass(slots=True)
class Member:
    """expires: when its session is over.  is_new: it has not been told a generation yet; then it expires even while it
    waits, for who does not know its own id cannot send heartbeats."""

    id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_ms: int
    rebalance_ms: int
    protocols: Mapping[str, bytes]
    expires: float
    assignment: bytes = b""
    is_new: bool = True

    @property
    def size(self) -> int:
        return size_of(self.protocols) + len(self.assignment)

    def matches(self, protocols: Mapping[str, bytes]) -> bool:
        """Nothing has changed that an assignment depends on, and it would vote the same."""
        return list(self.protocols.items()) == list(protocols.items())


class DescribedMember(NamedTuple):
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


@dataclass(slots=True)
class Described:
    """A group as an administrator sees it."""

    state: str
    protocol_type: str = ""
    protocol: str = ""
    members: list[DescribedMember] = field(default_factory=list)


def size_of(protocols: Mapping[str, bytes]) -> int:
    return OVERHEAD_BYTES + sum(len(name) + len(metadata) for name, metadata in protocols.items())
