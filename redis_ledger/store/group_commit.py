"""Group commit: items that arrive while a call is in flight share the next call.

    arrivals   a   b c   d e f        one call in flight at a time, so nothing overtakes
    calls      |-a-| |-b,c-| |-d,e,f-|

This is PIP-160's batch with its three thresholds (items, bytes, delay), without a timer: a single item is sent at the
end of the event-loop tick, and batches grow with the load.  An item without a waiter may be delayed a little
(`add(..., lazy=True)`) to share a call with others, until they are enough for a call.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from redis_ledger.errors import StoreUnavailable

T = TypeVar("T")
Trigger = Literal["records", "bytes", "delay", "large", "alone", "idle"]


def trigger_of(
    items: int, size: int, following: int | None, *, items_max: int, bytes_max: int, is_late: bool
) -> Trigger:
    """Why a call has these items and no more.

    following   size of the first item that is left for another call; None: there is none
    is_late     the call waited for the delay of a lazy item
    """
    if items == 1 and size >= bytes_max:
        return "alone"
    if items >= items_max:
        return "records"
    if following is not None:
        return "large" if following >= bytes_max else "bytes"
    if size >= bytes_max:
        return "bytes"
    return "delay" if is_late else "idle"


class Turnstile:
    """Bounds the group commits in flight at one node: calls of at most `items_max` items together, or one larger call
    alone.  Waiting groups go in turn, with all items they have by then.

    Redis sends the replies to one write after its last command.  If every group were sent in the same tick, broker and
    Redis would work alternately, each waiting for the other.  With the bound Redis executes one part while the broker
    processes the replies of another.
    """

    __slots__ = ("_items_max", "_queue", "_under_way")

    def __init__(self, items_max: int) -> None:
        self._items_max = items_max
        self._under_way = 0
        self._queue: deque[tuple[int, Callable[[], None]]] = deque()

    def enter(self, items: int, go: Callable[[], None]) -> None:
        """Calls `go`, now or at its turn; leave(items) must follow."""
        if self._queue or (self._under_way and self._under_way + items > self._items_max):
            self._queue.append((items, go))
        else:
            self._under_way += items
            go()

    def leave(self, items: int, *, is_away: bool = False) -> None:
        """is_away: the node could not be reached.  Then all waiting groups go, so that they fail at once."""
        self._under_way -= items
        while self._queue and (
            is_away or not self._under_way or self._under_way + self._queue[0][0] <= self._items_max
        ):
            items, go = self._queue.popleft()
            self._under_way += items
            go()


class Thresholds(NamedTuple):
    """Of one call.  A single item above bytes_max is sent alone.  lazy_ms: how long a lazy item may wait for others."""

    items_max: int
    bytes_max: int
    lazy_ms: float = 1


class GroupCommit(Generic[T]):
    """send(items) starts one call and returns its future; settle(items, future) is called after it.

    items_max, bytes_max   thresholds of one call; a single item above bytes_max is sent alone
    lazy_ms                how long a lazy item may wait for others
    puts_back              whether settle may put items of this call back: then no call is sent before it has
    on_flush               called with the items of each call, their size and what triggered it, before it is sent
    turnstile              returns the turnstile of the node that the call goes to; called each time
    """

    __slots__ = ("_busy", "_busy_since_s", "_bytes_max", "_is_late", "_items_max", "_lazy", "_lazy_bytes", "_lazy_s",
                 "_loop", "_on_flush", "_puts_back", "_scheduled", "_send", "_settle", "_sizes", "_turnstile",
                 "_unsettled", "_waiting")  # fmt: skip

    def __init__(
        self,
        send: Callable[[list[T]], asyncio.Future[Any]],
        settle: Callable[[list[T], asyncio.Future[Any]], None],
        *,
        items_max: int = 128,
        bytes_max: int = 1 << 62,
        lazy_ms: float = 1,
        turnstile: Callable[[], Turnstile] | None = None,
        puts_back: Callable[[list[T], asyncio.Future[Any]], bool] | None = None,
        on_flush: Callable[[list[T], int, Trigger], None] | None = None,
    ) -> None:
        self._send = send
        self._settle = settle
        self._items_max = items_max
        self._bytes_max = bytes_max
        self._lazy_s = lazy_ms / 1000
        self._waiting: deque[T] = deque()
        self._sizes: deque[int] = deque()
        alone = Turnstile(items_max)
        self._turnstile = turnstile or (lambda: alone)
        self._puts_back = puts_back
        self._on_flush = on_flush
        self._is_late = False
        self._busy = False
        self._busy_since_s = 0.0
        self._scheduled = False
        self._lazy: asyncio.TimerHandle | None = None
        self._lazy_bytes = 0
        self._unsettled: tuple[list[T], asyncio.Future[Any]] | None = None  # a call whose callers have not resumed
        self._loop = asyncio.get_running_loop()

    def __len__(self) -> int:
        return len(self._waiting)

    def limit(self, thresholds: Thresholds) -> None:
        """Changes the thresholds, from the next call on."""
        self._items_max, self._bytes_max, lazy_ms = thresholds
        self._lazy_s = lazy_ms / 1000

    @property
    def is_idle(self) -> bool:
        return not self._waiting and not self._busy and self._unsettled is None

    @property
    def busy_s(self) -> float:
        """How long the call that is under way has taken, its wait at the turnstile included; 0 if none is."""
        return self._loop.time() - self._busy_since_s if self._busy else 0.0

    def add(self, item: T, size: int = 0, *, lazy: bool = False) -> None:
        self._waiting.append(item)
        self._sizes.append(size)
        if self._busy or self._scheduled:
            return
        if not lazy:
            self._schedule()
            return
        if self._lazy is None:
            self._lazy, self._lazy_bytes = self._loop.call_later(self._lazy_s, self._schedule_late), 0
        self._lazy_bytes += size
        if len(self._waiting) >= self._items_max or self._lazy_bytes >= self._bytes_max:
            self._schedule()

    def put_back(self, items: Sequence[T], sizes: Sequence[int]) -> None:
        """Puts refused items back in front of all others, in their order."""
        self._waiting.extendleft(reversed(items))
        self._sizes.extendleft(reversed(sizes))
        if not self._busy:
            self._schedule()

    def _schedule(self) -> None:
        if not self._scheduled and not self._busy:
            self._scheduled = True
            self._loop.call_soon(self._flush)

    def _schedule_late(self) -> None:
        self._is_late = True
        self._schedule()

    def _flush(self) -> None:
        self._scheduled = False
        if self._lazy is not None:
            self._lazy.cancel()
            self._lazy = None
        if not self._busy and self._waiting:
            self._busy, self._busy_since_s = True, self._loop.time()
            turnstile, size = self._turnstile(), min(len(self._waiting), self._items_max)
            turnstile.enter(size, partial(self._go, turnstile, size))

    def _go(self, turnstile: Turnstile, entered: int) -> None:
        items: list[T] = []
        total = 0
        while self._waiting and len(items) < self._items_max:
            size = self._sizes[0]
            if items and total + size > self._bytes_max:
                break
            total += size
            self._sizes.popleft()
            items.append(self._waiting.popleft())
        if self._on_flush is not None:
            following, is_late, self._is_late = self._sizes[0] if self._sizes else None, self._is_late, False
            trigger = trigger_of(
                len(items), total, following, items_max=self._items_max, bytes_max=self._bytes_max, is_late=is_late
            )
            self._on_flush(items, total, trigger)
        try:
            future = self._send(items)
        except Exception as error:  # noqa: BLE001 - a failure to start is reported like a failure of the call
            future = self._loop.create_future()
            future.set_exception(error)
        future.add_done_callback(partial(self._over, items, turnstile, entered))

    def _over(self, items: list[T], turnstile: Turnstile, entered: int, future: asyncio.Future[Any]) -> None:
        try:
            self._resume()  # callers of the call before: this one failed at once
        finally:
            self._next(items, turnstile, entered, future)

    def _next(self, items: list[T], turnstile: Turnstile, entered: int, future: asyncio.Future[Any]) -> None:
        # Send waiting items before the callers resume, so that Redis works meanwhile.  Not if settle may put items
        # back: nothing may overtake those.
        self._busy = False
        is_away = not future.cancelled() and isinstance(future.exception(), StoreUnavailable)
        if is_away:  # it took as long as any caller should wait, also for items that came later
            items = [*items, *self._waiting]
            self._waiting.clear()
            self._sizes.clear()
        turnstile.leave(entered, is_away=is_away)
        self._unsettled = items, future
        if self._puts_back is not None and self._puts_back(items, future):
            self._resume()
            return
        if self._waiting:
            self._flush()
        # Behind the write to the connection.  Also if nothing waits, so that all groups settle in the order of their
        # replies: the tail cache restarts at a marker that comes before the records below it.
        self._loop.call_soon(self._resume)

    def _resume(self) -> None:
        unsettled, self._unsettled = self._unsettled, None
        if unsettled is None:
            return
        try:
            self._settle(*unsettled)
        finally:
            if self._waiting:
                self._schedule()
