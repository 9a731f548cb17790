"""Ownership of groups, and their state in Redis: owner, generation and members.

    {group:<name>}:state   owner b1, kind classic, generation 7, type consumer     {catalog}:groups   <name> → classic
                           told 7, membership <protobuf>, members 2, m:<member id> <protobuf>, ...

A broker claims a group when the first member joins, and owns it until it releases it or dies.  The claim of a live
broker is exclusive; that of a dead broker may be taken over by naming it.  Generations and members are stored
conditionally on the claim, so a broker that was considered dead cannot change them after another broker has claimed the
group.  Source: lua/group; Kafka has a partition leader instead, and records in a log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from redis_ledger.clock import Clock
from redis_ledger.errors import NotCoordinator
from redis_ledger.groups.member import Changes
from redis_ledger.store.keys import CatalogKeys, GroupKeys, encode_name
from redis_ledger.store.script_status import Status
from redis_ledger.store.scripts import Script
from redis_ledger.store.store import Store

CLAIM = Script.load("group/claim")
ADVANCE = Script.load("group/advance")
RELEASE = Script.load("group/release")
DELETE = Script.load("group/delete")
STORE = Script.load("group/store")
ROW = b"m:"  # prefix of a member's field
ATTEMPTS = 4  # attempts of a claim; each fails only because another owner has died
UNDER_WAY_MAX = 1_000  # reads per pipeline


class Brokers(Protocol):
    """The interface of broker/cluster/live_brokers.py that ownership uses."""

    @property
    def name(self) -> str: ...
    def is_live(self, name: str) -> bool: ...
    async def send_heartbeat(self) -> int: ...


class Summary(NamedTuple):
    """The stored state of a group besides its member rows.

    announced    the last generation that was sent to members (field `told`); -1: none
    membership   the group's protobuf
    members      number of stored members
    """

    announced: int = -1
    membership: bytes = b""
    members: int = 0

    @classmethod
    def of(cls, changes: Changes) -> Summary:
        return cls(changes.generation, changes.membership, changes.members)


class Stored(NamedTuple):
    """kind "": no member has ever joined.  owner "": no owner.  generation: the last one that was sent to members, or
    begun by a release that stores no members; -1: none."""

    kind: str
    owner: str
    generation: int
    protocol_type: str
    summary: Summary = Summary()

    @property
    def members(self) -> int:
        return self.summary.members


class Ownership:
    def __init__(self, store: Store, brokers: Brokers, clock: Clock) -> None:
        self._store, self._brokers, self._clock = store, brokers, clock
        self._catalog = CatalogKeys(store.prefix)

    async def claim(self, group: str, kind: str, generation: int = 0) -> Stored:
        """Makes this broker the owner.  Raises NotCoordinator if a live broker owns the group.

        generation: the last one known to this broker; it continues from there if the stored one is lower.
        Cost: two round trips; two more if an owner has died, because the cached list of live brokers may be a second
        old and a new broker must not be considered dead.
        """
        key, me, dead = self._state(group), self._brokers.name, ""
        for _ in range(ATTEMPTS):
            status, *rest = await self._store.call(CLAIM, (key,), (me, dead, kind, generation))
            if status == Status.OK:
                last, protocol_type, kept, announced, membership, members = rest
                k = self._catalog.groups
                await self._store.write_allow_oom("HSET", k, encode_name(group), kept)
                stored = Stored(kept.decode(), me, int(last), protocol_type.decode())
                return _with_members(stored, announced, membership, int(members))
            dead = rest[0].decode()
            if not self._brokers.is_live(dead):
                await self._brokers.send_heartbeat()
            if self._brokers.is_live(dead):
                break
        raise NotCoordinator(f"Group {group!r} is coordinated by {dead}.")

    async def renew(self, group: str, kind: str, generation: int) -> None:
        """Renews a lost claim: Redis has no owner for a group of this broker, perhaps after a failover.

        Raises NotCoordinator if another broker has begun a generation since.
        """
        if (await self.claim(group, kind, generation)).generation > generation:
            raise NotCoordinator(f"Group {group!r} was taken over and released.")

    async def advance(self, group: str, kind: str, generation: int, protocol_type: str) -> int:
        """Stores and returns the next generation.  Raises NotCoordinator if this broker is no longer the owner."""
        args, answer = (self._brokers.name, generation, protocol_type), b""
        for _ in range(ATTEMPTS):
            status, answer = await self._store.call(ADVANCE, (self._state(group),), args)
            if status == Status.OK:
                return int(answer)
            if answer:
                break
            await self.renew(group, kind, generation)
        raise NotCoordinator(f"Group {group!r} was taken over by {answer.decode()}.")

    async def rows(self, group: str) -> dict[str, bytes]:
        """The stored member rows by id.  Cost: reads the whole group."""
        key = self._state(group)
        row = await self._store.command("HGETALL", key, key=key)
        pairs = zip(row[::2], row[1::2], strict=True)
        return {name.removeprefix(ROW).decode(): value for name, value in pairs if name.startswith(ROW)}

    async def store(self, group: str, kind: str, changes: Changes) -> None:
        """Raises NotCoordinator if this broker is no longer the owner."""
        rows = [part for row in changes.rows.items() for part in row]
        args = (
            self._brokers.name, changes.generation, changes.membership, changes.members, int(changes.is_whole),
            self._clock.now_ms(),
        )  # fmt: skip
        owner = b""
        for _ in range(ATTEMPTS):
            status, *rest = await self._store.call(STORE, (self._state(group),), (*args, *rows))
            if status == Status.OK:
                return
            (owner,) = rest
            if owner:
                break
            await self.renew(group, kind, changes.generation)
        raise NotCoordinator(f"Group {group!r} was taken over by {owner.decode()}.")

    async def release(self, group: str) -> None:
        await self._store.call(RELEASE, (self._state(group),), (self._brokers.name,))

    async def delete(self, group: str) -> None:
        """Deletes a group; its offsets must already be deleted.  Raises NotCoordinator."""
        status, *rest = await self._store.call(DELETE, (self._state(group),), (self._brokers.name,))
        if status != Status.OK:
            raise NotCoordinator(f"Group {group!r} was taken over by {rest[0].decode()}.")
        await self._store.write_allow_oom("HDEL", self._catalog.groups, encode_name(group))

    def is_mine(self, stored: Stored) -> bool:
        return stored.owner == self._brokers.name

    def is_elsewhere(self, stored: Stored) -> bool:
        """Whether another broker owns the group and is live according to this broker."""
        return stored.owner not in ("", self._brokers.name) and self._brokers.is_live(stored.owner)

    async def look(self, groups: Sequence[str]) -> list[Stored]:
        """Reads the state of groups.  Cost: one round trip per thousand groups."""
        found: list[Stored] = []
        for at in range(0, len(groups), UNDER_WAY_MAX):
            found += await asyncio.gather(*(self._look(group) for group in groups[at : at + UNDER_WAY_MAX]))
        return found

    async def _look(self, group: str) -> Stored:
        key = self._state(group)
        fields = ("kind", "owner", "type", "generation", "told", "membership", "members")
        *texts, generation, announced, membership, members = await self._store.command("HMGET", key, *fields, key=key)
        kind, owner, protocol_type = ((text or b"").decode() for text in texts)
        stored = Stored(kind, owner, int(generation or -1), protocol_type)
        return _with_members(stored, announced or b"", membership or b"", int(members or 0))

    def _state(self, group: str) -> bytes:
        return GroupKeys(self._store.prefix, group).state


def _with_members(stored: Stored, announced: bytes, membership: bytes, members: int) -> Stored:
    """Adds the stored members unless they are outdated.

    A broker stores a generation before its members, so they may be one generation behind.  If they are further behind,
    a broker of a release that stores no members has owned the group since, and they are ignored.
    """
    if not announced or stored.generation > int(announced) + 1:
        return stored
    return stored._replace(generation=int(announced), summary=Summary(int(announced), membership, members))
