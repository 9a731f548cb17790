"""Nodes of Redis that reply when a test says so, without a network, for topologies of the store."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from hiredis import ReplyError

from redis_ledger.store.address import Address
from redis_ledger.store.connection import RedisCall
from redis_ledger.store.connection_errors import Unreachable
from redis_ledger.store.watch import Watch

ROUNDS = 8  # of the event loop, until everything that a reply causes has happened


async def rest() -> None:
    for _ in range(ROUNDS):
        await asyncio.sleep(0)


class Ticks(Watch):
    """The clock of a store that stands still until the test moves it: calls may wait 10 ticks and take 20."""

    def __init__(self) -> None:
        super().__init__(timeout_ms=2_000, retry_ms=1_000)
        self.stop()
        self.retry_ticks, self.timeout_ticks = 10, 20

    def advance(self, ticks: int) -> None:
        self.tick += ticks
        for look in tuple(self.watched):
            look()


class Timers:
    """An event loop whose timers fire when the test says so.  delays: of all timers so far, in seconds."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._calls: list[Callable[[], None]] = []
        self.delays: list[float] = []

    def call_later(self, delay: float, call: Callable[[], None]) -> None:
        self.delays.append(delay)
        self._calls.append(call)

    @property
    def waiting(self) -> int:
        return len(self._calls)

    async def fire(self) -> None:
        """Ends all pauses."""
        calls, self._calls = self._calls, []
        for call in calls:
            call()
        await rest()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)


class Queue:
    """A connection: calls that were sent and have no reply yet."""

    def __init__(self) -> None:
        self.queue: deque[RedisCall] = deque()


class StubNode:
    """Takes the place of `Node`.  It is connected until `lose`.

    received  frames of all calls, in the order in which they were sent here
    waiting   calls that were sent without a connection
    """

    def __init__(
        self,
        watch: Watch,
        locate: Callable[[], Awaitable[Address]],
        conclude: Callable[[Any, RedisCall, Any], None],
        on_down: Callable[[Any], None] = lambda link: None,
        *,
        name: str,
        **rest_of_node: Any,
    ) -> None:
        self.name = name
        self.address: Address | None = None
        self.conn: Queue | None = Queue()
        self.waiting: deque[RedisCall] = deque()
        self.why: Unreachable | None = None
        self.barred: Any = None
        self.ready = asyncio.Event()
        self.received: list[bytes] = []
        self.loaded: list[str] = []
        self.resets: list[str] = []
        self.rechecks = 0
        self.is_closed = False
        self.given = rest_of_node
        self._watch, self.locate, self._conclude, self._on_down = watch, locate, conclude, on_down

    def send(self, call: RedisCall) -> None:
        if not call.tick:
            call.tick = self._watch.tick
        assert isinstance(call.frame, bytes)
        if self.conn is None:
            self.waiting.append(call)
            return
        self.received.append(call.frame)
        self.conn.queue.append(call)

    def fence(self, done: Callable[[], None]) -> None:
        last = self.waiting or (self.conn.queue if self.conn is not None else None)
        if last:
            last[-1].fences += (done,)
        else:
            asyncio.get_running_loop().call_soon(done)

    def leave(self, call: RedisCall) -> None:
        fences, call.fences = call.fences, ()
        for fence in fences:
            asyncio.get_running_loop().call_soon(fence)

    def load_scripts(self, missing: str) -> asyncio.Future[Any]:
        self.loaded.append(missing)
        loaded: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        loaded.set_result(b"OK")
        return loaded

    async def reply(self, *replies: object) -> None:
        """Replies to the calls in flight, oldest first: text is an error."""
        assert self.conn is not None
        for reply in replies:
            call = self.conn.queue.popleft()
            self._conclude(self, call, ReplyError(reply) if isinstance(reply, str) else reply)
            self.leave(call)
        await rest()

    def lose(self) -> None:
        """The connection breaks: calls in flight wait for the next one."""
        assert self.conn is not None
        self.waiting.extend(self.conn.queue)
        self.conn = None
        self._on_down(self)

    def strand(self) -> deque[RedisCall]:
        waiting, self.waiting = self.waiting, deque()
        return waiting

    def under_way(self) -> Sequence[RedisCall]:
        return tuple(self.conn.queue) if self.conn is not None else ()

    def silence(self) -> Unreachable:
        return Unreachable("it does not reply")

    def reset(self, why: Exception) -> None:
        self.resets.append(str(why))

    def bar(self, why: Any, *, is_readable: bool) -> None:
        self.barred = why

    def recheck(self) -> None:
        self.rechecks += 1

    async def close(self) -> None:
        self.is_closed = True


def call_of(name: str, slot: int = -1, *, apart: bool = False) -> RedisCall:
    """A call whose frame is its name."""
    call = RedisCall(asyncio.get_running_loop().create_future(), name.encode(), slot, True)
    call.apart = apart
    return call


def error_of(call: RedisCall) -> str:
    """The class and the text of the error of a call that failed."""
    error = call.future.exception()
    assert error is not None
    return f"{type(error).__name__}: {error}"
