"""Drives a classic group step by step: time is set by the test, tickets are numbers, generations start on request.

play = Play()
first = play.join("a")          # a ticket
play.run(100)                   # time goes on; a generation that is wanted is stored at once
play.answers[first].generation
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redis_ledger.errors import NotCoordinator
from redis_ledger.groups.classic import ClassicGroup
from redis_ledger.groups.classic_members import ClassicMembers
from redis_ledger.groups.classic_rows import Head, resume
from redis_ledger.groups.member import Changes, GroupState, Join, Joined, Limits, Reply, Sync

DELAY, SESSION, REBALANCE = 100, 10_000, 30_000
RANGE = {"range": b"r"}


class Play:
    """answers: ticket → what it was answered.  stores: whether Redis is there to store generations."""

    def __init__(self, *, members_max: int = 100, delay_ms: int = DELAY, generation: int = 0) -> None:
        self.limits = Limits(delay_ms, members_max)
        self.group = ClassicGroup("g", self.limits, Head(generation, True, "", "", ""), ClassicMembers(), 0)
        self.redis = Changes(generation, b"", {}, 0)  # all that is stored
        self.now = 0.0
        self.stores = True
        self.answers: dict[int, Any] = {}
        self.asked = 0
        self.stored = generation

    def join(
        self,
        member_id: str = "",
        *,
        name: str = "m",
        instance_id: str | None = None,
        protocols: Mapping[str, bytes] = RANGE,
        protocol_type: str = "consumer",
        session_ms: int = SESSION,
        rebalance_ms: int = REBALANCE,
        is_called: bool = False,
        can_skip: bool = True,
    ) -> int:
        """member_id "": a member without an id, which is called name-<ticket>.  The ticket."""
        self.asked += 1
        join = Join(
            member_id, instance_id, name, "/h", session_ms, rebalance_ms, protocol_type, protocols,
            f"{name}-{self.asked}", is_called, can_skip,
        )  # fmt: skip
        self.hear(self.group.join(join, self.asked, self.now))
        return self.asked

    def sync(
        self,
        member_id: str,
        generation: int | None = None,
        assignments: Mapping[str, bytes] | None = None,
        *,
        instance_id: str | None = None,
        protocol_type: str | None = None,
        protocol: str | None = None,
    ) -> int:
        self.asked += 1
        number = self.group.generation if generation is None else generation
        sync = Sync(member_id, instance_id, number, protocol_type, protocol, assignments or {})
        self.hear(self.group.sync(sync, self.asked, self.now))
        return self.asked

    def withdraw(self, member_id: str, ticket: int) -> None:
        """The connection of this request closes."""
        self.hear(self.group.withdraw(member_id, ticket, self.now))

    def leave(self, *member_ids: str) -> list[Any]:
        return self.leave_as(*((member_id, None) for member_id in member_ids))

    def leave_as(self, *leaving: tuple[str, str | None]) -> list[Any]:
        answers, replies = self.group.leave(leaving, self.now)
        self.hear(replies)
        return [None if answer is None else type(answer) for answer in answers]

    def beat(self, *member_ids: str) -> None:
        for member_id in member_ids:
            self.group.heartbeat(member_id, None, self.group.generation, self.now)

    def run(self, ms: float = 0) -> None:
        """Time goes on, with a tick whenever the group is due."""
        until = self.now + ms
        self.store()
        while self.group.due <= until:
            self.now = max(self.now, self.group.due)
            self.hear(self.group.tick(self.now))
            self.store()
        self.now = until

    def store(self) -> None:
        while self.stores and self.group.wants_generation:
            self.stored = self.group.generation + 1
            self.hear(self.group.begin(self.stored, self.now))

    def hear(self, replies: list[Reply]) -> None:
        """Answers leave when what they depend on is stored."""
        changes = None if self.group.state is GroupState.DEAD else self.group.take_changes()
        if changes is not None:
            rows = {name: row for name, row in {**self.redis.rows, **changes.rows}.items() if row}
            self.redis = changes._replace(rows=rows)
            assert len(rows) == changes.members
        for ticket, answer in replies:
            assert ticket not in self.answers, f"{ticket} was answered twice"
            self.answers[ticket] = answer

    def answer_of(self, ticket: int) -> Any:
        """The answer; the class of an error."""
        answer = self.answers.get(ticket)
        return type(answer) if isinstance(answer, Exception) else answer

    def stable(self, *names: str, **more: Any) -> list[str]:
        """A stable group of new members; their ids.  The first leads, and each member is assigned its own name."""
        tickets = [self.join(name=name, **more) for name in names]
        while any(ticket not in self.answers for ticket in tickets):
            self.run(DELAY)
        joined: list[Joined] = [self.answers[ticket] for ticket in tickets]
        ids = [one.member_id for one in joined]
        for member_id in ids[1:]:
            self.sync(member_id)
        self.sync(ids[0], assignments={member_id: name.encode() for member_id, name in zip(ids, names, strict=True)})
        return ids

    def die(self) -> None:
        self.hear(self.group.die(NotCoordinator()))

    def move(self) -> None:
        """The broker dies and another one goes on with what is stored; waiting requests end with their connections."""
        generation, membership, rows, _, _ = self.redis
        dead, replies = self.group, self.group.die(NotCoordinator())
        head, roster = resume("g", generation, dead.protocol_type, membership, rows, self.now)
        self.group = ClassicGroup("g", self.limits, head, roster, self.now)
        self.hear(replies)
