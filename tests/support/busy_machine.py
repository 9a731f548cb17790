"""How much of a test's time a busy machine took, so that upper limits on times hold on any machine.

    async with busy_machine(broker) as machine:
        ...
    assert took_s < 1.0 + machine.lost_s

A task sleeps for ten milliseconds and sends PING to Redis, again and again.  What such a turn takes beyond `TURN_S`,
the test did not get.  On an idle machine that is next to nothing, so that a limit keeps its meaning.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

from redis_ledger.broker.broker import Broker

TURN_S = 0.02


class BusyMachine:
    def __init__(self, broker: Broker | None) -> None:
        self._broker = broker
        self.lost_s = 0.0

    async def measure(self) -> None:
        while True:
            began_s = time.monotonic()
            await asyncio.sleep(0.01)  # what is measured
            if self._broker is not None:
                await self._broker.store.command("PING")
            self.lost_s += max(0.0, time.monotonic() - began_s - TURN_S)


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
