"""Limits the memory that clients occupy: answers that they have not read, and requests that they have sent in part.

    client_bytes_max   ├──────── answers ────────┤   free   ├─ partial requests ─┤      one budget, both ports
                                                              at most a half

An answer reserves its bytes before its records are read, and returns them when the client has read it.  While too
little is free, answers are smaller or wait, and clients that have not read for UNREAD_S_MAX are disconnected,
the slowest first.  A waiting answer holds nothing, so answers do not wait for each other.

Batches decoded for JSON answers have a budget of their own: they are small before they are decoded, and readers of such
answers must not use up the memory of all others.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Protocol, TypeVar

from redis_ledger.errors import ClientMemoryFull
from redis_ledger.telemetry import metrics

DECODED_BYTES_MAX = 16 << 20  # of one JSON answer; the batch that exceeds it is the last of the answer
DECODED_ANSWERS = 2  # of the largest size at a time: each also takes as much while it is read
SMALL_BYTES = 64 << 10
WAIT_S_MAX = 10.0
UNREAD_S_MAX = 5.0  # a client that has not read for this long may be disconnected while others wait for memory


class Reader(Protocol):
    """A connection."""

    @property
    def unread(self) -> Lease: ...

    def unread_s(self, now: float) -> float:
        """Seconds since the client last read, while it has answers to read; else 0."""
        ...


AnyReader = TypeVar("AnyReader", bound=Reader)


class ClientMemory:
    """has_metrics: whether its use is exported as metrics."""

    def __init__(self, bytes_max: int, *, has_metrics: bool = True) -> None:
        self.bytes_max = bytes_max
        self._answers = self._requests = 0
        self.refused = 0  # requests refused for lack of memory
        if has_metrics:
            metrics.client_answers.set_function(lambda: self._answers)
            metrics.client_requests.set_function(lambda: self._requests)
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @property
    def free(self) -> int:
        return self.bytes_max - self._answers - self._requests

    @property
    def is_short(self) -> bool:
        """Whether answers wait or nothing is free."""
        return bool(self._waiting) or self.free <= 0

    def lease(self) -> Lease:
        return Lease(self)

    def too_slow(self, readers: Iterable[AnyReader], now: float) -> list[AnyReader]:
        """The readers to disconnect while memory is short: the slowest first, until an eighth of it will be free."""
        found, missing = list[AnyReader](), self.bytes_max // 8 - self.free
        for reader in sorted(readers, key=lambda each: each.unread_s(now), reverse=True) if self.is_short else ():
            if missing <= 0 or reader.unread_s(now) < UNREAD_S_MAX:
                break
            missing -= reader.unread.held
            found.append(reader)
        return found

    async def reserve(self, count: int) -> None:
        """Waits to take bytes for an answer, capped at bytes_max.  Raises ClientMemoryFull after WAIT_S_MAX."""
        count = min(count, self.bytes_max)
        if self.take_now(count):
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((count, turn))
        metrics.client_waits.inc()
        try:
            async with asyncio.timeout(WAIT_S_MAX):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                self.change(-count)  # granted too late
            else:
                with contextlib.suppress(ValueError):
                    self._waiting.remove((count, turn))
                self._grant()
            if isinstance(error, TimeoutError):
                raise ClientMemoryFull from None
            raise

    def take_now(self, count: int) -> bool:
        """Takes bytes for an answer; returns False if they are not free or other answers wait."""
        if self._waiting or count > self.free:
            return False
        self._answers += count
        return True

    async def admit(self) -> None:
        """Waits while nothing is free.  Raises ClientMemoryFull."""
        if self.is_short:
            await self.reserve(1)
            self.change(-1)

    def change(self, count: int) -> None:
        """Takes bytes for answers, or returns them (negative)."""
        self._answers += count
        if count < 0:
            self._grant()

    def take_request(self, count: int) -> bool:
        """Takes bytes for a partial request; returns False if there are none."""
        if self._requests + count > self.bytes_max // 2 or count > self.free:
            self.refused += 1
            return False
        self._requests += count
        return True

    def take_whole(self, count: int) -> bool:
        """Takes bytes for a complete request; returns False if there are none.  Partial requests cannot use up its
        share, and a small one is never refused."""
        if count > SMALL_BYTES and count > self.free:
            self.refused += 1
            return False
        self._requests += count
        return True

    def give_request(self, count: int) -> None:
        self._requests -= count
        self._grant()

    def _grant(self) -> None:
        waiting = self._waiting
        while waiting and (waiting[0][0] <= self.free or not self._answers):
            count, turn = waiting.popleft()
            if not turn.done():
                self._answers += count
                turn.set_result(None)


class Lease:
    """The bytes of one connection's answers."""

    __slots__ = ("_is_waiting", "_memory", "held")

    def __init__(self, memory: ClientMemory) -> None:
        self._memory, self._is_waiting = memory, False
        self.held = 0

    async def fit(self, sizes: Sequence[int]) -> int:
        """Takes bytes for as many of the first sizes as are free, and returns how many.  Waits for the first of an
        answer.  Raises ClientMemoryFull."""
        total = sum(sizes)
        if not total or self._memory.take_now(total):
            self.held += total
            return len(sizes)
        if self.held or self._is_waiting:  # the answer has other parts, so these can be left out
            count = 0 if self._memory.is_short else _prefix(sizes, self._memory.free)
            self._take(sum(sizes[:count]))
            return count
        least = next((at + 1 for at, size in enumerate(sizes) if size), len(sizes))
        self._is_waiting = True
        try:
            await self._memory.reserve(first := sum(sizes[:least]))
        finally:
            self._is_waiting = False
        self.held += min(first, self._memory.bytes_max)
        more = 0 if self._memory.is_short else _prefix(sizes[least:], self._memory.free)
        self._take(sum(sizes[least : least + more]))
        return least + more

    async def instead(self, count: int) -> None:
        """Replaces what it holds by `count` bytes, once they are free.  Raises ClientMemoryFull."""
        self.hold(0)
        self._is_waiting = True
        try:
            await self._memory.reserve(count)
        finally:
            self._is_waiting = False
        self.held = min(count, self._memory.bytes_max)

    def hold(self, count: int) -> None:
        """Sets the bytes of all answers together."""
        if count != self.held:
            self._take(count - self.held)

    def _take(self, count: int) -> None:
        self.held += count
        self._memory.change(count)


def _prefix(sizes: Sequence[int], room: int) -> int:
    """The number of first sizes that fit."""
    return sum(total <= room for total in accumulate(sizes))
