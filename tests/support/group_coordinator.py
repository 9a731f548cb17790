"""The coordinator of groups with a Redis of the test's own."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict

from redis_ledger.errors import NotCoordinator, StoreUnavailable
from redis_ledger.groups.classic import ClassicGroup
from redis_ledger.groups.classic_rows import resume
from redis_ledger.groups.coordinator import Coordinator
from redis_ledger.groups.member import Join, Limits, Sync
from redis_ledger.groups.ownership import Stored, Summary

ME = "b1"


class Redis:
    """Ownership, as one broker sees it.  away: how many of the next calls fail.  owners: group → broker."""

    def __init__(self):
        self.owners, self.generations, self.kinds = {}, defaultdict(int), {}
        self.stored, self.members = {}, {}
        self.away = 0
        self.calls = []
        self.forgotten = []

    def _call(self, *what):
        self.calls.append(what)
        if self.away:
            self.away -= 1
            raise StoreUnavailable

    async def claim(self, group, kind):
        self._call("claim", group)
        await asyncio.sleep(0)
        if self.owners.get(group, ME) != ME:
            raise NotCoordinator
        self.owners[group] = ME
        if not self.members.get(group):
            self.kinds[group] = kind
        summary = self.stored.get(group, Summary())
        return Stored(self.kinds[group], ME, self.generations[group], "consumer", summary)

    async def rows(self, group):
        self._call("rows", group)
        return dict(self.members[group])

    async def store(self, group, kind, changes):
        self._call("store", group)
        await asyncio.sleep(0)
        if self.owners.get(group) != ME:
            raise NotCoordinator
        rows = {} if changes.is_whole else self.members.get(group, {})
        self.members[group] = {name: row for name, row in {**rows, **changes.rows}.items() if row}
        self.stored[group] = Summary.of(changes)
        assert changes.members == len(self.members[group])

    async def renew(self, group, kind, generation):
        self._call("renew", group)
        if self.generations[group] > generation:
            raise NotCoordinator
        self.owners[group] = ME

    async def advance(self, group, kind, generation, protocol_type):
        self._call("advance", group)
        await asyncio.sleep(0)
        if self.owners.get(group) != ME:
            raise NotCoordinator
        self.generations[group] = generation + 1
        return generation + 1

    async def release(self, group):
        self._call("release", group)
        self.owners.pop(group, None)

    async def look(self, groups):
        self._call("look", *groups)
        return [
            Stored("classic", self.owners.get(group, ""), 0, "", self.stored.get(group, Summary())) for group in groups
        ]

    def is_mine(self, stored):
        return stored.owner == ME

    async def give_up(self, group):
        self.forgotten.append(group)

    async def tidy(self):
        self.forgotten.append("tidy")


@contextlib.asynccontextmanager
async def coordinating(redis):
    def make(kind):
        def made(name, stored, rows, now):
            head, roster = resume(name, stored.generation, stored.protocol_type, stored.summary.membership, rows, now)
            group = ClassicGroup(name, Limits(0, 10), head, roster, now)
            group.kind = kind
            return group

        return made

    kinds = {kind: make(kind) for kind in ("classic", "consumer")}
    made = Coordinator(redis, kinds, redis.give_up, redis.tidy, 50_000)
    yield made
    await made.close()


def joining(member_id="", *, session_ms=10_000, name="m"):
    return Join(
        member_id, None, name, "/h", session_ms, 10_000, "consumer", {"range": b""}, f"{name}-1", is_called=False
    )


async def join(coordinator, group, join):
    return await coordinator.wait(group, lambda ticket, now: group.join(join, ticket, now))


async def settled(coordinator, name="g", **more):
    group = await coordinator.open(name, "classic")
    joined = await join(coordinator, group, joining(**more))
    sync = Sync(joined.member_id, None, joined.generation, None, None, {joined.member_id: b"all"})
    await coordinator.wait(group, lambda ticket, now: group.sync(sync, ticket, now))
    return group
