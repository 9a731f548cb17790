"""A run: starts everything, runs its chapter, and returns the history."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path

from tests.sim.chapter import Chapter
from tests.sim.history import History
from tests.sim.machine_clock import MachineClock
from tests.sim.processes import Processes
from tests.sim.schedule import Schedule

THREADS = 32  # calls to servers that do not answer wait in them


@asynccontextmanager
async def started(plan: Schedule, folder: Path, bug: str = "") -> AsyncIterator[tuple[Processes, MachineClock]]:
    """All processes of a run, and its clock."""
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda *_: None)  # abandoned connections of the clients
    loop.set_default_executor(ThreadPoolExecutor(THREADS))
    clock = MachineClock()
    try:
        async with Processes(plan, folder, bug) as processes:
            yield processes, clock
    finally:
        clock.stop()


class Run:
    def __init__(self, plan: Schedule, folder: Path, bug: str = "", *, with_retention: bool = False) -> None:
        self._plan, self._folder, self._bug, self._with_retention = plan, folder, bug, with_retention
        self.left_out: dict[str, str] = {}  # part → why it did not run

    async def go(self) -> History:
        async with started(self._plan, self._folder, self._bug) as (processes, clock):
            chapter = Chapter(self._plan, processes, clock)
            try:
                await chapter.go(with_retention=self._with_retention)
            finally:
                chapter.save(self._folder / "history.jsonl")
                found = {
                    "simulation with librdkafka": chapter.left_out,
                    "simulation of disks": processes.redis.left_out,
                }
                self.left_out = {part: why for part, why in found.items() if why}
            return chapter.history()
