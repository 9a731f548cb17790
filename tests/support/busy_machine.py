"""How much of a test's time a busy machine took, so that upper limits on times hold on any machine.

    async with busy_machine(broker) as machine:
        ...
    assert took_s < 1.0 + machine.lost_s

A task sleeps for ten milliseconds and sends PING to Redis, again and again.  What such a turn takes beyond `TURN_S`,
the test did not get.  On an idle machine that is next to nothing, so that a limit keeps its meaning.

    async with within(1.0):
        ...

is `asyncio.timeout(1.0)` that counts in the same way.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable
from typing import TypeVar

from redis_ledger.broker.broker import Broker

TURN_S = 0.02
T = TypeVar("T")


class BusyMachine:
    def __init__(self, broker: Broker | None) -> None:
        self._broker = broker
        self._earlier_s = 0.0
        self._began_s = time.monotonic()

    @property
    def lost_s(self) -> float:
        """With what the present turn has lost: after a stall, the test may run before this task does."""
        return self._earlier_s + max(0.0, time.monotonic() - self._began_s - TURN_S)

    async def measure(self) -> None:
        while True:
            self._began_s = time.monotonic()
            await asyncio.sleep(0.01)  # what is measured
            if self._broker is not None:
                await self._broker.store.command("PING")
            self._earlier_s = self.lost_s


@contextlib.asynccontextmanager
async def busy_machine(broker: Broker | None = None) -> AsyncIterator[BusyMachine]:
    """Without a broker Redis's share is not measured."""
    machine = BusyMachine(broker)
    measuring = asyncio.create_task(machine.measure())
    try:
        yield machine
    finally:
        measuring.cancel()
        await asyncio.gather(measuring, return_exceptions=True)


@contextlib.asynccontextmanager
async def within(limit_s: float) -> AsyncIterator[None]:
    """Raises TimeoutError when the body takes longer than this; what a turn takes beyond TURN_S is not counted."""
    async with asyncio.timeout(None) as limit:
        counting = asyncio.create_task(_end_after(limit_s, limit))
        try:
            yield
        finally:
            counting.cancel()
            await asyncio.gather(counting, return_exceptions=True)


async def wait_for(awaitable: Awaitable[T], limit_s: float) -> T:
    """As `asyncio.wait_for`, with the limit of `within`."""
    async with within(limit_s):
        return await awaitable


async def _end_after(limit_s: float, limit: asyncio.Timeout) -> None:
    counted_s = 0.0
    while counted_s < limit_s:
        began_s = time.monotonic()
        await asyncio.sleep(0.01)  # what is measured
        counted_s += min(time.monotonic() - began_s, TURN_S)
    limit.reschedule(asyncio.get_running_loop().time())
