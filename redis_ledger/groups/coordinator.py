"""The group coordinator: timers, waiting requests and Redis access of the groups that this broker owns.

    request ──▶ open: claim it in Redis, ──▶ a state machine (classic.py, consumer.py) ──▶ answers ──▶ clients
                load its members                │ due          │ wants_generation  │ changes    ▲
                                             a timer ──▶ tick  └─▶ Redis ──▶ begin  └─▶ Redis ──┘

The state machines decide, the coordinator executes: it has one timer per group, stores generations and members
(retrying while Redis is unavailable), and sends the answers of tickets.  An answer is sent after the changes that it
depends on are stored, so the next owner has everything that was sent to members.  Every second it reads the owners of
its groups and drops those that other brokers have taken over.  While Redis does not respond no timer fires, because
heartbeats may wait behind requests that need Redis.  An empty group is released after a while.

`kinds` has a factory for each kind of group.  Source: Kafka's group coordinator; docs/architecture.md.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from math import inf
from typing import Any
from weakref import WeakValueDictionary

import structlog

from redis_ledger.errors import GroupFull, GroupNotFound, InconsistentProtocol, LedgerError, NotCoordinator
from redis_ledger.groups.group import Group, HeldGroup, Maker
from redis_ledger.groups.member import Changes, Reply
from redis_ledger.groups.ownership import Ownership, Summary
from redis_ledger.telemetry.logs import RateLimitedLog

WATCH_S = 1.0
TIDY_S = 600.0
IDLE_MS = 60_000  # an empty group is released after this
IDLE_MAX = 100  # at once
LATE_MS = 1_000  # a timer later than this means that the broker was blocked
AWAY_MS = 3_000  # without a reply of Redis for this time, no timer fires
PAUSE_S, PAUSE_S_MAX = 0.05, 2.0  # between two attempts to store something
GROUP_BYTES_MAX = 33_554_432  # limit for the members of one group, in memory and stored
RELEASE_S_MAX = 3.0
REMIND_S = 30.0  # for repeated failures
BROKEN = "a consumer group is dropped and loaded again"  # so that members do not wait forever after an internal error

log = structlog.get_logger(__name__)


class Coordinator:
    """size: memory of all members in bytes."""

    def __init__(
        self,
        ownership: Ownership,
        kinds: Mapping[str, Maker],
        give_up: Callable[[str], Awaitable[None]],
        tidy: Callable[[], Awaitable[None]],
        bytes_max: int,
    ) -> None:
        """give_up: cleans up an empty group in Redis.  tidy: the same for groups that are not in memory."""
        self._ownership, self._kinds, self._bytes_max = ownership, kinds, bytes_max
        self._give_up, self._tidy = give_up, tidy
        self._limited_log = RateLimitedLog(REMIND_S)
        self._held: dict[str, HeldGroup] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._loop = asyncio.get_running_loop()
        self._watching: asyncio.Task[None] | None = None
        self._answered_ms = self.now()  # time of the last reply of Redis
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

    def check_room(self, name: str, more: int, *, is_known: bool) -> None:
        """Raises GroupFull.  Known members have twice the limit, so that new members cannot displace them."""
        times, held = 2 if is_known else 1, self._held.get(name)
        if self.size + more > times * self._bytes_max:
            raise GroupFull("This broker has no memory for more group members.", member_id="")
        if held is not None and held.size + more > times * GROUP_BYTES_MAX:
            raise GroupFull(f"The members of group {name!r} take up too much memory.", member_id="")

    @contextlib.asynccontextmanager
    async def alone(self, name: str) -> AsyncIterator[None]:
        """Locks the group against concurrent opening and deletion."""
        lock = self._locks.get(name)
        if lock is None:
            lock = self._locks[name] = asyncio.Lock()
        async with lock:
            yield

    async def open(self, name: str, kind: str) -> Group:
        """Returns the group, claimed if necessary.  An empty group of another kind is converted.

        Raises NotCoordinator if another broker owns it; if it has members of another kind InconsistentProtocol, or
        GroupNotFound for the consumer protocol, as in Kafka.
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
                answers = f"Group {name!r} has members of the {group.kind} protocol."
                raise InconsistentProtocol(answers) if kind == "classic" else GroupNotFound(answers)
            if group is not None:
                if (storing := self._held[name].storing) is not None:
                    await asyncio.wait({storing})
                self.drop(group, NotCoordinator(f"Group {name!r} is converted to the {kind} protocol."))
            self.check_room(name, 0, is_known=False)
            stored = await self._ownership.claim(name, kind)
            rows = await self._ownership.rows(name) if stored.members else {}
            if self.is_closed:
                await self._ownership.release(name)
                raise NotCoordinator("This broker is shutting down.")
            group = self._kinds[stored.kind](name, stored, rows, self.now())
            held = self._held[name] = HeldGroup(group, stored.summary)
            held.is_lost = group.is_empty and stored.members > 0  # the members could not be decoded
            self.carry(group, [])
            if self._watching is None:
                self._answered_ms = self.now()
                self._watching = self._loop.create_task(self._watch())
        return await self.open(name, kind) if group.kind != kind else group

    async def wait(
        self,
        group: Group,
        act: Callable[[Any, float], list[Reply]],
        withdraw: Callable[[Any, float], list[Reply]] | None = None,
        closing: asyncio.Event | None = None,
    ) -> Any:
        """Calls `act` with a new ticket and the time, and returns the group's answer to the ticket or raises its error.

        closing: set when the client disconnects; a waiting ticket is then withdrawn.
        """
        ticket = self._loop.create_future()
        self.carry(group, act(ticket, self.now()))
        if withdraw is not None and closing is not None and not ticket.done():
            await _first_of(ticket, closing)
            if not ticket.done():
                self.carry(group, withdraw(ticket, self.now()))
        answer = await ticket
        if isinstance(answer, LedgerError):
            raise answer
        return answer

    def carry(self, group: Group, answers: list[Reply]) -> None:
        """Sends the answers once the changes are stored, and starts the next timer or store.  Must be called after
        every call that may have changed the group.
        """
        held = self._held.get(group.name)
        if held is None or held.group is not group:
            _send(answers)
            return
        held.unsent += answers
        if held.storing is None:
            changes = group.take_changes(everything=held.is_lost)
            held.is_lost = False
            if changes is not None:
                held.storing = self._loop.create_task(self._store(held, changes))
            elif held.unsent:
                _send(held.unsent)
                held.unsent = []
        self.size += group.size - held.size
        held.size = group.size
        if group.wants_generation and held.advancing is None:
            held.advancing = self._loop.create_task(self._advance(held))
        if group.due < held.timer_due:
            self._set_timer(held, group.due)

    def drop(self, group: Group, error: LedgerError) -> None:
        """Drops the group from memory, because it is lost or outdated; waiting requests fail with the error."""
        held = self._held.get(group.name)
        if held is not None and held.group is group:
            del self._held[group.name]
            self.size -= held.size
            if held.timer is not None:
                held.timer.cancel()
            if held.storing is not None:
                held.storing.cancel()
            _send([Reply(ticket, error) for ticket, _ in held.unsent])
        _send(group.die(error))

    async def close(self) -> None:
        """Releases all groups, so that members find their next coordinator immediately."""
        self.is_closed = True
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        names = list(self._held)
        tasks = [task for held in self._held.values() for task in (held.advancing, held.storing) if task is not None]
        for held in list(self._held.values()):
            self.drop(held.group, NotCoordinator("This broker is shutting down."))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with contextlib.suppress(TimeoutError):  # without Redis they are free once this broker is considered dead
            async with asyncio.timeout(RELEASE_S_MAX):
                await asyncio.gather(*(self._ownership.release(name) for name in names), return_exceptions=True)

    # -- time ----------------------------------------------------------------------------------------------------------

    def _set_timer(self, held: HeldGroup, due: float) -> None:
        if held.timer is not None:
            held.timer.cancel()
        held.timer_due = due
        held.timer = self._loop.call_at(due / 1000, self._fire, held)

    def _fire(self, held: HeldGroup) -> None:
        late_ms = self.now() - held.timer_due
        held.timer, held.timer_due = None, inf
        try:
            if self.now() > self._answered_ms + AWAY_MS:
                self._set_timer(held, self.now() + WATCH_S * 1000)
            elif late_ms > LATE_MS and not held.is_excused:
                held.is_excused = True
                held.group.put_off(late_ms)
                self.carry(held.group, [])
            else:
                held.is_excused = False
                self.carry(held.group, held.group.tick(self.now()))
        except Exception:
            log.exception(BROKEN, group=held.group.name)
            self.drop(held.group, NotCoordinator("Internal error of the group coordinator."))

    # -- members -------------------------------------------------------------------------------------------------------

    async def _store(self, held: HeldGroup, changes: Changes | None) -> None:
        """Stores the changes, including those made meanwhile, and sends the answers that depend on them."""
        group = held.group
        try:
            while changes is not None:
                ready = len(held.unsent)  # they stay there until then, so that `drop` answers them
                await self._persist(group, changes)
                held.stored = Summary.of(changes)
                _send(held.unsent[:ready])
                del held.unsent[:ready]
                changes = group.take_changes()
            _send(held.unsent)
            held.unsent = []
        except NotCoordinator as error:
            log.warning("a consumer group was taken over", group=group.name, error=str(error))
            held.storing = None
            self.drop(group, error)
        except Exception:
            log.exception(BROKEN, group=group.name)
            held.storing = None
            self.drop(group, NotCoordinator("Internal error of the group coordinator."))
        finally:
            held.storing = None

    async def _persist(self, group: Group, changes: Changes) -> None:
        """Retries until it is stored.  Raises NotCoordinator."""
        pause_s = PAUSE_S
        while True:
            try:
                return await self._ownership.store(group.name, group.kind, changes)
            except NotCoordinator:
                raise
            except LedgerError as error:
                self._limited_log.failed(
                    "a change of a consumer group cannot be stored; its members wait", error, group=group.name
                )
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, PAUSE_S_MAX)

    # -- generations ---------------------------------------------------------------------------------------------------

    async def advance(self, group: Group) -> int:
        """Stores the next generation for a group that has not requested it.  Raises NotCoordinator and drops the group
        if another broker owns it.
        """
        try:
            return await self._ownership.advance(group.name, group.kind, group.generation, group.protocol_type)
        except NotCoordinator as error:
            log.warning("a consumer group was taken over", group=group.name, error=str(error))
            self.drop(group, error)
            raise

    async def _advance(self, held: HeldGroup) -> None:
        group, pause_s = held.group, PAUSE_S
        try:
            while group.wants_generation:
                try:
                    generation = await self.advance(group)
                except NotCoordinator:
                    return
                except LedgerError as error:
                    self._limited_log.failed(
                        "a generation of a consumer group cannot be stored; its members wait", error, group=group.name
                    )
                    await asyncio.sleep(pause_s)
                    pause_s = min(2 * pause_s, PAUSE_S_MAX)
                else:
                    if group.wants_generation:
                        self.carry(group, group.begin(generation, self.now()))
        except Exception:
            log.exception(BROKEN, group=group.name)
            self.drop(group, NotCoordinator("Internal error of the group coordinator."))
        finally:
            held.advancing = None

    # -- ownership -----------------------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        tidied = self._loop.time()
        while True:
            await asyncio.sleep(WATCH_S)
            try:
                await self.check_ownership()
                self._redis_answered()
                if self._loop.time() > tidied + TIDY_S:
                    tidied = self._loop.time()
                    await self._tidy()
            except Exception as error:  # noqa: BLE001 - of a mistake of ours the trace is logged
                self._limited_log.failed("the ownership of consumer groups cannot be checked, retrying", error)

    async def check_ownership(self) -> None:
        """Drops groups that other brokers own, restores state that Redis has lost, and releases groups that have been
        empty for long.  Cost: one pipelined read per group.
        """
        watched = list(self._held.items())
        owners = await self._ownership.look([name for name, _ in watched])
        for (name, held), stored in zip(watched, owners, strict=True):
            if self._held.get(name) is not held:
                continue
            try:
                if not stored.owner:
                    await self._ownership.renew(name, held.group.kind, held.group.generation)
                elif not self._ownership.is_mine(stored):
                    raise NotCoordinator(f"Group {name!r} was taken over by {stored.owner}.")
            except NotCoordinator as error:
                log.warning("a consumer group was taken over", group=name, error=str(error))
                self.drop(held.group, error)
                continue
            if stored.summary != held.stored and held.storing is None:
                held.is_lost = True
                self.carry(held.group, [])
        now = self.now()
        for held in self._held.values():
            held.idle_since = min(held.idle_since, now) if held.group.is_idle else inf
        idle = [name for name, held in self._held.items() if held.idle_since <= now - IDLE_MS]
        await asyncio.gather(*(self._leave(name) for name in idle[:IDLE_MAX]))

    async def _leave(self, name: str) -> None:
        async with self.alone(name):
            group = self.held(name)
            if group is not None and group.is_idle and self._held[name].storing is None:
                self.drop(group, NotCoordinator(f"Group {name!r} was released."))
                await self._give_up(name)

    def _redis_answered(self) -> None:
        """Extends all deadlines by the time for which Redis was unavailable."""
        now = self.now()
        away_ms, self._answered_ms = now - self._answered_ms, now
        if away_ms > AWAY_MS:
            for held in list(self._held.values()):
                held.group.put_off(away_ms)
                self.carry(held.group, [])


async def _first_of(ticket: asyncio.Future[Any], closing: asyncio.Event) -> None:
    closed = asyncio.ensure_future(closing.wait())
    try:
        await asyncio.wait({ticket, closed}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        closed.cancel()


def _send(answers: list[Reply]) -> None:
    for ticket, answer in answers:
        if not ticket.done():
            ticket.set_result(answer)
