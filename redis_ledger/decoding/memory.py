"""The memory that all requests of a broker share for unpacked batches.

    decoded_bytes_max   ├──── batches of requests in progress ────┤   free        first come, first served

A request takes the bytes of a batch before it is unpacked, and returns them when it ends.  One that holds none waits
for them, WAIT_S_MAX at most.  One that holds some does not wait: its answer ends where it is.  So no two requests wait
for each other.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque

from redis_ledger.errors import DecodingBusy
from redis_ledger.telemetry import metrics

WAIT_S_MAX = 10.0


class DecodingMemory:
    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.taken = 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    def take_now(self, count: int) -> bool:
        """Takes bytes if they are free and no request waits.  More than there is at all counts as all."""
        if self._waiting or self.taken + min(count, self.bytes_max) > self.bytes_max:
            return False
        self.taken += min(count, self.bytes_max)
        return True

    async def take(self, count: int) -> None:
        """As take_now, but waits for them.  Raises DecodingBusy after WAIT_S_MAX."""
        if self.take_now(count):
            return
        count = min(count, self.bytes_max)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((count, turn))
        metrics.decoding_waits.inc()
        try:
            async with asyncio.timeout(WAIT_S_MAX):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                self.give(count)  # it came too late
            else:
                with contextlib.suppress(ValueError):
                    self._waiting.remove((count, turn))
                self._let_in()
            if isinstance(error, TimeoutError):
                raise DecodingBusy(decoded_bytes_max=self.bytes_max) from None
            raise

    def give(self, count: int) -> None:
        """Returns bytes."""
        self.taken -= count
        self._let_in()

    def _let_in(self) -> None:
        while self._waiting and self.taken + self._waiting[0][0] <= self.bytes_max:
            count, turn = self._waiting.popleft()
            if not turn.done():
                self.taken += count
                turn.set_result(None)
