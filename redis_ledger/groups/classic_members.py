"""The members of a classic group, their protocols and their waiting requests.

    joins      requests that wait for the next generation   syncs      requests that wait for an assignment
    pending    assigned member ids that are not used yet    unsynced   members that have not sent SyncGroup
    statics    group.instance.id → static member (KIP-345)

It has no states and generations: `classic.py` decides, this class executes.  Counts (support of protocols, bytes) are
updated with every change, so that the cost of a call does not depend on the size of the group.
"""

from __future__ import annotations

from collections import Counter
from math import inf
from typing import Any

from redis_ledger.errors import FencedInstance, LedgerError, RebalanceInProgress, UnknownMember
from redis_ledger.groups.member import OVERHEAD_BYTES, DescribedMember, Join, JoinedMember, Member, Reply


class ClassicMembers:
    """leader: the id of the leader; "" if there is none.  size: memory in bytes.  changed: ids of members whose rows
    must be stored; a member without a generation has no row.
    """

    def __init__(self) -> None:
        self.members: dict[str, Member] = {}  # in the order of joining
        self.pending: dict[str, float] = {}  # id → expiry
        self.joins: dict[str, Any] = {}  # id → ticket
        self.syncs: dict[str, Any] = {}
        self.unsynced: set[str] = set()
        self.changed: set[str] = set()
        self.leader = ""
        self.size = OVERHEAD_BYTES
        self._statics: dict[str, str] = {}
        self._supported: Counter[str] = Counter()

    @property
    def have_all_joined(self) -> bool:
        return not self.pending and len(self.joins) == len(self.members)

    @property
    def rebalance_ms(self) -> int:
        """The maximum rebalance timeout of the members."""
        return max((member.rebalance_ms for member in self.members.values()), default=0)

    @property
    def first_expiry(self) -> float:
        sessions = (member.expires for member in self.members.values())
        return min(min(sessions, default=inf), min(self.pending.values(), default=inf))

    def find(self, member_id: str, instance_id: str | None) -> Member:
        """Raises UnknownMember, and FencedInstance if another member has the instance id."""
        if instance_id is not None:
            known = self._statics.get(instance_id)
            if known is not None and known != member_id:
                raise FencedInstance(
                    f"Another member joined with the instance id {instance_id!r}.", member_id=member_id
                )
            if known is None:
                raise UnknownMember(f"The group has no member with the instance id {instance_id!r}.")
        member = self.members.get(member_id)
        if member is None:
            raise UnknownMember(f"The group has no member {member_id!r}.")
        return member

    def static(self, instance_id: str | None) -> Member | None:
        return None if instance_id is None else self.members.get(self._statics.get(instance_id, ""))

    def waits(self, member: Member) -> bool:
        return member.id in self.joins or member.id in self.syncs

    def wait(self, waits: dict[str, Any], member_id: str, ticket: Any) -> list[Reply]:
        """waits: joins or syncs.  Replaces an earlier waiting request of the member."""
        before, waits[member_id] = waits.get(member_id), ticket
        again = RebalanceInProgress("The member has repeated the request on another connection.", member_id=member_id)
        return [] if before is None else [Reply(before, again)]

    def withdraw(self, member_id: str, ticket: Any) -> Member | None:
        """Removes a waiting request.  Returns its member, or None if the member does not wait with this ticket."""
        if self.joins.get(member_id) == ticket:
            del self.joins[member_id]
        elif self.syncs.get(member_id) == ticket:
            del self.syncs[member_id]
            self.unsynced.add(member_id)
        else:
            return None
        return self.members[member_id]

    def has_room_for(self, member_id: str, most: int, is_joining: bool) -> bool:
        """is_joining: count only joined members, so that the last ones to join an oversized group are rejected.
        Pending ids count if a new id is requested."""
        came = self.joins if is_joining else self.members
        is_known = member_id in self.members or member_id in self.pending
        return member_id in came or len(came) + (0 if is_known else len(self.pending)) < most

    def supports(self, join: Join) -> bool:
        """Returns whether the member supports a protocol that all members support."""
        member_count = len(self.members)
        return not member_count or any(self._supported[name] == member_count for name in join.protocols)

    def choose_leader(self) -> None:
        """Chooses the current leader if it has joined, else another joined member; at least one has joined."""
        if self.leader not in self.joins:
            self.leader = next(member_id for member_id in self.members if member_id in self.joins)

    def elect(self) -> str:
        """The protocol with the most votes: each member votes for its first protocol that all support.  Ties are
        decided by the order of the members.
        """
        member_count = len(self.members)
        votes: dict[str, int] = {}
        for member in self.members.values():
            favourite = next(name for name in member.protocols if self._supported[name] == member_count)
            votes[favourite] = votes.get(favourite, 0) + 1
        return max(votes, key=lambda name: votes[name])

    def expect(self, member_id: str, until: float) -> None:
        """Stores a member id that was assigned and not used yet."""
        self.pending[member_id] = until
        self.size += OVERHEAD_BYTES

    def add(self, member: Member) -> None:
        if self.pending.pop(member.id, None) is not None:
            self.size -= OVERHEAD_BYTES
        self.members[member.id] = member
        self.size += member.size
        self._supported.update(member.protocols.keys())
        if member.instance_id is not None:
            self._statics[member.instance_id] = member.id
        self.leader = self.leader or member.id

    def remove(self, member_id: str) -> list[Reply]:
        """Removes a member or a pending id; its waiting requests fail with UnknownMember.  Chooses a new leader."""
        if self.pending.pop(member_id, None) is not None:
            self.size -= OVERHEAD_BYTES
        member = self.members.pop(member_id, None)
        if member is None:
            return []
        self.size -= member.size
        self.changed.add(member_id)
        self._supported.subtract(member.protocols.keys())
        self.unsynced.discard(member_id)
        if member.instance_id is not None:
            del self._statics[member.instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self.members), "")
        gone = UnknownMember(f"Member {member_id!r} is no longer in the group; join again.", member_id="")
        return self._answer_all_of(member_id, gone)

    def confirm(self) -> None:
        """A generation begins: rows of new members are stored from now on."""
        for member in self.members.values():
            if member.is_new:
                member.is_new = False
                self.changed.add(member.id)

    def remove_absent(self) -> list[Reply]:
        """Removes dynamic members that have not joined.  Static members stay until their sessions expire."""
        absent = [m.id for m in self.members.values() if m.id not in self.joins and m.instance_id is None]
        return [tell for member_id in absent for tell in self.remove(member_id)]

    def forget_pending(self, now: float) -> None:
        """Removes expired pending ids."""
        for member_id in [member_id for member_id, until in self.pending.items() if until <= now]:
            self.remove(member_id)

    def change(self, member: Member, join: Join) -> None:
        """Updates a member that rejoins."""
        self.changed.add(member.id)
        self.size += join.size - member.size + len(member.assignment)
        self._supported.subtract(member.protocols.keys())
        self._supported.update(join.protocols.keys())
        member.protocols = dict(join.protocols)
        member.session_ms, member.rebalance_ms = join.session_ms, join.rebalance_ms

    def assign(self, member: Member, assignment: bytes) -> None:
        self.changed.add(member.id)
        self.size += len(assignment) - len(member.assignment)
        member.assignment = assignment

    def succeed(self, old: Member, join: Join, now: float) -> tuple[Member, list[Reply]]:
        """Gives a static member that rejoins a new id; it keeps its position, assignment and leadership.  Requests that
        wait with the old id are fenced."""
        member = Member(
            join.new_id, old.instance_id, join.client_id, join.client_host, join.session_ms, join.rebalance_ms,
            old.protocols, now + join.session_ms, old.assignment, is_new=False,
        )  # fmt: skip
        self.members = {m.id: m for m in (member if m is old else m for m in self.members.values())}
        assert old.instance_id is not None, f"{old.id!r} is not a static member"
        self._statics[old.instance_id] = member.id
        if self.leader == old.id:
            self.leader = member.id
        if old.id in self.unsynced:
            self.unsynced.remove(old.id)
            self.unsynced.add(member.id)
        self.changed.add(old.id)
        self.change(member, join)
        fenced = FencedInstance(f"Another member joined with the instance id {old.instance_id!r}.", member_id=old.id)
        return member, self._answer_all_of(old.id, fenced)

    def put_off(self, ms: float) -> None:
        for member in self.members.values():
            member.expires += ms
        for member_id in self.pending:
            self.pending[member_id] += ms

    def listed(self, protocol: str) -> list[JoinedMember]:
        return [JoinedMember(m.id, m.instance_id, m.protocols[protocol]) for m in self.members.values()]

    def described(self, protocol: str) -> list[DescribedMember]:
        """protocol "": without metadata and assignments."""
        return [
            DescribedMember(
                m.id, m.instance_id, m.client_id, m.client_host,
                m.protocols[protocol] if protocol else b"", m.assignment if protocol else b"",
            )
            for m in self.members.values()
        ]  # fmt: skip

    def answer_all(self, error: LedgerError) -> list[Reply]:
        return [tell for member_id in list(self.members) for tell in self._answer_all_of(member_id, error)]

    def _answer_all_of(self, member_id: str, error: LedgerError) -> list[Reply]:
        return [Reply(waits.pop(member_id), error) for waits in (self.joins, self.syncs) if member_id in waits]
