"""A store whose calls to Redis can be held: the broker stands still there, as one that is paused, while others go on.

    arm(operation 7, number 2, "before")    calls of 7:   1 ──▶ Redis    2 ┃ held, and all calls of the broker after it
    arm(operation 7, number 2, "after")     calls of 7:   1 ──▶ Redis    2 ──▶ Redis ──▶ reply ┃ held, and all after it
    release()                               everything goes on, in its order

The order of a broker's calls stays what it was, since the product relies on it.  CURRENT is the operation that a
request belongs to; what it starts in the background belongs to it as well.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import Any, Literal

from redis_ledger.errors import StoreUnavailable
from redis_ledger.store.connection import RedisCall
from redis_ledger.store.store import Store

CURRENT: ContextVar[str] = ContextVar("current", default="")
When = Literal["before", "after"]


class HeldStore(Store):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._send_now = self._send
        self._send = self._send_or_hold
        self._operation, self._number, self._when = "", 0, ""
        self._queue: list[tuple[int, RedisCall]] = []
        self._reply: tuple[asyncio.Future[Any], asyncio.Future[Any]] | None = None
        self.is_held = False
        self.held = asyncio.Event()
        self.calls = 0

    def arm(self, operation: str, number: int, when: When) -> None:
        """Holds at this call, from 1, of the operation."""
        self._operation, self._number, self._when, self.calls = operation, number, when, 0
        self.held.clear()

    def _send_or_hold(self, slot: int, call: RedisCall) -> None:
        if self.is_held:
            self._queue.append((slot, call))
            return
        if self._operation and CURRENT.get() == self._operation:
            self.calls += 1
            if self.calls == self._number:
                self._operation = ""
                self._hold(slot, call)
                return
        self._send_now(slot, call)

    def _hold(self, slot: int, call: RedisCall) -> None:
        self.is_held = True
        if self._when == "before":
            self._queue.append((slot, call))
            self.held.set()
            return
        outer, inner = call.future, asyncio.get_running_loop().create_future()
        call.future, self._reply = inner, (outer, inner)
        inner.add_done_callback(lambda _: self.held.set())
        self._send_now(slot, call)

    def disarm(self) -> None:
        """The operation ended before it made so many calls."""
        self._operation = ""

    def drop(self) -> None:
        """The broker dies: what was held is never sent."""
        lost = [call.future for _, call in self._queue] + ([self._reply[0]] if self._reply is not None else [])
        self._queue, self._reply, self.is_held = [], None, False
        for future in lost:
            if not future.done():
                future.set_exception(StoreUnavailable("The broker is dead."))
                future.exception()

    def release(self) -> None:
        if not self.is_held:
            return
        self.is_held, queue, self._queue = False, self._queue, []
        if self._reply is not None:
            outer, inner = self._reply
            self._reply = None
            inner.add_done_callback(lambda done: _copy(done, outer))
        for slot, call in queue:
            self._send_now(slot, call)


def _copy(done: asyncio.Future[Any], outer: asyncio.Future[Any]) -> None:
    if outer.done() or done.cancelled():
        outer.cancel()
    elif (error := done.exception()) is not None:
        outer.set_exception(error)
    else:
        outer.set_result(done.result())
