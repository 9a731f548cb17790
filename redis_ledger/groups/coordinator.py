"""The groups that this broker owns: the part of them that waits, times out and talks to Redis.

    request ──▶ open: claim it in Redis ──▶ a state machine (classic.py, consumer.py) ──▶ what to tell to whom
                                                 │ due                    │ wants_generation
                                              a timer ──▶ tick         a task ──▶ Redis ──▶ begin

A state machine decides and this does: it keeps one timer for each group, gets generations (trying again for as long as
Redis is away: nobody hears of one that is not stored), and turns tickets into answers.  Every second it asks Redis who
owns what it believes to own; what others have taken over it drops, and members go there.  A group nobody is in is given
up after a while.  A kind of group is a `Group` and a maker; `kinds` has both that there are.
Source: Kafka's group coordinator; docs/architecture.md.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from enum import Enum
from math import inf
from typing import Any, Protocol
from weakref import WeakValueDictionary

import structlog

from redis_ledger.errors import GroupFull, GroupNotFound, InconsistentProtocol, LedgerError, NotCoordinator
from redis_ledger.groups.member import Tell
from redis_ledger.groups.ownership import Ownership

WATCH_S = 1.0
TIDY_S = 600.0
IDLE_MS = 60_000  # an empty group is given up after this
IDLE_MAX = 100  # at a time
LATE_MS = 1_000  # a timer that comes later than this says that the broker was held up
PAUSE_S, PAUSE_S_MAX = 0.05, 2.0  # between two attempts to store a generation
RELEASE_S_MAX = 3.0
BROKEN = "a consumer group is dropped and its members join again"  # nobody waits for ever because of a mistake of ours

log = structlog.get_logger(__name__)


class Group(Protocol):
    """One group of any kind; times in ms.  `check_commit` and `check_fetch` return the fence: what the commit
    carries, and what reading offsets raises in the partitions; they raise what OffsetCommit and OffsetFetch tell."""

    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def state(self) -> Enum: ...  # whose value is what ListGroups tells
    @property
    def generation(self) -> int: ...
    @property
    def protocol_type(self) -> str: ...
    @property
    def wants_generation(self) -> bool: ...
    @property
    def due(self) -> float: ...
    @property
    def is_empty(self) -> bool: ...  # it has no members, so its offsets may go, and its kind change
    @property
    def is_idle(self) -> bool: ...  # and nobody was told to come
    @property
    def size(self) -> int: ...
    def begin(self, generation: int, now: float) -> list[Tell]: ...
    def tick(self, now: float) -> list[Tell]: ...
    def put_off(self, ms: float) -> None: ...
    def die(self, error: LedgerError) -> list[Tell]: ...
    def check_commit(
        self, member_id: str, instance_id: str | None, generation: int, now: float, *, transactional: bool = False
    ) -> int: ...
    def check_fetch(self, member_id: str | None, member_epoch: int) -> int: ...


Maker = Callable[[str, int, str], Group]  # name, generation stored last, protocol type


class _Held:
    """A group and what drives it.  is_excused: its deadlines have been put off, and the next time they count."""

    __slots__ = ("advancing", "group", "idle_since", "is_excused", "size", "timer", "timer_due")

    def __init__(self, group: Group) -> None:
        self.group = group
        self.timer: asyncio.TimerHandle | None = None
        self.timer_due = inf
        self.advancing: asyncio.Task[None] | None = None
        self.size = 0
        self.idle_since = inf
        self.is_excused = False


class Coordinator:
    """size: bytes that all members cost."""

    def __init__(
        self,
        ownership: Ownership,
        kinds: Mapping[str, Maker],
        give_up: Callable[[str], Awaitable[None]],
        tidy: Callable[[], Awaitable[None]],
        bytes_max: int,
    ) -> None:
        """give_up: what becomes in Redis of a group that nobody is in.  tidy: of those that are not in memory."""
        self._ownership, self._kinds, self._bytes_max = ownership, kinds, bytes_max
        self._give_up, self._tidy = give_up, tidy
        self._held: dict[str, _Held] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._loop = asyncio.get_running_loop()
        self._watching: asyncio.Task[None] | None = None
        self.is_closed = False
        self.size = 0

    def now(self) -> float:
        return self._loop.time() * 1000

    def held(self, name: str) -> Group | None:
        found = self._held.get(name)
        return None if found is None else found.group

    @property
    def groups(self) -> list[Group]:
        return [held.group for held in self._held.values()]

    def check_room(self, more: int, *, is_known: bool) -> None:
        """Raises GroupFull.  Who is known may use as much again, so that strangers cannot drive members out."""
        if self.size + more > self._bytes_max * (2 if is_known else 1):
            raise GroupFull("This broker has no memory for more members of groups.", member_id="")

    @contextlib.asynccontextmanager
    async def alone(self, name: str) -> AsyncIterator[None]:
        """Nobody else opens or deletes the group meanwhile."""
        lock = self._locks.get(name)
        if lock is None:
            lock = self._locks[name] = asyncio.Lock()
        async with lock:
            yield

    async def open(self, name: str, kind: str) -> Group:
        """The group, claimed if need be.  One of another kind that nobody is in becomes one of this kind.

        Raises NotCoordinator when another broker owns it; while it has members of another kind InconsistentProtocol, or
        GroupNotFound to those of the newer protocol, as Kafka does.
        """
        held = self._held.get(name)
        if held is not None and held.group.kind == kind:
            return held.group
        async with self.alone(name):
            if self.is_closed:
                raise NotCoordinator("This broker is shutting down.")
            group = self.held(name)
            if group is not None and group.kind == kind:
                return group
            if group is not None and not group.is_empty:
                told = f"Group {name!r} has members of the {group.kind} protocol."
                raise InconsistentProtocol(told) if kind == "classic" else GroupNotFound(told)
            if group is not None:
                self.drop(group, NotCoordinator(f"Group {name!r} becomes one of the {kind} protocol."))
            self.check_room(0, is_known=False)
            stored = await self._ownership.claim(name, kind)
            if self.is_closed:
                await self._ownership.release(name)
                raise NotCoordinator("This broker is shutting down.")
            group = self._kinds[kind](name, stored.generation, stored.protocol_type)
            self._held[name] = _Held(group)
            self.carry(group, [])
            if self._watching is None:
                self._watching = self._loop.create_task(self._watch())
            return group

    async def wait(self, group: Group, act: Callable[[Any, float], list[Tell]]) -> Any:
        """What the group answers to the ticket that act is given with the time, now or later; an error is raised."""
        ticket = self._loop.create_future()
        self.carry(group, act(ticket, self.now()))
        answer = await ticket
        if isinstance(answer, LedgerError):
            raise answer
        return answer

    def carry(self, group: Group, told: list[Tell]) -> None:
        """Tells, and sees to what the group needs next: after everything that may have changed it."""
        for ticket, answer in told:
            if not ticket.done():
                ticket.set_result(answer)
        held = self._held.get(group.name)
        if held is None or held.group is not group:
            return
        self.size += group.size - held.size
        held.size = group.size
        if group.wants_generation and held.advancing is None:
            held.advancing = self._loop.create_task(self._advance(held))
        if group.due < held.timer_due:
            if held.timer is not None:
                held.timer.cancel()
            held.timer_due = group.due
            held.timer = self._loop.call_at(group.due / 1000, self._fire, held)

    def drop(self, group: Group, error: LedgerError) -> None:
        """The group is not this broker's any more, or not as it was; whoever waits is told so."""
        held = self._held.get(group.name)
        if held is not None and held.group is group:
            del self._held[group.name]
            self.size -= held.size
            if held.timer is not None:
                held.timer.cancel()
        self.carry(group, group.die(error))

    async def close(self) -> None:
        """Gives every group up, so that its members find their next coordinator at once."""
        self.is_closed = True
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        names, tasks = list(self._held), [held.advancing for held in self._held.values() if held.advancing is not None]
        for held in list(self._held.values()):
            self.drop(held.group, NotCoordinator("This broker is shutting down."))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with contextlib.suppress(TimeoutError):  # without Redis they are free as soon as this broker counts as dead
            async with asyncio.timeout(RELEASE_S_MAX):
                await asyncio.gather(*(self._ownership.release(name) for name in names), return_exceptions=True)

    # -- time --------------------------------------------------------------------------------------------------------

    def _fire(self, held: _Held) -> None:
        late_ms = self.now() - held.timer_due
        held.timer, held.timer_due = None, inf
        try:
            if late_ms > LATE_MS and not held.is_excused:
                held.is_excused = True
                held.group.put_off(late_ms)
                self.carry(held.group, [])
            else:
                held.is_excused = False
                self.carry(held.group, held.group.tick(self.now()))
        except Exception:
            log.exception(BROKEN, group=held.group.name)
            self.drop(held.group, NotCoordinator("The broker made a mistake with this group."))

    # -- generations -------------------------------------------------------------------------------------------------

    async def advance(self, group: Group) -> int:
        """The next generation, for a group that does not ask for it by `wants_generation`.  Raises NotCoordinator, and
        the group is dropped, when another broker owns it by now."""
        try:
            return await self._ownership.advance(group.name, group.kind, group.generation, group.protocol_type)
        except NotCoordinator as error:
            log.warning("a consumer group was taken over", group=group.name, error=str(error))
            self.drop(group, error)
            raise

    async def _advance(self, held: _Held) -> None:
        group, pause_s = held.group, PAUSE_S
        try:
            while group.wants_generation:
                try:
                    generation = await self.advance(group)
                except NotCoordinator:
                    return
                except LedgerError as error:
                    log.warning("members wait for a generation to be stored", group=group.name, error=str(error))
                    await asyncio.sleep(pause_s)
                    pause_s = min(2 * pause_s, PAUSE_S_MAX)
                else:
                    if group.wants_generation:
                        self.carry(group, group.begin(generation, self.now()))
        except Exception:
            log.exception(BROKEN, group=group.name)
            self.drop(group, NotCoordinator("The broker made a mistake with this group."))
        finally:
            held.advancing = None

    # -- ownership ---------------------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        tidied = self._loop.time()
        while True:
            await asyncio.sleep(WATCH_S)
            try:
                await self.look_after()
                if self._loop.time() > tidied + TIDY_S:
                    tidied = self._loop.time()
                    await self._tidy()
            except LedgerError as error:
                log.warning("ownership of consumer groups is not known now", error=str(error))
            except Exception:
                log.exception("looking after consumer groups failed, trying again")

    async def look_after(self) -> None:
        """Drops what others own by now, and gives up what nobody is in.  Cost: one read for each group, pipelined."""
        watched = list(self._held.items())
        owners = await self._ownership.look([name for name, _ in watched])
        for (name, held), stored in zip(watched, owners, strict=True):
            if self._held.get(name) is not held or self._ownership.is_mine(stored):
                continue
            try:
                if stored.owner:
                    raise NotCoordinator(f"Group {name!r} was taken over by {stored.owner}.")
                await self._ownership.renew(name, held.group.kind, held.group.generation)
            except NotCoordinator as error:
                log.warning("a consumer group was taken over", group=name, error=str(error))
                self.drop(held.group, error)
        now = self.now()
        for held in self._held.values():
            held.idle_since = min(held.idle_since, now) if held.group.is_idle else inf
        idle = [name for name, held in self._held.items() if held.idle_since <= now - IDLE_MS]
        await asyncio.gather(*(self._leave(name) for name in idle[:IDLE_MAX]))

    async def _leave(self, name: str) -> None:
        async with self.alone(name):
            group = self.held(name)
            if group is not None and group.is_idle:
                self.drop(group, NotCoordinator(f"Group {name!r} was given up."))
                await self._give_up(name)
