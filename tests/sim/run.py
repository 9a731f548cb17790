"""A run: starts everything, causes the faults, lets the clients finish, and returns the history.

clients work      faults        healed        writers stop       backlogs consumed      final log     retention
├─────────────────┴─────────────┴─────────────┴──────────────────┴──────────────────────┴─────────────┤
                                30 s at most each, by the machine clock
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tests.sim import faults, footprint
from tests.sim.clients.context import Context
from tests.sim.history import History
from tests.sim.machine_clock import MachineClock
from tests.sim.observer import Observer
from tests.sim.processes import Processes
from tests.sim.recorder import Event, Recorder
from tests.sim.rules.progress import RECOVERY_S_MAX
from tests.sim.schedule import Schedule
from tests.sim.workers import Workers

TICK_S = 0.5
RETENTION_S_MAX = 180.0  # retention looks at a partition without appends every two minutes
KEYS_MAX, BYTES_MAX = 1_000, 300_000
WALL_S_MAX = 300.0  # for one wait, however busy the machine is


class Run:
    def __init__(self, plan: Schedule, folder: Path, bug: str = "", *, with_retention: bool = False) -> None:
        self._plan, self._folder, self._bug, self._with_retention = plan, folder, bug, with_retention
        self._events: list[Event] = []
        self._recorder = Recorder("run", self._events.append)
        self._clock = MachineClock()
        self.left_out = ""

    async def go(self) -> History:
        logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # abandoned connections of the clients
        ticking = asyncio.create_task(self._tick())
        try:
            async with Processes(self._plan, self._folder, self._bug) as processes:
                await self._with(processes)
        finally:
            ticking.cancel()
            self._clock.stop()
            with (self._folder / "history.jsonl").open("w") as file:
                file.writelines(json.dumps(event) + "\n" for event in sorted(self._events, key=lambda e: e["at"]))
        return History(self._events)

    async def _with(self, processes: Processes) -> None:
        context = Context("final", Recorder("final", self._events.append), random.Random(0), [], "", asyncio.Event())
        observer = Observer(processes, context.recorder, context)
        workers = Workers(self._plan, processes, self._events.append, self._clock)
        self.left_out = workers.left_out
        try:
            await observer.create(workers.pipelines)
            self._recorder.note("begin", wall_ms=time.time() * 1000, seed=self._plan.seed)
            workers.start()
            await self._cause_faults(processes, workers)
            self._recorder.note("mark", name="faults_over", actors=workers.names)
            await self._until(lambda: self._all_progressed(workers.names))
            await workers.stop_writers()
            await self._drain(observer)
            await workers.stop()
            await observer.note_groups()
            await observer.read_all()
            if self._with_retention:
                await self._expire(observer, processes)
        finally:
            await workers.clean_up()
            await observer.close()

    async def _cause_faults(self, processes: Processes, workers: Workers) -> None:
        began_s = asyncio.get_running_loop().time()
        locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

        async def cause(fault: Any) -> None:
            await asyncio.sleep(fault.at_s)
            async with locks[fault.target]:
                await faults.cause(fault, processes, workers, self._recorder, began_s)

        await asyncio.gather(*(cause(fault) for fault in self._plan.faults))
        await asyncio.sleep(max(0.0, began_s + self._plan.seconds - asyncio.get_running_loop().time()))
        faults.heal(processes)

    async def _all_progressed(self, names: list[str]) -> bool:
        over = next(e["at"] for e in reversed(self._events) if e["op"] == "mark" and e["name"] == "faults_over")
        done = {event["actor"] for event in self._events if event["kind"] == "ok" and event["at"] > over}
        return done >= set(names)

    async def _drain(self, observer: Observer) -> None:
        began_s, left = self._clock.machine_s, {"not looked": 1}

        async def is_drained() -> bool:
            nonlocal left
            left = await observer.left()
            return not left

        await self._until(is_drained)
        self._recorder.note("mark", name="drained", left=left, machine_s=round(self._clock.machine_s - began_s, 1))

    async def _expire(self, observer: Observer, processes: Processes) -> None:
        await observer.expire()

        async def is_empty() -> bool:
            return not await observer.records()

        await self._until(is_empty, RETENTION_S_MAX)
        left = await asyncio.to_thread(footprint.measure, list(processes.redis.servers.values()))
        facts = {"keys": left.keys.total(), "keys_max": KEYS_MAX, "bytes": left.bytes.total(), "bytes_max": BYTES_MAX}
        facts |= {"records": await observer.records(), "records_max": 0}
        most = {family: [left.keys[family], size] for family, size in left.bytes.most_common(8)}
        self._recorder.note("footprint", detail=most, **facts)

    async def _until(self, holds: Callable[[], Awaitable[bool]], machine_s: float = RECOVERY_S_MAX) -> None:
        """Returns when it holds, or when the machine had time enough for it."""
        until, wall_until = self._clock.machine_s + machine_s, time.monotonic() + WALL_S_MAX
        while not await holds() and self._clock.machine_s < until and time.monotonic() < wall_until:
            await asyncio.sleep(TICK_S)

    async def _tick(self) -> None:
        while True:
            self._recorder.note("tick", machine_s=round(self._clock.machine_s, 3))
            await asyncio.sleep(TICK_S)
