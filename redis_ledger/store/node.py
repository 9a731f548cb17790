"""One node of Redis: it exists as long as the store, through any number of connections.

    send ─▶ connection, while there is one          broken ─▶ written, retry=False  ─▶ OutcomeUnknown
         └▶ waiting, while there is none                      written, retry=True   ─▶ waiting, in the old order
                                                              not written           ─▶ waiting
    waiting longer than retry_ms: never written ─▶ StoreUnavailable,  written ─▶ StoreTimeout

Reconnecting backs off to BACKOFF_S_MAX with jitter.  Time is counted in ticks of one `Watch` per store, so that a call
needs no timer.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any

from hiredis import HiredisError, ReplyError

from redis_ledger.errors import LedgerError, OutcomeUnknown, StoreTimeout, StoreUnavailable
from redis_ledger.store.address import Address
from redis_ledger.store.commands import ADMINISTRATION, READS, first_word
from redis_ledger.store.connection import (
    ALONE,
    NEVER,
    Connection,
    RedisCall,
    ask,
    dial,
    fail_all,
    pack,
    settle,
)
from redis_ledger.store.connection_errors import Unreachable, explain
from redis_ledger.store.group_commit import Turnstile
from redis_ledger.store.inspection import Inspection, greet
from redis_ledger.store.replication import ReplicationBarrier
from redis_ledger.store.replication_info import ReplicationInfo, parse_replication
from redis_ledger.store.script_calls import ScriptCalls, loads, refusal
from redis_ledger.store.server_time import ServerTime
from redis_ledger.store.watch import Watch

BACKOFF_S_MIN, BACKOFF_S_MAX = 0.02, 0.5
GROUPED_ITEMS_MAX = 64  # of all group commits in flight to a node


class Node:
    """locate     returns the node's address; called before every attempt to connect (a failover may have changed it)
    conclude   gets every reply that is an error or ends a unit
    on_down    called after every failed attempt and every break
    primary    whether a replica at that address is refused now
    inspection checks a new connection before its first call
    scripts    how scripts are called; loaded on a new connection
    open_barrier  creates the barrier of a new connection; None: replies do not wait for replicas
    """

    def __init__(
        self,
        watch: Watch,
        locate: Callable[[], Awaitable[Address]],
        conclude: Callable[[Node, RedisCall, Any], None],
        on_down: Callable[[Node], None] = lambda link: None,
        *,
        name: str,
        primary: Callable[[], bool],
        inspection: Inspection[Node],
        scripts: ScriptCalls,
        open_barrier: Callable[[Node, Connection, Address, ReplicationInfo], ReplicationBarrier] | None = None,
    ) -> None:
        self.name = name
        self.address: Address | None = None
        self.conn: Connection | None = None
        self.waiting: deque[RedisCall] = deque()
        self.why: Unreachable | None = None  # why the last attempt failed
        self.barred: LedgerError | None = None  # why writes are refused
        self.barrier: ReplicationBarrier | None = None
        self.is_readable = True
        self.on_moved: list[Callable[[], None]] = []  # called when the node is found at another address
        self.turnstile = Turnstile(GROUPED_ITEMS_MAX)
        self.ready = asyncio.Event()
        self.time = ServerTime(watch.waits_ms)
        self._watch = watch
        self.locate, self._conclude, self._on_down, self._primary = locate, conclude, on_down, primary
        self._inspection, self._open_barrier, self._scripts = inspection, open_barrier, scripts
        self._may_refuse = open_barrier is not None
        self._paused: Connection | None = None  # a connection whose calls wait until `recheck` is over
        self._rechecks: asyncio.Task[None] | None = None
        self._tried: Address | None = None
        self._broke = asyncio.Event()
        self._closed = False
        watch.watched.append(self.look)
        self._task = asyncio.get_running_loop().create_task(self._stay_connected())

    # Sending

    @property
    def writes_at_once(self) -> bool:
        """Whether a write is sent now, and not refused or kept until there is a connection."""
        return self.conn is not None and self.barred is None

    def send(self, call: RedisCall) -> None:
        watch = self._watch
        if not call.tick:
            call.tick = watch.tick
        if self._may_refuse and (refusal := self._refusal(call)) is not None:
            call.fail(refusal)
            self.leave(call)
            return
        conn = self.conn
        if conn is not None:
            conn.send(call)
            return
        if call.give_up == NEVER:
            call.give_up = watch.tick + watch.retry_ticks
        self.waiting.append(call)

    def bar(self, why: LedgerError | None, *, is_readable: bool) -> None:
        """Refuses writes, and reads unless is_readable, until it is called with None.  Calls that wait for a
        connection are refused as well; calls in flight are not."""
        self.barred, self.is_readable = why, is_readable
        self._may_refuse = why is not None or self._open_barrier is not None
        if why is not None:
            waiting, self.waiting = self.waiting, deque()
            for call in waiting:
                self.send(call)

    def _refusal(self, call: RedisCall) -> LedgerError | None:
        """Returns why the call is not sent."""
        if self.barred is not None:
            word = first_word(call.frame)
            if word not in ADMINISTRATION and not (self.is_readable and word in READS):
                return self.barred
        barrier = self.barrier
        if barrier is None:
            return None
        if call.in_sync != ALONE:
            call.plain = False  # its reply goes through `_take_reply`
        return barrier.refusal(call)

    async def ask(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """Sends commands although the node is barred, and returns their replies; errors are values."""
        conn = self.conn
        if conn is None:
            return [self._unreachable()] * len(commands)
        futures = []
        for command in commands:
            call = RedisCall(asyncio.get_running_loop().create_future(), pack(command), -1, True)
            call.tick = self._watch.tick
            futures.append(call.future)
            conn.send(call)
        return await asyncio.gather(*futures, return_exceptions=True)

    def fence(self, done: Callable[[], None]) -> None:
        """Calls `done` after all calls issued so far were answered, refused, failed or moved elsewhere."""
        conn = self.conn or self._paused
        last = self.waiting or (conn.queue if conn is not None else None)
        if not last:
            asyncio.get_running_loop().call_soon(done)
            return
        last[-1].plain = False
        last[-1].fences += (done,)

    def load_scripts(self, missing: str) -> asyncio.Future[Any]:
        """Loads every script or library, before the next call.  missing: the error of a call."""
        loop = asyncio.get_running_loop()
        last: asyncio.Future[Any] = loop.create_future()
        for command in loads(missing):
            last = loop.create_future()
            last.add_done_callback(self._loaded)
            call = RedisCall(last, pack(command), -1, True)
            call.in_sync = ALONE
            self.send(call)
        return last

    def _loaded(self, future: asyncio.Future[Any]) -> None:
        error = None if future.cancelled() else future.exception()
        if self._scripts.uses_functions and (why := refusal(error)):
            self._scripts.note(self, self.name, why)

    # Time

    def look(self) -> None:
        """Runs on every tick.  Cost: O(calls in flight)."""
        tick, watch, conn = self._watch.tick, self._watch, self.conn
        oldest = tick - watch.timeout_ticks
        watch.pauses.look(self, is_silent=conn is None or (conn.sent > 0 and not conn.heard))
        self.time.look(conn, tick)
        if conn is None:
            self._thin_out(tick, oldest)
            return
        for place, call in enumerate(conn.queue):
            if call.tick <= oldest and not call.future.done():
                call.fail(self.expired(call, written=place < conn.sent))
        if conn.heard or not conn.sent:
            conn.heard, conn.silent_ticks = False, 0
            return
        # One and a half times the timeout of a call: a server that is only slow keeps its connection, and its late
        # replies match their calls.
        conn.silent_ticks += 1
        if conn.silent_ticks >= watch.timeout_ticks * 3 // 2:
            conn.abort(TimeoutError("it has not replied for too long"))

    def _thin_out(self, tick: int, oldest: int) -> None:
        kept: deque[RedisCall] = deque()
        for call in self.waiting:
            if tick >= call.give_up or call.tick <= oldest:
                call.fail(self.expired(call, written=False))
            if call.future.done():
                self.leave(call)
            else:
                kept.append(call)
        self.waiting = kept

    def expired(self, call: RedisCall, *, written: bool) -> LedgerError:
        if not (written or call.written):
            return self._unreachable()
        if call.retry:
            return StoreTimeout(f"Redis at {self.name} did not answer within {self._watch.timeout_ms} ms.")
        return OutcomeUnknown(f"Redis at {self.name} did not answer in time; the write may or may not have happened.")

    def silence(self) -> Unreachable:
        """Returns why there is no connection while the first attempt is still running."""
        return explain(TimeoutError(), self._tried)

    def _unreachable(self) -> LedgerError:
        why = self.why.reason if self.why is not None else "no connection yet"
        return StoreUnavailable(f"Redis at {self.name} cannot be reached: {why}.")

    # Connecting

    async def _stay_connected(self) -> None:
        attempt = 0
        while not self._closed:
            try:
                await self._connect()
            except (OSError, ValueError, HiredisError, LedgerError) as error:  # a host name can be a ValueError
                self.why = explain(error, self._tried)
                attempt += 1
                self._on_down(self)
                pause_s = min(BACKOFF_S_MAX, BACKOFF_S_MIN * 2 ** min(attempt, 16))
                await asyncio.sleep(pause_s * random.uniform(0.5, 1.0))
            else:
                attempt = 0
                await self._broke.wait()

    async def _connect(self) -> None:
        async with asyncio.timeout(self._connect_s_max()):
            self._tried = None
            self._tried = address = await self.locate()
            conn = await dial(address, lambda: Connection(settle, self._lost))
            try:
                await greet(conn, address, self, self._inspection, self._scripts, primary_only=self._primary)
                barrier = await self._barrier(conn, address)
                await self._inspection.compare(self, partial(ask, conn), within_s=self._connect_s_max() / 2)
                # The last reply and the end of the connection may have arrived together.
                if not conn.is_open:
                    raise ConnectionError("the connection broke while it was being opened")
            except BaseException:
                conn.close()
                raise
        has_moved = self.address is not None and address.name != self.address.name
        self.address, self.name = address, address.name
        self.why = None
        self._broke.clear()
        conn.conclude = partial(self._conclude, self) if barrier is None else partial(self._take_reply, barrier)
        self.barrier = barrier
        self._resume(conn)
        self.ready.set()
        for call in self.on_moved if has_moved else ():
            call()

    def _resume(self, conn: Connection) -> None:
        self.conn = conn
        waiting, self.waiting = self.waiting, deque()
        for call in waiting:
            if call.future.done():
                self.leave(call)
            else:
                self.send(call)

    def recheck(self) -> None:
        """Compares the node's data as on a new connection.  New calls wait for it; calls in flight are answered."""
        conn = self.conn
        if conn is None:
            return  # the next connection is compared
        self.conn, self._paused = None, conn
        self._rechecks = asyncio.get_running_loop().create_task(self._recheck(conn))

    async def _recheck(self, conn: Connection) -> None:
        try:
            async with asyncio.timeout(self._connect_s_max()):
                await self._inspection.compare(self, partial(ask, conn), within_s=0.0)
        except (OSError, HiredisError, LedgerError) as error:
            conn.abort(error)
        finally:
            if self._paused is conn and conn.is_open:  # else `_lost` has it, or will
                self._paused = None
                self._resume(conn)

    def _connect_s_max(self) -> float:
        return max(0.2, min(self._watch.timeout_ms, self._watch.retry_ms) / 1000)

    async def _barrier(self, conn: Connection, address: Address) -> ReplicationBarrier | None:
        if self._open_barrier is None:
            return None
        (info,) = await ask(conn, [(b"INFO", b"replication")])
        return self._open_barrier(self, conn, address, parse_replication(info))

    def _take_reply(self, barrier: ReplicationBarrier, call: RedisCall, reply: Any) -> None:
        if isinstance(reply, ReplyError):  # an error acknowledges nothing
            self._conclude(self, call, reply)
        else:
            barrier.hold(call, reply)

    # Disconnecting

    def _lost(self, conn: Connection, why: Exception | None) -> None:
        error = ConnectionError(f"the connection broke: {why}" if why else "the connection was closed by the server")
        if conn is not self.conn and conn is not self._paused:
            fail_all(conn, why)
            return
        self.conn = self._paused = None
        self.why = Unreachable(str(error))
        self.ready.clear()
        watch = self._watch
        held = self._held()
        for place, call in enumerate(chain(held, conn.queue), -len(held)):
            if place < conn.sent:
                call.written = True
                if not call.retry:
                    call.fail(OutcomeUnknown(f"Redis at {self.name}: {error}; the write may or may not have happened."))
            if call.future.done():
                self.leave(call)
                continue
            if call.replies > 1:
                call.got.clear()
            if call.give_up == NEVER:
                call.give_up = watch.tick + watch.retry_ticks
            self.waiting.append(call)
        self._broke.set()
        self._on_down(self)

    def _held(self) -> list[RedisCall]:
        """Ends the barrier.  Returns the calls whose replies it held: Redis has executed them."""
        barrier, self.barrier = self.barrier, None
        return [] if barrier is None else barrier.close()

    def leave(self, call: RedisCall) -> None:
        fences, call.fences = call.fences, ()
        for fence in fences:
            asyncio.get_running_loop().call_soon(fence)

    def reset(self, why: Exception) -> None:
        """Breaks the connection so that the node is located and greeted again."""
        conn = self.conn or self._paused
        if conn is not None:
            conn.abort(why)

    def under_way(self) -> Sequence[RedisCall]:
        """Returns the calls in flight, and those about to be sent."""
        conn = self.conn or self._paused
        return tuple(conn.queue) if conn is not None else ()

    def strand(self) -> deque[RedisCall]:
        """Removes and returns the calls that wait for a connection, in order, for another link."""
        waiting, self.waiting = self.waiting, deque()
        return waiting

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._watch.watched.remove(self.look)
        self._watch.pauses.forget(self)
        self._task.cancel()
        if self._rechecks is not None:
            self._rechecks.cancel()
        conn, self.conn, self._paused = self.conn or self._paused, None, None
        held = self._held()
        for call in held:
            call.written = True
        calls = [*held, *self.waiting]
        if conn is not None:
            for place, call in enumerate(conn.queue):
                call.written |= place < conn.sent
            calls += conn.queue
            conn.close()
        self.waiting.clear()
        for call in calls:
            if call.written:
                error = StoreTimeout if call.retry else OutcomeUnknown
                call.fail(error("the store was closed before Redis answered."))
            else:
                call.fail(StoreUnavailable("the store is closed."))
            self.leave(call)
        await asyncio.gather(self._task, return_exceptions=True)
