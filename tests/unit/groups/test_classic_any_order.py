"""groups/classic.py: in any order of requests, every request is answered and no partition is assigned twice."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, precondition, rule

from redis_ledger.errors import LedgerError
from redis_ledger.groups.classic import NEW_MEMBER_MS
from redis_ledger.groups.member import OVERHEAD_BYTES, GroupState, Joined, Synced
from tests.support.classic import DELAY, REBALANCE, SESSION, Play
from tests.support.examples import examples

INSTANCES = ["i", "j"]
ALL = 0b1111_1111
WHICH = st.sampled_from([ALL, 0b1, 0b10, 0b1110])
LIKES: list[dict[str, bytes]] = [{"x": b"1"}, {"x": b"2", "y": b""}, {"y": b"", "x": b"3"}, {"y": b"4"}]


class AnyOrder(RuleBasedStateMachine):
    """asked: ticket → the generation in which a SyncGroup was sent.  assigned: generation → what was assigned in it."""

    members = Bundle("members")

    def __init__(self) -> None:
        super().__init__()
        self.play = Play(members_max=4)
        self.asked: dict[int, int] = {}
        self.heard: set[int] = set()
        self.led: dict[int, tuple[str, str]] = {}
        self.assigned: dict[int, bytes] = {}
        self.received: dict[str, int] = {}  # member → the last generation it received

    # -- what members do ---------------------------------------------------------------------------------------------

    @rule(target=members, liked=st.sampled_from(LIKES), instance=st.sampled_from([None, None, *INSTANCES]))
    def come(self, liked: dict[str, bytes], instance: str | None) -> Any:
        return self.play.join(protocols=liked, instance_id=instance, can_skip=False), instance

    @rule(target=members, liked=st.sampled_from(LIKES))
    def ask_for_an_id(self, liked: dict[str, bytes]) -> Any:
        return self.play.join(protocols=liked, is_called=True, session_ms=2 * DELAY), None

    @rule(member=members, liked=st.sampled_from(LIKES))
    def join_again(self, member: Any, liked: dict[str, bytes]) -> None:
        self.play.join(self.id_of(member), protocols=liked, instance_id=member[1])

    @rule(which=WHICH)
    def join_unchanged(self, which: int) -> None:
        for member in self.some(which):
            self.play.join(member.id, protocols=member.protocols, instance_id=member.instance_id)

    @precondition(lambda self: self.play.group.state is GroupState.COMPLETING)
    @rule(which=WHICH)
    def ask_in_time(self, which: int) -> None:
        self.sync(which, 0)

    @rule(which=WHICH, generations_ago=st.sampled_from([0, 0, 1]))
    def sync(self, which: int, generations_ago: int) -> None:
        """The leader assigns a mark of this call to every member; followers send nothing."""
        roster, generation = self.play.group._roster, self.play.group.generation - generations_ago
        for member in self.some(which):
            mark = f"by {self.play.asked + 1}".encode()
            assignments = dict.fromkeys(roster.members, mark) if member.id == roster.leader else {}
            self.asked[self.play.sync(member.id, generation, assignments, instance_id=member.instance_id)] = generation

    @rule(which=WHICH)
    def beat(self, which: int) -> None:
        for member in self.some(which):
            self.beat_once(member)

    @rule(which=WHICH)
    def lose_connections(self, which: int) -> None:
        """Only a dynamic member that knows no generation is removed with its connection."""
        roster = self.play.group._roster
        for member in self.some(which):
            knows = not member.is_new or member.instance_id is not None
            for ticket in [waits[member.id] for waits in (roster.joins, roster.syncs) if member.id in waits]:
                self.play.withdraw(member.id, ticket)
                assert not roster.waits(member)
                assert (member.id in roster.members) is knows
                assert member.expires <= self.play.now + member.session_ms

    @rule(member=members, ticket=st.integers(1, 60))
    def lose_an_old_connection(self, member: Any, ticket: int) -> None:
        """A request that was answered, replaced, or sent by another member changes nothing."""
        roster, member_id = self.play.group._roster, self.id_of(member)
        if ticket in (roster.joins.get(member_id), roster.syncs.get(member_id)):
            return
        before = dict(self.play.answers), dict(roster.members), self.play.group.state
        self.play.withdraw(member_id, ticket)
        assert before == (self.play.answers, roster.members, self.play.group.state)

    @rule(member=consumes(members))
    def leave(self, member: Any) -> None:
        self.play.leave_as((self.id_of(member), member[1]))

    @rule(instance=st.sampled_from(INSTANCES))
    def take_out(self, instance: str) -> None:
        self.play.leave_as(("", instance))

    # -- what else happens -------------------------------------------------------------------------------------------

    @rule()
    def wait_a_little(self) -> None:
        self.play.run(2 * DELAY)

    @rule()
    def all_come_again(self) -> None:
        """What well-behaved members do: the next generation begins."""
        self.redis(True)
        if self.play.group.state is GroupState.PREPARING:
            self.join_unchanged(ALL)
        self.play.run(4 * DELAY)

    @rule(ms=st.sampled_from([0, SESSION // 2, SESSION, REBALANCE, NEW_MEMBER_MS]))
    def wait(self, ms: int) -> None:
        self.play.run(ms)

    @rule(stores=st.booleans())
    def redis(self, stores: bool) -> None:
        self.play.stores = stores
        self.play.store()

    @rule()
    def hold_up(self) -> None:
        self.play.now += SESSION
        self.play.group.put_off(SESSION)

    @rule()
    def move(self) -> None:
        """Every member that received a generation is known to the next owner, with its assignment."""
        group = self.play.group
        known = {
            m.id: (m.assignment, list(m.protocols.items())) for m in group._roster.members.values() if not m.is_new
        }
        leader, settled, generation = group._roster.leader, group.state is GroupState.STABLE, group.generation
        self.play.move()
        roster = self.play.group._roster
        assert {m.id: (m.assignment, list(m.protocols.items())) for m in roster.members.values()} == known
        assert self.play.group.generation == generation
        assert (self.play.group.state is GroupState.STABLE) is settled
        assert roster.leader == leader or leader not in known

    # -- what must hold ----------------------------------------------------------------------------------------------

    def some(self, which: int) -> list[Any]:
        """Members whose bit is set."""
        return [member for i, member in enumerate(list(self.play.group._roster.members.values())) if which >> i & 1]

    def beat_once(self, member: Any) -> None:
        try:
            self.play.group.heartbeat(member.id, member.instance_id, self.play.group.generation, self.play.now)
        except LedgerError:
            return

    def id_of(self, member: Any) -> str:
        ticket, _ = member
        answer = self.play.answers.get(ticket)
        if isinstance(answer, Joined):
            return answer.member_id
        return str(answer.facts.get("member_id") or "gone") if isinstance(answer, LedgerError) else f"m-{ticket}"

    @invariant()
    def answers_of_a_generation_agree(self) -> None:
        for ticket in self.play.answers.keys() - self.heard:
            self.heard.add(ticket)
            answer = self.play.answers[ticket]
            if isinstance(answer, Joined):
                assert answer.generation <= self.play.stored
                self.received[answer.member_id] = answer.generation
                protocol = self.led.setdefault(answer.generation, ("", answer.protocol))[1]
                assert answer.protocol == protocol
                if answer.members:
                    led_by = self.led[answer.generation][0]
                    assert led_by in ("", answer.leader), f"two members led generation {answer.generation}"
                    self.led[answer.generation] = (answer.leader, protocol)
            elif isinstance(answer, Synced):
                generation = self.asked[ticket]
                assert answer.assignment, "a follower has assigned"
                assert self.assigned.setdefault(generation, answer.assignment) == answer.assignment

    @invariant()
    def members_of_a_settled_group_know_its_generation(self) -> None:
        group = self.play.group
        if group.state in (GroupState.STABLE, GroupState.COMPLETING):
            for member in group._roster.members.values():
                assert self.received.get(member.id) == group.generation or member.instance_id is not None
        if group.state is GroupState.STABLE:
            assert not group._roster.joins
            assert not group._roster.syncs
        assert (group.state is GroupState.EMPTY) <= (not group._roster.members)

    @invariant()
    def the_books_are_right(self) -> None:
        group, roster = self.play.group, self.play.group._roster
        members = list(roster.members.values())
        assert len(members) + len(roster.pending) <= 2 * 4
        assert roster.size == OVERHEAD_BYTES * (1 + len(roster.pending)) + sum(member.size for member in members)
        for name in ("x", "y"):
            assert roster._supported[name] == sum(name in member.protocols for member in members)
        assert set(roster.joins) | set(roster.syncs) | roster.unsynced <= set(roster.members)
        assert set(roster._statics.values()) == {member.id for member in members if member.instance_id is not None}
        assert roster.leader in roster.members or not members
        assert group.due <= min(roster.first_expiry, group._join_due, group._sync_due)

    def teardown(self) -> None:
        """With Redis back all requests are answered, also when members live and none of them makes progress.  When they
        are silent, the group ends up empty."""
        self.play.stores = True
        for _ in range(4 * REBALANCE // (SESSION // 2)):
            for member in self.some(ALL):
                self.beat_once(member)
            self.play.run(SESSION // 2)
        assert set(range(1, self.play.asked + 1)) == set(self.play.answers), "a request was never answered"
        self.answers_of_a_generation_agree()
        for _ in range(4):
            self.play.run(NEW_MEMBER_MS)
        assert self.play.group.is_idle
        assert self.play.group.size == OVERHEAD_BYTES


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=examples(200), stateful_step_count=60)
