"""A classic consumer group: its members, generations and assignments.

               first join                 all have joined, or the timeout passed; a generation was stored
       Empty ──────────────▶ PreparingRebalance ───────────────────────────▶ CompletingRebalance
         ▲                    │    ▲       ▲                                    │         │ the leader's SyncGroup
         └── no member left ──┘    │       └──── a member joined, left, changed ──┘         ▼
                                   └───────────────────────────────────────────────── Stable

A pure state machine: inputs are events and the time, outputs are answers to tickets.  A new generation is stored before
it is sent: `wants_generation` requests it, `begin` receives it.  Until then members may join.

    due     latest time of the next `tick`; may be too early, because heartbeats do not update it
    times   ms of any monotonic clock
Source: Kafka's group coordinator (JoinGroup, SyncGroup), KIP-134 (delay of the first rebalance), KIP-345, KIP-394.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from redis_ledger.errors import (
    GroupFull,
    IllegalGeneration,
    InconsistentProtocol,
    InvalidRequest,
    LedgerError,
    MemberIdRequired,
    NotCoordinator,
    RebalanceInProgress,
    UnknownMember,
)
from redis_ledger.groups.classic_members import ClassicMembers
from redis_ledger.groups.classic_rows import Head, changes_of
from redis_ledger.groups.initial_delay import InitialDelay
from redis_ledger.groups.member import Changes, Described, GroupState, Join, Joined, Limits, Member, Reply, Sync, Synced

NEW_MEMBER_MS = 300_000  # maximum time that a member waits for its first generation


class ClassicGroup:
    """generation: the last one sent to members, or stored when this broker took the group over."""

    kind = "classic"

    def __init__(self, name: str, limits: Limits, head: Head, roster: ClassicMembers, now: float) -> None:
        """head, roster: the stored state, or empty.  An interrupted rebalance is restarted."""
        self.name, self.generation = name, head.generation
        self.protocol_type, self.protocol = head.protocol_type, head.protocol
        restored = GroupState.STABLE if head.is_stable else GroupState.PREPARING
        self.state = restored if roster.members else GroupState.EMPTY
        self.wants_generation = False
        self._limits = limits
        self._roster = roster
        self._initial_delay: InitialDelay | None = None  # during the first rebalance of an empty group
        self._join_due = now + roster.rebalance_ms if self.state is GroupState.PREPARING else inf
        self._sync_due = inf
        self.due = min(self._join_due, roster.first_expiry)
        self._answers: list[Reply] = []
        self._stored = self._head()

    @property
    def is_idle(self) -> bool:
        return self.state is GroupState.EMPTY and not self._roster.pending

    @property
    def is_empty(self) -> bool:
        return self.state is GroupState.EMPTY

    @property
    def size(self) -> int:
        return self._roster.size

    # -- requests of members -------------------------------------------------------------------------------------------

    def join(self, join: Join, ticket: Any, now: float) -> list[Reply]:
        """Answers with Joined, or MemberIdRequired, GroupFull, InconsistentProtocol, UnknownMember, FencedInstance; the
        fact `member_id` of an error is the client's new member id."""
        try:
            self._join(join, ticket, now)
        except LedgerError as refusal:
            refusal.facts.setdefault("member_id", join.member_id)
            self._answers.append(Reply(ticket, refusal))
        return self._take()

    def sync(self, sync: Sync, ticket: Any, now: float) -> list[Reply]:
        """Answers with Synced, or RebalanceInProgress, IllegalGeneration, InconsistentProtocol, UnknownMember,
        FencedInstance."""
        try:
            self._sync(sync, ticket, now)
        except LedgerError as refusal:
            self._answers.append(Reply(ticket, refusal))
        return self._take()

    def heartbeat(self, member_id: str, instance_id: str | None, generation: int, now: float) -> None:
        """Raises RebalanceInProgress (join again), IllegalGeneration, UnknownMember, FencedInstance."""
        self._renew(self._find(member_id, instance_id, generation), now)
        if self.state is GroupState.PREPARING:
            raise RebalanceInProgress(f"Group {self.name!r} is rebalancing; join it again.")

    def leave(
        self, leaving: Sequence[tuple[str, str | None]], now: float
    ) -> tuple[list[LedgerError | None], list[Reply]]:
        """leaving: member id and instance id; administrators omit the member id.  Returns one result for each."""
        answers: list[LedgerError | None] = []
        before = len(self._roster.members)
        for member_id, instance_id in leaving:
            try:
                if member_id not in self._roster.pending:
                    static = None if member_id else self._roster.static(instance_id)
                    member_id = self._find(static.id if static else member_id, instance_id).id
                self._answers += self._roster.remove(member_id)
                answers.append(None)
            except LedgerError as refusal:
                answers.append(refusal)
        if len(self._roster.members) < before or self.state is GroupState.PREPARING:
            self._rebalance(now)
        return answers, self._take()

    def check_commit(
        self, member_id: str, instance_id: str | None, generation: int, now: float, *, transactional: bool = False
    ) -> int:
        """Returns the fence of an offset commit: its generation, or -1 without one.  Counts as a heartbeat.

        transactional: the state is ignored, and older clients send no member.
        Raises UnknownMember, FencedInstance, IllegalGeneration, and RebalanceInProgress before the assignment.
        """
        if generation < 0 and self.state is GroupState.EMPTY:
            return -1
        if generation < 0 and not member_id and instance_id is None and self.state is not GroupState.DEAD:
            if transactional:
                return -1
            raise UnknownMember(f"Group {self.name!r} has members; only they can commit offsets.")
        member = self._find(member_id, instance_id, generation)
        if self.state is GroupState.COMPLETING and not transactional:
            raise RebalanceInProgress(f"Generation {generation} of group {self.name!r} has no assignment yet.")
        self._renew(member, now)
        return generation

    def check_fetch(self, member_id: str | None, member_epoch: int) -> int:
        return self.generation  # the same for all readers: fetches of classic members do not contain a member id

    def describe(self) -> Described:
        """Metadata and assignments are included for stable groups only, as in Kafka."""
        shown = self.protocol if self.state is GroupState.STABLE else ""
        return Described(self.state.value, self.protocol_type, shown, self._roster.described(shown))

    # -- events --------------------------------------------------------------------------------------------------------

    def begin(self, generation: int, now: float) -> list[Reply]:
        """The requested generation is stored: begins it for the members that have joined."""
        assert self.wants_generation, f"{self.name!r} has requested no generation but got {generation}"
        roster, self.wants_generation = self._roster, False
        if roster.members and not roster.joins:
            # All members have left.  This generation is not sent; the next request is for the same one.
            self._join_due = self._wake(now + roster.rebalance_ms)
            return self._take()
        self._answers += roster.remove_absent()  # their requests were withdrawn after the rebalance was sealed
        assert generation > self.generation, f"{self.name!r}: generation {generation} after {self.generation}"
        self.generation = generation
        if not roster.members:
            self.state, self.protocol = GroupState.EMPTY, ""
            return self._take()
        roster.choose_leader()
        self.state, self.protocol = GroupState.COMPLETING, roster.elect()
        roster.confirm()
        for member in roster.members.values():
            self._renew(member, now)
            if member.id in roster.joins:
                self._answers.append(Reply(roster.joins.pop(member.id), self._joined(member.id)))
        roster.unsynced = set(roster.members)
        self._sync_due = self._wake(now + roster.rebalance_ms)
        return self._take()

    def tick(self, now: float) -> list[Reply]:
        """Removes expired members."""
        roster = self._roster
        roster.forget_pending(now)
        for member in [member for member in roster.members.values() if member.expires <= now]:
            if roster.waits(member) and not member.is_new:
                self._renew(member, now)  # a waiting member does not send heartbeats
            if member.expires > now:  # since just now, or because the removal of another member began a rebalance
                continue
            self._answers += roster.remove(member.id)
            if self.state is not GroupState.PREPARING:
                self._rebalance(now)
        if self.state is GroupState.PREPARING:
            self._rebalance(now)
        if self._sync_due <= now:
            late, self._sync_due = list(roster.unsynced), inf
            self._answers += [tell for member_id in late for tell in roster.remove(member_id)]
            if late:
                self._rebalance(now)
        self.due = min(self._join_due, self._sync_due, roster.first_expiry)
        return self._take()

    def withdraw(self, member_id: str, ticket: Any, now: float) -> list[Reply]:
        """Withdraws a JoinGroup or SyncGroup whose connection has closed.

        A dynamic member without a generation is removed; the session of others restarts.  Ignores answered requests.
        """
        member = self._roster.withdraw(member_id, ticket)
        if member is None:
            return []
        closed = RebalanceInProgress("The connection has closed; join again.", member_id=member_id)
        self._answers.append(Reply(ticket, closed))
        self._renew(member, now)
        if member.is_new and member.instance_id is None:
            self._answers += self._roster.remove(member_id)
            self._rebalance(now)
        return self._take()

    def put_off(self, ms: float) -> None:
        """Extends deadlines by the time for which the broker was blocked, because requests of members were not read."""
        self._roster.put_off(ms)
        self._join_due, self._sync_due, self.due = self._join_due + ms, self._sync_due + ms, self.due + ms

    def die(self, error: LedgerError) -> list[Reply]:
        """Fails all waiting requests, because this broker no longer coordinates the group."""
        self._answers += self._roster.answer_all(error)
        self._roster = ClassicMembers()
        self.state, self.wants_generation = GroupState.DEAD, False
        self.due = self._join_due = self._sync_due = inf
        return self._take()

    def take_changes(self, *, everything: bool = False) -> Changes | None:
        """The changes to store before further answers; None if there are none."""
        head = self._head()
        if head == self._stored and not self._roster.changed and not everything:
            return None
        self._stored = head
        return changes_of(head, self._roster, is_whole=everything)

    def _head(self) -> Head:
        is_stable = self.state in (GroupState.STABLE, GroupState.EMPTY)
        return Head(self.generation, is_stable, self.protocol_type, self.protocol, self._roster.leader)

    # -- joining -------------------------------------------------------------------------------------------------------

    def _join(self, join: Join, ticket: Any, now: float) -> None:
        self._refuse_if_dead()
        roster = self._roster
        if not roster.has_room_for(join.member_id, self._limits.members_max, self.state is GroupState.PREPARING):
            self._answers += roster.remove(join.member_id)
            if self.state is GroupState.PREPARING:
                self._rebalance(now)
            raise GroupFull(f"Group {self.name!r} has {self._limits.members_max} members already.", member_id="")
        is_other_type = bool(roster.members) and join.protocol_type != self.protocol_type
        if not join.protocol_type or not join.protocols or is_other_type or not roster.supports(join):
            raise InconsistentProtocol(
                f"Group {self.name!r} has another protocol type, or does not support any protocol of the member."
            )
        static = None if join.member_id else roster.static(join.instance_id)
        if join.member_id in roster.pending:
            if join.instance_id is not None:
                raise InvalidRequest("A member with a requested id cannot become static.")
            self._add(join.member_id, join, ticket, now)
        elif join.member_id:
            self._rejoin(roster.find(join.member_id, join.instance_id), join, ticket, now)
        elif static is not None:
            self._return(static, join, ticket, now)
        elif join.instance_id is None and join.is_called:
            roster.expect(join.new_id, self._wake(now + join.session_ms))
            raise MemberIdRequired(member_id=join.new_id)
        else:
            self._add(join.new_id, join, ticket, now)

    def _add(self, member_id: str, join: Join, ticket: Any, now: float) -> None:
        if not self._roster.members:
            self.protocol_type = join.protocol_type
        member = Member(
            member_id, join.instance_id, join.client_id, join.client_host, join.session_ms, join.rebalance_ms,
            dict(join.protocols), self._wake(now + NEW_MEMBER_MS),
        )  # fmt: skip
        self._roster.add(member)
        self._roster.joins[member_id] = ticket
        if self._initial_delay is not None:
            self._initial_delay.has_grown = True
        self._rebalance(now)

    def _rejoin(self, member: Member, join: Join, ticket: Any, now: float) -> None:
        """Begins or joins a rebalance, unless nothing changes.  A leader that rejoins triggers a new assignment."""
        is_follower = member.id != self._roster.leader
        is_settled = self.state is GroupState.COMPLETING or (self.state is GroupState.STABLE and is_follower)
        self._renew(member, now)
        if is_settled and member.matches(join.protocols):
            self._answers.append(Reply(ticket, self._joined(member.id)))
            return
        self._roster.change(member, join)
        self._answers += self._roster.wait(self._roster.joins, member.id, ticket)
        self._rebalance(now)

    def _return(self, old: Member, join: Join, ticket: Any, now: float) -> None:
        """A static member rejoins without its id.  In a stable group it keeps its assignment, without a rebalance."""
        led_by = self._roster.leader
        member, answers = self._roster.succeed(old, join, now)
        self._answers += answers
        self._renew(member, now)
        if self.state is not GroupState.STABLE or self._roster.elect() != self.protocol:
            self._roster.joins[member.id] = ticket
            self._rebalance(now)
            return
        answer = self._joined(member.id)
        if not join.can_skip:
            # An older client must not assign: it gets another leader and fetches its previous assignment.
            answer = answer._replace(leader=led_by, members=())
        elif member.id == self._roster.leader:
            answer = answer._replace(skip_assignment=True)
        self._answers.append(Reply(ticket, answer))

    def _joined(self, member_id: str) -> Joined:
        leader = self._roster.leader
        members = self._roster.listed(self.protocol) if member_id == leader else ()
        return Joined(member_id, self.generation, self.protocol_type, self.protocol, leader, members)

    # -- rebalancing ---------------------------------------------------------------------------------------------------

    def _rebalance(self, now: float) -> None:
        """Begins a rebalance after a change, or continues the current one if possible."""
        if self.state is not GroupState.PREPARING:
            self._prepare(now)
        elif self.wants_generation:
            return
        elif self._join_due <= now and self._initial_delay is not None and self._initial_delay.can_extend:
            self._join_due = self._wake(now + self._initial_delay.extend())
        elif self._join_due <= now or (self._roster.have_all_joined and self._initial_delay is None):
            self._seal(now)

    def _prepare(self, now: float) -> None:
        if self.state is GroupState.COMPLETING:
            again = RebalanceInProgress(f"Group {self.name!r} is rebalancing again; rejoin it.")
            for member in self._roster.members.values():
                self._roster.assign(member, b"")
                if member.id in self._roster.syncs:
                    self._renew(member, now)
                    self._answers.append(Reply(self._roster.syncs.pop(member.id), again))
        self._roster.unsynced.clear()
        self._sync_due = inf
        is_first, self.state, self._initial_delay = self.state is GroupState.EMPTY, GroupState.PREPARING, None
        if is_first:
            self._initial_delay = InitialDelay(self._limits.initial_delay_ms, self._roster.rebalance_ms)
            self._join_due = self._wake(now + self._initial_delay.extend())
        elif self._roster.have_all_joined:
            self._seal(now)
        else:
            self._join_due = self._wake(now + self._roster.rebalance_ms)

    def _seal(self, now: float) -> None:
        """Ends the joining phase and requests a generation for the joined members."""
        roster = self._roster
        self._answers += roster.remove_absent()
        if roster.members and not roster.joins:
            self._join_due = self._wake(now + roster.rebalance_ms)
        else:
            self._join_due, self.wants_generation = inf, True

    # -- syncing -------------------------------------------------------------------------------------------------------

    def _sync(self, sync: Sync, ticket: Any, now: float) -> None:
        member = self._find(sync.member_id, sync.instance_id, sync.generation)
        if sync.protocol_type not in (None, self.protocol_type) or sync.protocol not in (None, self.protocol):
            raise InconsistentProtocol(f"Group {self.name!r} uses {self.protocol_type} {self.protocol}.")
        if self.state is GroupState.PREPARING:
            raise RebalanceInProgress(f"Group {self.name!r} is rebalancing; join it again.")
        roster = self._roster
        roster.unsynced.discard(member.id)
        self._answers += roster.wait(roster.syncs, member.id, ticket)
        if self.state is GroupState.COMPLETING and member.id == roster.leader:
            self.state = GroupState.STABLE
            for one in roster.members.values():
                roster.assign(one, sync.assignments.get(one.id, b""))
        if self.state is GroupState.STABLE:
            for member_id, waiting in roster.syncs.items():
                one = roster.members[member_id]
                self._renew(one, now)
                self._answers.append(Reply(waiting, Synced(self.protocol_type, self.protocol, one.assignment)))
            roster.syncs.clear()

    def _find(self, member_id: str, instance_id: str | None, generation: int | None = None) -> Member:
        self._refuse_if_dead()
        member = self._roster.find(member_id, instance_id)
        if generation is not None and generation != self.generation:
            raise IllegalGeneration(f"Group {self.name!r} is at generation {self.generation}, not {generation}.")
        return member

    def _refuse_if_dead(self) -> None:
        if self.state is GroupState.DEAD:
            raise NotCoordinator(f"This broker does not coordinate group {self.name!r} any more.")

    def _renew(self, member: Member, now: float) -> None:
        member.expires = self._wake(now + member.session_ms)

    def _wake(self, at: float) -> float:
        self.due = min(self.due, at)
        return at

    def _take(self) -> list[Reply]:
        answers, self._answers = self._answers, []
        return answers
