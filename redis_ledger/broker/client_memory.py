"""What clients may hold of a broker's memory: answers that they have not read, and requests that they have half sent.

    client_bytes_max   ├──────── answers ────────┤   free   ├─ half requests ─┤      one budget, both ports
                                                              at most a half

An answer takes its bytes before its records are read, and gives them back when the client has read it.  While too
little is free, an answer is smaller or waits, and readers that have not read for DEAF_S are closed, the slowest first.
An answer that waits holds nothing, so answers do not wait for each other.

What is unpacked for answers as JSON has memory of its own, of the same kind: batches are small before they are
unpacked, and those who read such an answer must not take the memory of all others.
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

UNPACKED_BYTES = 16 << 20  # of the batches of one answer as JSON; the one that passes it is the last of the answer
UNPACKED_ANSWERS = 2  # as large as an answer may be, at a time: each also takes as much while it is read
SMALL_BYTES = 64 << 10
WAIT_S_MAX = 10.0
DEAF_S = 5.0  # a client that has not read for so long may be closed when others wait for its memory


class Reader(Protocol):
    """A connection."""

    @property
    def unread(self) -> Lease: ...

    def deaf_s(self, now: float) -> float:
        """How long the client has not read its answers; 0 when it has."""
        ...


AnyReader = TypeVar("AnyReader", bound=Reader)


class ClientMemory:
    """is_told: whether its use is in the metrics of answers and half requests."""

    def __init__(self, bytes_max: int, *, is_told: bool = True) -> None:
        self.bytes_max, self._is_told = bytes_max, is_told
        self._answers = self._requests = 0
        self.refused = 0  # requests that found no memory, ever
        if is_told:
            metrics.client_requests.set_function(lambda: self._requests)
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @property
    def free(self) -> int:
        return self.bytes_max - self._answers - self._requests

    @property
    def is_short(self) -> bool:
        """Answers wait, or there is nothing left for one."""
        return bool(self._waiting) or self.free <= 0

    def lease(self) -> Lease:
        return Lease(self)

    def too_slow(self, readers: Iterable[AnyReader], now: float) -> list[AnyReader]:
        """Those to close: while memory is short, the slowest first, until an eighth of it will be free."""
        found, missing = list[AnyReader](), self.bytes_max // 8 - self.free
        for reader in sorted(readers, key=lambda each: each.deaf_s(now), reverse=True) if self.is_short else ():
            if missing <= 0 or reader.deaf_s(now) < DEAF_S:
                break
            missing -= reader.unread.held
            found.append(reader)
        return found

    async def reserve(self, count: int) -> None:
        """Takes bytes of an answer, when they are free and those who came before have theirs.  More than there is at
        all is given when nothing else is held.  Raises ClientMemoryFull after WAIT_S_MAX."""
        count = min(count, self.bytes_max)
        if not self._waiting and count <= self.free:
            self.change(count)
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((count, turn))
        metrics.client_waits.inc()
        try:
            async with asyncio.timeout(WAIT_S_MAX):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                self.change(-count)  # it came too late
            else:
                with contextlib.suppress(ValueError):
                    self._waiting.remove((count, turn))
                self._let_in()
            if isinstance(error, TimeoutError):
                raise ClientMemoryFull from None
            raise

    async def admit(self) -> None:
        """Waits while nothing is free.  Raises ClientMemoryFull."""
        if self.is_short:
            await self.reserve(1)
            self.change(-1)

    def change(self, count: int) -> None:
        """Takes bytes of answers, or gives them back."""
        self._answers += count
        self._tell()
        if count < 0:
            self._let_in()

    def take_request(self, count: int) -> bool:
        """Takes bytes of a request that is not whole yet; False: there are none."""
        if self._requests + count > self.bytes_max // 2 or count > self.free:
            self.refused += 1
            return False
        self._requests += count
        return True

    def take_whole(self, count: int) -> bool:
        """Takes bytes of a request that has come whole, or of the rest of one; False: there are none.  Half requests
        cannot keep whole ones out, and a small one is counted and never refused."""
        if count > SMALL_BYTES and count > self.free:
            self.refused += 1
            return False
        self._requests += count
        return True

    def give_request(self, count: int) -> None:
        self._requests -= count
        self._let_in()

    def _let_in(self) -> None:
        waiting = self._waiting
        while waiting and (waiting[0][0] <= self.free or not self._answers):
            count, turn = waiting.popleft()
            if not turn.done():
                self._answers += count
                turn.set_result(None)
        self._tell()

    def _tell(self) -> None:
        if self._is_told:
            metrics.client_answers.set(self._answers)


class Lease:
    """Bytes of the answers of one connection."""

    __slots__ = ("_is_waiting", "_memory", "held")

    def __init__(self, memory: ClientMemory) -> None:
        self._memory, self._is_waiting = memory, False
        self.held = 0

    async def fit(self, sizes: Sequence[int]) -> int:
        """How many of these, from the first on, may be read now; it takes their bytes.  The first of an answer is
        waited for.  Raises ClientMemoryFull."""
        total, free = sum(sizes), self._memory.free
        if not total or (total <= free and not self._memory.is_short):
            self._take(total)
            return len(sizes)
        if self.held or self._is_waiting:  # other parts of this answer: it can do without these
            count = 0 if self._memory.is_short else _prefix(sizes, free)
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
        """Takes so many bytes instead of what it holds, when they are free.  Raises ClientMemoryFull."""
        self.hold(0)
        self._is_waiting = True
        try:
            await self._memory.reserve(count)
        finally:
            self._is_waiting = False
        self.held = min(count, self._memory.bytes_max)

    def hold(self, count: int) -> None:
        """What the answers take by now, all together."""
        if count != self.held:
            self._take(count - self.held)

    def _take(self, count: int) -> None:
        self.held += count
        self._memory.change(count)


def _prefix(sizes: Sequence[int], room: int) -> int:
    """How many from the first on fit."""
    return sum(total <= room for total in accumulate(sizes))
