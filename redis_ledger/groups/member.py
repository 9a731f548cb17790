"""A member of a classic group, its requests and their results.

A waiting JoinGroup or SyncGroup is identified by its `ticket`, an opaque object of the caller, which the group returns
with the answer.  So groups do not depend on futures and connections, and tests use numbers as tickets.  Source: KIP-394
(ids before members), KIP-345 (static membership), KIP-814 (skipped assignments).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from redis_ledger.errors import LedgerError

OVERHEAD_BYTES = 1_024  # memory of a member besides its metadata


class GroupState(Enum):
    """States with their names in Kafka's protocol."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class Limits(NamedTuple):
    initial_delay_ms: int  # an empty group waits this long for more members, again after each new one
    members_max: int


class Join(NamedTuple):
    """A JoinGroup.  Times in ms.

    protocols   name → metadata, in the order of preference
    new_id      the id for a member without one
    is_called   the member must join again with that id (KIP-394)
    can_skip    the client supports a leader that skips the assignment (KIP-814)
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
    """A SyncGroup.  protocol_type, protocol: None if the client does not send them.  assignments: from the leader."""

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
    """members: all members for the leader; empty for the others."""

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


class Reply(NamedTuple):
    ticket: Any
    answer: Joined | Synced | LedgerError | Any


class Changes(NamedTuple):
    """Changes of a group since it was last stored.

    rows       member id → its row; empty: delete the row
    members    number of stored members after the change
    is_whole   delete all other rows
    """

    generation: int
    membership: bytes
    rows: Mapping[str, bytes]
    members: int
    is_whole: bool = False


@dataclass(slots=True)
class Member:
    """expires: end of its session.  is_new: it has no generation yet; then it expires even while it waits, because a
    client without a member id cannot send heartbeats."""

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
        """Whether protocols and metadata are unchanged, so that no new assignment is necessary."""
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
    """The description of a group."""

    state: str
    protocol_type: str = ""
    protocol: str = ""
    members: list[DescribedMember] = field(default_factory=list)


def size_of(protocols: Mapping[str, bytes]) -> int:
    return OVERHEAD_BYTES + sum(len(name) + len(metadata) for name, metadata in protocols.items())
