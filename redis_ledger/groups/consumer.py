"""One group of the consumer protocol (KIP-848): who is in it, what each is to read, and how each gets there.

    heartbeat ──▶ is it known, may it, what has it changed?
                    │ the group is behind: a member came, left or resubscribed, or topics changed
                    ├──▶ it wants a generation; heartbeats wait ──begin──▶ the assignor gives every member a target
                    └──▶ the member takes a step towards its target, and is told

    Empty      Assigning            Reconciling                  Stable
    no member  needs a new target   a member is not there yet    all have their target

A pure state machine like the classic group, and driven like it: no clock, no futures, no Redis; times in ms.  What is
called generation there is the group's epoch here: it has to be stored before any member learns it.  A member's epoch
is that of the target it has reached.  Source: KIP-848; KIP-345 (static members).
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
    DescribedConsumer,
    DescribedConsumers,
    Heartbeat,
    HeartbeatResult,
    State,
)
from redis_ledger.groups.consumer_rows import MEMBERSHIP, encode_member
from redis_ledger.groups.member import OVERHEAD_BYTES, Changes, Tell
from redis_ledger.groups.patterns import Pattern
from redis_ledger.groups.reconcile import NOTHING, MemberAssignment, Phase, step
from redis_ledger.groups.subscribed_topics import NO_INTERESTS, Expressions, Topics, Visible, everybody_sees_all


class ConsumerGroup:
    """generation: of the present target.  size: bytes that its members cost.

    due: when `tick` is needed, at the latest; never too late, sometimes too early.
    """

    kind = protocol_type = "consumer"

    def __init__(
        self,
        name: str,
        generation: int,
        *,
        session_ms: int,
        members_max: int,
        visible: Visible = everybody_sees_all,
        members: Sequence[Consumer] = (),
    ) -> None:
        """members: as they were stored.  They get a new target, in case something changed while no broker looked."""
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
        self._is_changed = False  # since the present target was made
        self._is_dead = False
        self._waiting: list[tuple[Any, Heartbeat]] = []  # tickets of heartbeats that the next generation answers
        self._stored, self._to_store = generation, set[str]()  # generation; ids of members whose rows have changed
        for member in members:
            self._resume(member)

    @property
    def state(self) -> State:
        if self._is_dead:
            return State.DEAD
        if not self.members:
            return State.EMPTY
        if self._is_changed:
            return State.ASSIGNING
        there = (Phase.STABLE, self.generation)
        is_stable = all((member.at.phase, member.at.epoch) == there for member in self.members.values())
        return State.STABLE if is_stable else State.RECONCILING

    @property
    def is_empty(self) -> bool:
        return not self.members and not self._is_dead

    @property
    def is_idle(self) -> bool:
        return self.is_empty and not self._waiting

    # -- what members ask --------------------------------------------------------------------------------------------

    def heartbeat(self, beat: Heartbeat, topics: Topics, ticket: Any, now: float) -> list[Tell]:
        """Answers with Beaten, at once or when there is a new generation, or with UnknownMember, FencedMember,
        UnreleasedInstance, FencedInstance, GroupFull, InvalidRegex; what is refused changes nothing.

        beat: as `check` lets it pass.  topics: the newest there are.
        """
        try:
            if beat.epoch in (LEAVE, LEAVE_FOR_A_WHILE):
                return [Tell(ticket, self._leave(beat))]
            self._hear(beat, now)
        except LedgerError as refusal:
            return [Tell(ticket, refusal)]
        if not self._is_behind(topics):
            return [Tell(ticket, self._answer(beat, now))]
        self._waiting.append((ticket, beat))
        self.wants_generation = True
        return []

    def check_commit(
        self, member_id: str, instance_id: str | None, generation: int, now: float, *, transactional: bool = False
    ) -> int:
        """The fence an offset commit carries: the epoch it names, or -1 for one from outside while the group is empty.

        The member may be an epoch ahead of what it knew when it sent the commit.  Of a partition that it still has, the
        commit counts; of one that another member has fetched since, the fence there refuses it (KIP-1251).
        transactional: older clients name no member.  Raises UnknownMember, StaleMember.
        """
        if generation < 0 and (self.is_empty or (transactional and not member_id and instance_id is None)):
            return -1
        member = self._member(member_id)
        if not JOIN < member.epoch_joined <= generation <= member.at.epoch:
            raise self._stale(member, generation)
        return generation

    def check_fetch(self, member_id: str | None, generation: int) -> int:
        """The fence that fetching offsets raises; -1 for who asks from outside.  Raises UnknownMember, StaleMember."""
        if generation < 0 and not member_id:
            return -1
        member = self._member(member_id or "")
        if not JOIN < generation == member.at.epoch:
            raise self._stale(member, generation)
        return generation

    def describe(self) -> DescribedConsumers:
        members = [
            DescribedConsumer(
                m.id, m.instance_id, m.rack_id, m.at.epoch, m.client_id, m.client_host, sorted(m.wish.names),
                m.wish.regex, m.at.assigned, m.target,
            )
            for m in self.members.values()
        ]  # fmt: skip
        return DescribedConsumers(self.state.value, self.generation, self.assignor, members)

    def take_changes(self, *, everything: bool = False) -> Changes | None:
        """What has to be stored before anything more is answered; None when nothing has changed."""
        if not self._to_store and self._stored == self.generation and not everything:
            return None
        members = self.members
        ids: Collection[str] = members.keys() if everything else self._to_store
        rows = {name: encode_member(members[name]) if name in members else b"" for name in ids}
        self._stored, self._to_store = self.generation, set()
        return Changes(self.generation, MEMBERSHIP, rows, len(members), everything)

    # -- what happens to it ------------------------------------------------------------------------------------------

    def begin(self, generation: int, now: float) -> list[Tell]:
        """The generation it asked for is stored: says anew what each member is to read, and answers who waits."""
        assert self.wants_generation, f"{self.name!r} asked for no generation and was given {generation}"
        assert generation > self.generation, f"{self.name!r}: generation {generation} after {self.generation}"
        self.generation, self.wants_generation, self._is_changed = generation, False, False
        self._retarget()
        waiting, self._waiting = self._waiting, []
        return [Tell(ticket, self._answer_or_refuse(beat, now)) for ticket, beat in waiting]

    def tick(self, now: float) -> list[Tell]:
        """Puts out who has not been heard of, or did not give up in time what it had to."""
        for _, beat in self._waiting:  # they wait for us, not we for them
            if beat.member_id in self.members:
                self.members[beat.member_id].session_until = now + self._session_ms
        for member in [member for member in self.members.values() if member.deadline <= now]:
            self._remove(member)
        self.due = min((member.deadline for member in self.members.values()), default=inf)
        return []

    def put_off(self, ms: float) -> None:
        """The broker was held up for so long; it must not take that for silence of members."""
        for member in self.members.values():
            member.session_until += ms
            member.revoke_until += ms
        self.due += ms

    def die(self, error: LedgerError) -> list[Tell]:
        """This broker does not coordinate the group any more; the error answers all that wait."""
        for member in list(self.members.values()):
            self._remove(member)
        waiting, self._waiting = self._waiting, []
        self._is_dead, self.wants_generation, self.due = True, False, inf
        return [Tell(ticket, error) for ticket, _ in waiting]

    # -- heartbeats --------------------------------------------------------------------------------------------------

    def _hear(self, beat: Heartbeat, now: float) -> None:
        if self._is_dead:
            raise NotCoordinator(f"This broker does not coordinate group {self.name!r} any more.")
        member = self._may_join(beat) if beat.epoch == JOIN else self._known(beat)
        if beat.regex and beat.regex not in self.expressions:
            self.expressions.keep(Pattern(beat.regex), beat.tried)
        # Nothing is refused from here on.
        if beat.epoch == JOIN:
            member = self._join(member, beat)
        assert member is not None, beat
        member.session_until = self._wake(now + self._session_ms)
        wish, size = member.wish, member.size
        if member.hear(beat) or beat.epoch == JOIN:
            self._to_store.add(member.id)
        if member.wish != wish:
            self.size += member.size - size
            self._is_changed = True

    def _known(self, beat: Heartbeat) -> Consumer:
        member = self._named(beat)
        # The answer with the new epoch may have been lost: the member may repeat its request if it owns nothing else.
        is_repeat = (
            beat.epoch == member.epoch_before < member.at.epoch
            and beat.owned is not None
            and beat.owned <= member.at.assigned
        )
        if beat.epoch != member.at.epoch and not is_repeat:
            raise FencedMember(
                f"Member {member.id!r} is in epoch {member.at.epoch}, not {beat.epoch}; "
                "it has to give up its partitions and join again."
            )
        return member

    def _may_join(self, beat: Heartbeat) -> Consumer | None:
        """The member as which it goes on: itself, which begins anew, or the static member whose place it takes."""
        holder = self._instances.get(beat.instance_id) if beat.instance_id is not None else None
        if holder is not None and holder != beat.member_id:
            if self.members[holder].at.epoch != LEAVE_FOR_A_WHILE:
                raise UnreleasedInstance(f"Instance {beat.instance_id!r} is still in use by member {holder!r}.")
            return self.members[holder]
        member = self.members.get(beat.member_id)
        if member is None and len(self.members) >= self._members_max:
            raise GroupFull(f"Group {self.name!r} has {self._members_max} members already.")
        return member

    def _join(self, member: Consumer | None, beat: Heartbeat) -> Consumer:
        if member is None:
            member = Consumer(beat.member_id)
            self.size += member.size
            self.members[member.id] = member
            self._is_changed = True
        elif member.at.epoch == LEAVE_FOR_A_WHILE:
            self._return(member, beat.member_id)
        else:
            member.epoch_joined = member.at.epoch
        if beat.instance_id != member.instance_id:
            if member.instance_id is not None:
                del self._instances[member.instance_id]
            member.instance_id = beat.instance_id
        if beat.instance_id is not None:
            self._instances[beat.instance_id] = member.id
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

    def _leave(self, beat: Heartbeat) -> HeartbeatResult:
        """For a while: a static member's place, and what it has, are kept until its session is over."""
        member = self._named(beat)
        if beat.epoch == LEAVE:
            self._remove(member)
        else:
            self._stand(member, member.at._replace(epoch=LEAVE_FOR_A_WHILE, revoking=NOTHING))
            member.revoke_until = inf
        return HeartbeatResult(beat.member_id, beat.epoch)

    def _answer_or_refuse(self, beat: Heartbeat, now: float) -> HeartbeatResult | LedgerError:
        try:
            return self._answer(beat, now)
        except LedgerError as refusal:  # it has left, or was put out, while it waited
            return refusal

    def _answer(self, beat: Heartbeat, now: float) -> HeartbeatResult:
        member = self._member(beat.member_id)
        before, owners = member.at, self._owners
        after = step(
            before, beat.owned, member.target, self.generation, lambda one: owners.get(one, member.id) == member.id
        )
        self._stand(member, after)
        if after.phase is not Phase.UNREVOKED:
            member.revoke_until = inf
        elif after != before:
            member.revoke_until = self._wake(now + member.rebalance_ms)
        is_news = beat.is_full or after.assigned != before.assigned
        return HeartbeatResult(member.id, after.epoch, after.assigned if is_news else None)

    # -- targets -----------------------------------------------------------------------------------------------------

    def _is_behind(self, topics: Topics) -> bool:
        if topics is not self._topics:
            self._topics = topics
            if not self._is_changed:
                found = self.expressions.interests((member.wish for member in self.members.values()), topics)
                self._is_changed = found != self._interests
        return self._is_changed

    def _retarget(self) -> None:
        members = self.members
        self._interests = self.expressions.interests((member.wish for member in members.values()), self._topics)
        topics, partitions = self._interests
        votes = Counter(member.assignor for member in members.values() if member.assignor is not None)
        self.assignor = max(votes, key=lambda name: (votes[name], name), default=DEFAULT)
        subscribers = {m.id: Subscriber(topics[m.wish], m.target, m.instance_id) for m in members.values()}
        targets = ASSIGNORS[self.assignor](subscribers, partitions)
        for name, member in members.items():
            if member.target != targets[name]:
                member.target = targets[name]
                self._to_store.add(name)

    # -- books -------------------------------------------------------------------------------------------------------

    def _member(self, member_id: str) -> Consumer:
        member = self.members.get(member_id)
        if member is None:
            raise UnknownMember(f"Group {self.name!r} has no member {member_id[:80]!r}; join it again.")
        return member

    def _named(self, beat: Heartbeat) -> Consumer:
        """The member that a heartbeat names; with an instance id it is found by that."""
        if beat.instance_id is None:
            return self._member(beat.member_id)
        holder = self._instances.get(beat.instance_id)
        if holder is None:
            raise UnknownMember(f"Group {self.name!r} has no instance {beat.instance_id[:80]!r}; join it again.")
        if holder != beat.member_id:
            raise FencedInstance(f"Instance {beat.instance_id[:80]!r} is member {holder!r} now.")
        return self.members[holder]

    def _stale(self, member: Consumer, epoch: int) -> StaleMember:
        return StaleMember(
            f"Member {member.id!r} is in epoch {member.at.epoch}, not {epoch}; a heartbeat will tell it."
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
        if member.wish.regex:
            self.expressions.resume(member.wish.regex)

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
