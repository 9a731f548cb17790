"""Who owns a group, as Redis has it: the one thing about membership that outlives a broker.

    {group:<name>}:state   owner b1, kind classic, generation 7, type consumer     {catalog}:groups   <name> → classic

A broker claims a group when the first member comes to it, and stays its owner until it gives it up or dies.  The claim
of a living broker holds; that of a dead one may be taken over by naming it.  Generations are handed out against the
claim, so a broker that was silent for too long cannot begin another one after its successor has.
Source: lua/group; Kafka has a partition leader instead, and records in a log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from redis_ledger.errors import NotCoordinator
from redis_ledger.store.keys import CatalogKeys, GroupKeys, encode_name
from redis_ledger.store.replies import Status
from redis_ledger.store.scripts import Script
from redis_ledger.store.store import Store

CLAIM = Script.load("group/claim")
ADVANCE = Script.load("group/advance")
RELEASE = Script.load("group/release")
DELETE = Script.load("group/delete")
ATTEMPTS = 4  # of a claim; each loses to another broker that has died since
UNDER_WAY_MAX = 1_000  # reads that wait for Redis together


class Brokers(Protocol):
    """What has to be known of brokers here: broker/members.py."""

    @property
    def name(self) -> str: ...
    def is_live(self, name: str) -> bool: ...
    async def beat(self) -> int: ...


class Stored(NamedTuple):
    """kind "": nobody has ever joined.  owner "": nobody owns it.  generation -1: it has had none."""

    kind: str
    owner: str
    generation: int
    protocol_type: str


class Ownership:
    def __init__(self, store: Store, brokers: Brokers) -> None:
        self._store, self._brokers = store, brokers
        self._catalog = CatalogKeys(store.prefix)

    async def claim(self, group: str, kind: str, generation: int = 0) -> Stored:
        """This broker is the owner from now on.  Raises NotCoordinator when another one is, and lives.

        generation: the last one that is known here; generations go on from there if Redis knows less.

        Cost: two round trips; two more when an owner has died, for what this broker believes of others may be a second
        old, and one that has just come must not be taken for dead.
        """
        key, me, dead = self._state(group), self._brokers.name, ""
        for _ in range(ATTEMPTS):
            status, *rest = await self._store.call(CLAIM, (key,), (me, dead, kind, generation))
            if status == Status.OK:
                k = self._catalog.groups
                await self._store.command("HSET", k, encode_name(group), kind, key=k)
                return Stored(kind, me, int(rest[0]), rest[1].decode())
            dead = rest[0].decode()
            if not self._brokers.is_live(dead):
                await self._brokers.beat()
            if self._brokers.is_live(dead):
                break
        raise NotCoordinator(f"Group {group!r} is coordinated by {dead}.")

    async def renew(self, group: str, kind: str, generation: int) -> None:
        """Nobody owns what this broker believed to own: Redis has lost the claim, in a failover perhaps.

        Raises NotCoordinator when others have owned it meanwhile, and begun generations of their own.
        """
        if (await self.claim(group, kind, generation)).generation > generation:
            raise NotCoordinator(f"Group {group!r} was taken over, and given up.")

    async def advance(self, group: str, kind: str, generation: int, protocol_type: str) -> int:
        """The generation that follows.  Raises NotCoordinator when this broker is not the owner any more."""
        args, answer = (self._brokers.name, generation, protocol_type), b""
        for _ in range(ATTEMPTS):
            status, answer = await self._store.call(ADVANCE, (self._state(group),), args)
            if status == Status.OK:
                return int(answer)
            if answer:
                break
            await self.renew(group, kind, generation)
        raise NotCoordinator(f"Group {group!r} was taken over by {answer.decode()}.")

    async def release(self, group: str) -> None:
        await self._store.call(RELEASE, (self._state(group),), (self._brokers.name,))

    async def delete(self, group: str) -> None:
        """The group's offsets have to be gone.  Raises NotCoordinator."""
        status, *rest = await self._store.call(DELETE, (self._state(group),), (self._brokers.name,))
        if status != Status.OK:
            raise NotCoordinator(f"Group {group!r} was taken over by {rest[0].decode()}.")
        k = self._catalog.groups
        await self._store.command("HDEL", k, encode_name(group), key=k)

    def is_mine(self, stored: Stored) -> bool:
        return stored.owner == self._brokers.name

    def is_elsewhere(self, stored: Stored) -> bool:
        """Whether another broker owns the group, and lives as far as is known here."""
        return stored.owner not in ("", self._brokers.name) and self._brokers.is_live(stored.owner)

    async def look(self, groups: Sequence[str]) -> list[Stored]:
        """Cost: one round trip for every thousand."""
        found: list[Stored] = []
        for at in range(0, len(groups), UNDER_WAY_MAX):
            found += await asyncio.gather(*(self._look(group) for group in groups[at : at + UNDER_WAY_MAX]))
        return found

    async def _look(self, group: str) -> Stored:
        key = self._state(group)
        row = await self._store.command("HMGET", key, "kind", "owner", "generation", "type", key=key)
        kind, owner, generation, protocol_type = row
        texts = [(text or b"").decode() for text in (kind, owner, protocol_type)]
        return Stored(texts[0], texts[1], int(generation or -1), texts[2])

    def _state(self, group: str) -> bytes:
        return GroupKeys(self._store.prefix, group).state
