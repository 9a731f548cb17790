"""A group of the consumer protocol (KIP-848): members, target assignments, and reconciliation.

    heartbeat ──▶ validate; update the member
                    │ the target is outdated: a member joined, left or resubscribed, or topics changed
                    ├──▶ request a generation; heartbeats wait ──begin──▶ the assignor computes the targets
                    └──▶ the member takes a step towards its target; the answer has the assignment

    Empty      Assigning              Reconciling                          Stable
    no member  requires a new target  a member has not reached its target  all have their target

A pure state machine like the classic group; times in ms.  `generation` is the group epoch, which is stored before it is
sent.  A member's epoch is that of the target that it has reached.  Source: KIP-848; KIP-345 (static members).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from math import inf
from typing import Any

from redis_ledger.errors import (
    FencedInstance,
    FencedMember,
    GroupFull,
    LedgerError,
    NotCoordinator,
    StaleMember,
    UnknownMember,
    UnreleasedInstance,
)
from redis_ledger.groups.assignors import ASSIGNORS, DEFAULT, Slice, Subscriber
from redis_ledger.groups.consumer_member import (
    JOIN,
    LEAVE,
    LEAVE_FOR_A_WHILE,
    Consumer,
    ConsumerGroupState,
    DescribedConsumer,
    DescribedConsumers,
    Heartbeat,
    HeartbeatResult,
)
from redis_ledger.groups.consumer_rows import MEMBERSHIP, encode_member
from redis_ledger.groups.member import OVERHEAD_BYTES, Changes, Reply
from redis_ledger.groups.patterns import Pattern
from redis_ledger.groups.reconcile import NOTHING, MemberAssignment, Phase, step
from redis_ledger.groups.subscribed_topics import NO_INTERESTS, Expressions, Topics, Visible, all_visible


class ConsumerGroup:
    """generation: of the current target.  size: memory of the members in bytes.

    due: latest time of the next `tick`; may be too early.
    """

    kind = protocol_type = "consumer"

    def __init__(
        self,
        name: str,
        generation: int,
        *,
        session_ms: int,
        members_max: int,
        visible: Visible = all_visible,
        members: Sequence[Consumer] = (),
    ) -> None:
        """members: as stored.  They get a new target, because topics may have changed without a coordinator."""
        self.name, self.generation, self.assignor = name, generation, DEFAULT
        self.members: dict[str, Consumer] = {}
        self.wants_generation = False
        self.size = OVERHEAD_BYTES
        self.due = inf
        self._session_ms, self._members_max = session_ms, members_max
        self._instances: dict[str, str] = {}  # instance id → member id
        self._owners: dict[Slice, str] = {}
        self.expressions = Expressions(visible)
        self._topics = Topics({})
        self._interests = NO_INTERESTS
        self._is_changed = False  # since the current target was computed
        self._is_dead = False
        self._waiting: list[tuple[Any, Heartbeat]] = []  # tickets of heartbeats that wait for the next generation
        self._stored, self._to_store = generation, set[str]()  # generation; ids of members whose rows have changed
        for member in members:
            self._resume(member)

    @property
    def state(self) -> ConsumerGroupState:
        if self._is_dead:
            return ConsumerGroupState.DEAD
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self._is_changed:
            return ConsumerGroupState.ASSIGNING
        there = (Phase.STABLE, self.generation)
        is_stable = all((member.at.phase, member.at.epoch) == there for member in self.members.values())
        return ConsumerGroupState.STABLE if is_stable else ConsumerGroupState.RECONCILING

    @property
    def is_empty(self) -> bool:
        return not self.members and not self._is_dead

    @property
    def is_idle(self) -> bool:
        return self.is_empty and not self._waiting

    # -- requests of members -------------------------------------------------------------------------------------------

    def heartbeat(self, request: Heartbeat, topics: Topics, ticket: Any, now: float) -> list[Reply]:
        """Answers with HeartbeatResult, immediately or with the next generation, or with UnknownMember, FencedMember,
        UnreleasedInstance, FencedInstance, GroupFull, InvalidRegex; a rejected heartbeat changes nothing.

        request: passed `check`.  topics: the current ones.
        """
        try:
            if request.epoch in (LEAVE, LEAVE_FOR_A_WHILE):
                return [Reply(ticket, self._leave(request))]
            self._hear(request, now)
        except LedgerError as refusal:
            return [Reply(ticket, refusal)]
        if not self._is_behind(topics):
            return [Reply(ticket, self._answer(request, now))]
        self._waiting.append((ticket, request))
        self.wants_generation = True
        return []

    def check_commit(
        self, member_id: str, instance_id: str | None, generation: int, now: float, *, transactional: bool = False
    ) -> int:
        """Returns the fence of an offset commit: its epoch, or -1 for a commit without a member while the group is
        empty.

        The member may have advanced an epoch since it sent the commit.  The commit is valid for partitions that it
        still owns; for partitions that another member has fetched since, their fence rejects it (KIP-1251).
        transactional: older clients send no member.  Raises UnknownMember, StaleMember.
        """
        if generation < 0 and (self.is_empty or (transactional and not member_id and instance_id is None)):
            return -1
        member = self._member(member_id)
        if not JOIN < member.epoch_joined <= generation <= member.at.epoch:
            raise self._stale(member, generation)
        return generation

    def check_fetch(self, member_id: str | None, generation: int) -> int:
        """Returns the fence that fetching offsets sets; -1 without a member.  Raises UnknownMember, StaleMember."""
        if generation < 0 and not member_id:
            return -1
        member = self._member(member_id or "")
        if not JOIN < generation == member.at.epoch:
            raise self._stale(member, generation)
        return generation

    def describe(self) -> DescribedConsumers:
        members = [
            DescribedConsumer(
                m.id, m.instance_id, m.rack_id, m.at.epoch, m.client_id, m.client_host, sorted(m.subscription.names),
                m.subscription.regex, m.at.assigned, m.target,
            )
            for m in self.members.values()
        ]  # fmt: skip
        return DescribedConsumers(self.state.value, self.generation, self.assignor, members)

    def take_changes(self, *, everything: bool = False) -> Changes | None:
        """The changes to store before further answers; None if there are none."""
        if not self._to_store and self._stored == self.generation and not everything:
            return None
        members = self.members
        ids: Collection[str] = members.keys() if everything else self._to_store
        rows = {name: encode_member(members[name]) if name in members else b"" for name in ids}
        self._stored, self._to_store = self.generation, set()
        return Changes(self.generation, MEMBERSHIP, rows, len(members), everything)

    # -- events --------------------------------------------------------------------------------------------------------

    def begin(self, generation: int, now: float) -> list[Reply]:
        """The requested generation is stored: computes new targets and answers waiting heartbeats."""
        assert self.wants_generation, f"{self.name!r} has requested no generation but got {generation}"
        assert generation > self.generation, f"{self.name!r}: generation {generation} after {self.generation}"
        self.generation, self.wants_generation, self._is_changed = generation, False, False
        self._retarget()
        waiting, self._waiting = self._waiting, []
        return [Reply(ticket, self._answer_or_refuse(request, now)) for ticket, request in waiting]

    def tick(self, now: float) -> list[Reply]:
        """Removes members whose session or rebalance timeout has passed."""
        for _, request in self._waiting:  # waiting members do not send heartbeats
            if request.member_id in self.members:
                self.members[request.member_id].session_until = now + self._session_ms
        for member in [member for member in self.members.values() if member.deadline <= now]:
            self._remove(member)
        self.due = min((member.deadline for member in self.members.values()), default=inf)
        return []

    def put_off(self, ms: float) -> None:
        """Extends deadlines by the time for which the broker was blocked, because heartbeats were not read."""
        for member in self.members.values():
            member.session_until += ms
            member.revoke_until += ms
        self.due += ms

    def die(self, error: LedgerError) -> list[Reply]:
        """Fails all waiting heartbeats, because this broker no longer coordinates the group."""
        for member in list(self.members.values()):
            self._remove(member)
        waiting, self._waiting = self._waiting, []
        self._is_dead, self.wants_generation, self.due = True, False, inf
        return [Reply(ticket, error) for ticket, _ in waiting]

    # -- heartbeats ----------------------------------------------------------------------------------------------------

    def _hear(self, request: Heartbeat, now: float) -> None:
        if self._is_dead:
            raise NotCoordinator(f"This broker does not coordinate group {self.name!r} any more.")
        member = self._may_join(request) if request.epoch == JOIN else self._known(request)
        if request.regex and request.regex not in self.expressions:
            self.expressions.keep(Pattern(request.regex), request.tried)
        # The heartbeat is accepted from here on.
        if request.epoch == JOIN:
            member = self._join(member, request)
        assert member is not None, request
        member.session_until = self._wake(now + self._session_ms)
        subscription, size = member.subscription, member.size
        if member.hear(request) or request.epoch == JOIN:
            self._to_store.add(member.id)
        if member.subscription != subscription:
            self.size += member.size - size
            self._is_changed = True

    def _known(self, request: Heartbeat) -> Consumer:
        member = self._named(request)
        # The response with the new epoch may have been lost: the member may repeat its request if it owns nothing else.
        is_repeat = (
            request.epoch == member.epoch_before < member.at.epoch
            and request.owned is not None
            and request.owned <= member.at.assigned
        )
        if request.epoch != member.at.epoch and not is_repeat:
            raise FencedMember(
                f"Member {member.id!r} is in epoch {member.at.epoch}, not {request.epoch}; "
                "it has to give up its partitions and join again."
            )
        return member

    def _may_join(self, request: Heartbeat) -> Consumer | None:
        """The member of a joining client: itself, if it rejoins, or the static member that it replaces."""
        holder = self._instances.get(request.instance_id) if request.instance_id is not None else None
        if holder is not None and holder != request.member_id:
            if self.members[holder].at.epoch != LEAVE_FOR_A_WHILE:
                raise UnreleasedInstance(f"Instance {request.instance_id!r} is still in use by member {holder!r}.")
            return self.members[holder]
        member = self.members.get(request.member_id)
        if member is None and len(self.members) >= self._members_max:
            raise GroupFull(f"Group {self.name!r} has {self._members_max} members already.")
        return member

    def _join(self, member: Consumer | None, request: Heartbeat) -> Consumer:
        if member is None:
            member = Consumer(request.member_id)
            self.size += member.size
            self.members[member.id] = member
            self._is_changed = True
        elif member.at.epoch == LEAVE_FOR_A_WHILE:
            self._return(member, request.member_id)
        else:
            member.epoch_joined = member.at.epoch
        if request.instance_id != member.instance_id:
            if member.instance_id is not None:
                del self._instances[member.instance_id]
            member.instance_id = request.instance_id
        if request.instance_id is not None:
            self._instances[request.instance_id] = member.id
        return member

    def _return(self, member: Consumer, member_id: str) -> None:
        """A static member has rejoined under this id: it keeps its assignment, and other members are not affected."""
        if member_id != member.id and member_id in self.members:
            self._remove(self.members[member_id])
        del self.members[member.id]
        self._to_store |= {member.id, member_id}
        member.id = member_id
        self.members[member_id] = member
        for one in member.at.belongings:
            self._owners[one] = member_id
        member.at, member.epoch_before = member.at._replace(epoch=JOIN), JOIN

    def _leave(self, request: Heartbeat) -> HeartbeatResult:
        """Removes a member; a static member that leaves temporarily keeps its assignment until its session expires."""
        member = self._named(request)
        if request.epoch == LEAVE:
            self._remove(member)
        else:
            self._stand(member, member.at._replace(epoch=LEAVE_FOR_A_WHILE, revoking=NOTHING))
            member.revoke_until = inf
        return HeartbeatResult(request.member_id, request.epoch)

    def _answer_or_refuse(self, request: Heartbeat, now: float) -> HeartbeatResult | LedgerError:
        try:
            return self._answer(request, now)
        except LedgerError as refusal:  # removed while it waited
            return refusal

    def _answer(self, request: Heartbeat, now: float) -> HeartbeatResult:
        member = self._member(request.member_id)
        before, owners = member.at, self._owners
        after = step(
            before, request.owned, member.target, self.generation, lambda one: owners.get(one, member.id) == member.id
        )
        self._stand(member, after)
        if after.phase is not Phase.UNREVOKED:
            member.revoke_until = inf
        elif after != before:
            member.revoke_until = self._wake(now + member.rebalance_ms)
        is_news = request.is_full or after.assigned != before.assigned
        return HeartbeatResult(member.id, after.epoch, after.assigned if is_news else None)

    # -- targets -------------------------------------------------------------------------------------------------------

    def _is_behind(self, topics: Topics) -> bool:
        if topics is not self._topics:
            self._topics = topics
            if not self._is_changed:
                found = self.expressions.interests((member.subscription for member in self.members.values()), topics)
                self._is_changed = found != self._interests
        return self._is_changed

    def _retarget(self) -> None:
        members = self.members
        self._interests = self.expressions.interests((member.subscription for member in members.values()), self._topics)
        topics, partitions = self._interests
        votes = Counter(member.assignor for member in members.values() if member.assignor is not None)
        self.assignor = max(votes, key=lambda name: (votes[name], name), default=DEFAULT)
        subscribers = {m.id: Subscriber(topics[m.subscription], m.target, m.instance_id) for m in members.values()}
        targets = ASSIGNORS[self.assignor](subscribers, partitions)
        for name, member in members.items():
            if member.target != targets[name]:
                member.target = targets[name]
                self._to_store.add(name)

    # -- helpers -------------------------------------------------------------------------------------------------------

    def _member(self, member_id: str) -> Consumer:
        member = self.members.get(member_id)
        if member is None:
            raise UnknownMember(f"Group {self.name!r} has no member {member_id[:80]!r}; join it again.")
        return member

    def _named(self, request: Heartbeat) -> Consumer:
        """The member of a heartbeat; found by instance id if there is one."""
        if request.instance_id is None:
            return self._member(request.member_id)
        holder = self._instances.get(request.instance_id)
        if holder is None:
            raise UnknownMember(f"Group {self.name!r} has no instance {request.instance_id[:80]!r}; join it again.")
        if holder != request.member_id:
            raise FencedInstance(f"Instance {request.instance_id[:80]!r} is member {holder!r} now.")
        return self.members[holder]

    def _stale(self, member: Consumer, epoch: int) -> StaleMember:
        return StaleMember(
            f"Member {member.id!r} is in epoch {member.at.epoch}, not {epoch}; send a heartbeat to get it."
        )

    def _stand(self, member: Consumer, at: MemberAssignment) -> None:
        before = member.at
        if at is before:
            return
        if at.epoch != before.epoch:
            member.epoch_before = before.epoch
            if before.epoch == JOIN:
                member.epoch_joined = at.epoch
        self._to_store.add(member.id)
        had, has = before.belongings, at.belongings
        for one in had - has:
            del self._owners[one]
        for one in has - had:
            self._owners[one] = member.id
        member.at = at

    def _resume(self, member: Consumer) -> None:
        self.members[member.id] = member
        self.size += member.size
        self._is_changed, self.due = True, min(self.due, member.deadline)
        self._owners |= dict.fromkeys(member.at.belongings, member.id)
        if member.instance_id is not None:
            self._instances[member.instance_id] = member.id
        if member.subscription.regex:
            self.expressions.resume(member.subscription.regex)

    def _remove(self, member: Consumer) -> None:
        self._stand(member, MemberAssignment(LEAVE))
        del self.members[member.id]
        if member.instance_id is not None:
            del self._instances[member.instance_id]
        self.size -= member.size
        self._is_changed = True

    def _wake(self, at: float) -> float:
        self.due = min(self.due, at)
        return at
