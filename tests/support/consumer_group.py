"""A consumer group and clients of it, without a broker: what unit and property tests of the protocol drive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redis_ledger.errors import FencedMember, LedgerError, UnknownMember
from redis_ledger.groups.assignors import Slice
from redis_ledger.groups.consumer import ConsumerGroup
from redis_ledger.groups.consumer_member import Heartbeat, HeartbeatResult, check
from redis_ledger.groups.consumer_rows import resume
from redis_ledger.groups.member import Changes
from redis_ledger.groups.subscribed_topics import TopicFacts, Topics

SESSION_MS, REBALANCE_MS, MEMBERS_MAX = 45_000, 60_000, 8
OWNS_NOTHING: frozenset[Slice] = frozenset()


def topic_id(name: str) -> bytes:
    return name.encode().ljust(16, b"\0")


def topics(**partitions: int) -> Topics:
    return Topics({name: TopicFacts(topic_id(name), count) for name, count in partitions.items()})


def slices(**numbers: Sequence[int]) -> frozenset[Slice]:
    return frozenset((topic_id(name), number) for name, some in numbers.items() for number in some)


class World:
    """One group, the topics there are, and the time.  Generations are given as soon as they are wanted."""

    def __init__(self, **partitions: int) -> None:
        self.group = ConsumerGroup("g", 0, session_ms=SESSION_MS, members_max=MEMBERS_MAX)
        self.topics = topics(**partitions)
        self.now = 1_000_000.0
        self.redis = Changes(0, b"", {}, 0)  # all that is stored

    def send(self, beat: Heartbeat) -> HeartbeatResult:
        """The answer; raises what it is if it is an error."""
        check(beat)
        replies = self.group.heartbeat(beat, self.topics, "ticket", self.now)
        if self.group.wants_generation:
            assert replies == []
            replies = self.group.begin(self.group.generation + 1, self.now)
        self.store()
        ((ticket, answer),) = replies
        assert ticket == "ticket"
        if isinstance(answer, LedgerError):
            raise answer
        assert isinstance(answer, HeartbeatResult)
        return answer

    def store(self) -> None:
        changes = self.group.take_changes()
        if changes is not None:
            rows = {name: row for name, row in {**self.redis.rows, **changes.rows}.items() if row}
            self.redis = changes._replace(rows=rows)
            assert len(rows) == changes.members

    def move(self) -> None:
        """The broker dies, and another one goes on with what is stored."""
        generation, membership, rows, _, _ = self.redis
        members = resume("g", membership, rows, SESSION_MS, self.now)
        self.group = ConsumerGroup("g", generation, session_ms=SESSION_MS, members_max=MEMBERS_MAX, members=members)

    def join(self, member_id: str, *names: str, **more: Any) -> HeartbeatResult:
        return self.send(joining(member_id, *names, **more))

    def beat(self, member_id: str, epoch: int, owned: frozenset[Slice] | None = None, **more: Any) -> HeartbeatResult:
        return self.send(Heartbeat(member_id, epoch, owned=owned, **more))

    def commit(self, member_id: str, epoch: int, *, transactional: bool = False) -> int:
        """The fence that the commit carries."""
        return self.group.check_commit(member_id, None, epoch, self.now, transactional=transactional)

    def pass_ms(self, ms: float) -> None:
        """Time goes by as the coordinator lets it: a tick whenever one is due."""
        until = self.now + ms
        while self.group.due <= until:
            self.now = max(self.now, self.group.due)
            self.group.tick(self.now)
            self.store()
        self.now = until

    @property
    def state(self) -> str:
        return self.group.state.value


def shared(world: World) -> None:
    """a and b have two partitions each of the topic t, in epoch 2."""
    world.join("a", "t")
    world.join("b", "t")
    world.beat("a", 1, slices(t=range(4)))
    world.beat("a", 1, world.group.members["a"].at.assigned)
    world.beat("b", 2)
    assert world.state == "Stable"


def joining(member_id: str, *names: str, **more: Any) -> Heartbeat:
    asked: dict[str, Any] = {"rebalance_ms": REBALANCE_MS, "names": names, "owned": OWNS_NOTHING}
    return Heartbeat(member_id, 0, **{**asked, **more})


class Client:
    """A well-behaved client.  owned: the partitions it reads now; it reads nothing before it is assigned."""

    def __init__(self, world: World, name: str, names: Sequence[str] = (), regex: str = "", instance: str = "") -> None:
        self.world, self.name, self.names, self.regex = world, name, tuple(names), regex
        self.instance = instance or None
        self.epoch, self.owned = 0, OWNS_NOTHING
        self._is_unsure = True  # its last answer was lost, or there was none

    def heartbeat(self, *, is_lost: bool = False) -> None:
        beat = Heartbeat(self.name, self.epoch, instance_id=self.instance, owned=self.owned)
        if self._is_unsure:
            beat = beat._replace(rebalance_ms=REBALANCE_MS, names=self.names, regex=self.regex)
        try:
            answer = self.world.send(beat)
        except (FencedMember, UnknownMember):
            self.epoch, self.owned, self._is_unsure = 0, OWNS_NOTHING, True
            return
        self._is_unsure = is_lost
        if is_lost:
            return
        self.epoch = answer.epoch
        if answer.assigned is not None:
            self.owned = answer.assigned

    def leave(self, *, for_a_while: bool = False) -> None:
        epoch = -2 if for_a_while and self.instance else -1
        self.world.send(Heartbeat(self.name, epoch, instance_id=self.instance))
        self.epoch, self.owned, self._is_unsure = 0, OWNS_NOTHING, True
