"""A chapter: clients, faults and a history of their own, on the servers of a run.  Most runs have one.

clients work      faults        healed        writers stop       backlogs consumed      final log     retention
├─────────────────┴─────────────┴─────────────┴──────────────────┴──────────────────────┴─────────────┤
                                30 s at most each, by the machine clock
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.sim import faults, footprint, index_check
from tests.sim.clients.context import Context
from tests.sim.history import FINAL, History
from tests.sim.losses import Reports
from tests.sim.machine_clock import MachineClock
from tests.sim.observer import Observer
from tests.sim.processes import SETTINGS, Processes
from tests.sim.recorder import Event, Recorder
from tests.sim.rules.progress import RECOVERY_S_MAX
from tests.sim.schedule import Fault, Schedule
from tests.sim.shards import Shards
from tests.sim.workers import Workers

TICK_S = 0.5
RETENTION_S_MAX = 180.0  # retention looks at a partition without appends every two minutes
KEYS_MAX, BYTES_MAX = 1_000, 300_000
WALL_S_MAX = 300.0  # for one wait, however busy the machine is


class Chapter:
    def __init__(self, plan: Schedule, processes: Processes, clock: MachineClock) -> None:
        self.plan, self._processes, self._clock = plan, processes, clock
        self._events: list[Event] = []
        self._recorder = Recorder("run", self._events.append)
        final = Recorder(FINAL, self._events.append)
        self._context = Context(FINAL, final, random.Random(0), [], "", asyncio.Event(), plan.suffix)
        self.observer = Observer(processes, final, self._context)
        self._reports = Reports(processes)
        self.left_out = ""

    async def go(self, *, with_retention: bool = False) -> None:
        ticking = [asyncio.create_task(self._tick())]
        if self.plan.has_replicas and isinstance(self._processes.redis, Shards):
            ticking.append(asyncio.create_task(self._processes.redis.watch(self._recorder)))
        workers = Workers(self.plan, self._processes, self._events.append, self._clock)
        self.left_out = workers.left_out
        try:
            await self.observer.create(workers.pipelines, self.plan.sidecar)
            self._begin()
            workers.start()
            await self._cause_faults(workers)
            self._recorder.note("mark", name="faults_over", actors=workers.names)
            await self._until(lambda: self._all_progressed(workers.names))
            await workers.stop_writers()
            await self._drain()
            await workers.stop()
            await self.observer.note_groups()
            await self.observer.read_all()
            await self._compare_indexes(is_full=not self.plan.suffix)
            if with_retention:
                await self.expire(self.topics)
        finally:
            for task in ticking:
                task.cancel()
            await workers.clean_up()
            await self.observer.close()
            for report in self._reports.read():
                self._recorder.note("loss", **report)

    def _begin(self) -> None:
        facts: dict[str, Any] = {"seed": self.plan.seed, "may_lose": self.plan.may_lose, "shards": self.plan.shards}
        facts["session_ms"] = SETTINGS["consumer_session_ms"]
        sidecar = [f"{name}{self.plan.suffix}" for name in self.plan.sidecar]
        self._recorder.note("begin", wall_ms=time.time() * 1000, sidecar=sidecar, **facts)

    @property
    def topics(self) -> list[str]:
        return self._context.topics

    async def survey(self, before: Sequence[Mapping[tuple[str, int], str]]) -> None:
        """Compares the logs with their digests; then retention removes the last ones, and the others are deleted."""
        try:
            self._begin()
            for (topic, partition), known in (pair for each in before for pair in each.items()):
                found = await self.observer.digest(topic, partition)
                self._recorder.note("survey", topic=topic, partition=partition, before=known, after=found)
            await self._compare_indexes(is_full=True)
            *earlier, last = [sorted({topic for topic, _ in each}) for each in before]
            for topic in (name for names in earlier for name in names):
                await self.observer.call("DELETE", f"/topics/{topic}")
            await self.expire(last)
        finally:
            await self.observer.close()

    def history(self) -> History:
        return History(self._events)

    def save(self, path: Path) -> None:
        with path.open("w") as file:
            file.writelines(json.dumps(event) + "\n" for event in sorted(self._events, key=lambda e: e["at"]))

    async def _cause_faults(self, workers: Workers) -> None:
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

        async def cause(fault: Fault) -> None:
            await asyncio.sleep(fault.at_s)
            lock = locks[self.plan.lock(fault)]
            has_to_wait = lock.locked()
            async with lock:
                # On a busy machine every fault is late; only those that wait for others may find no time left.
                if not has_to_wait or loop.time() < began_s + max(self.plan.seconds, fault.at_s + 1.0):
                    await faults.cause(fault, self._processes, workers, self._recorder)

        await asyncio.gather(*(cause(fault) for fault in self.plan.faults))
        await asyncio.sleep(max(0.0, began_s + self.plan.seconds - loop.time()))
        faults.heal(self._processes)

    async def _all_progressed(self, names: list[str]) -> bool:
        over = next(e["at"] for e in reversed(self._events) if e["op"] == "mark" and e["name"] == "faults_over")
        done = {event["actor"] for event in self._events if event["kind"] == "ok" and event["at"] > over}
        return done >= set(names)

    async def _drain(self) -> None:
        """Waits until nothing is left to do, or until nothing has become less for some time."""
        least, since_s, wall_until = 0, self._clock.machine_s, time.monotonic() + WALL_S_MAX
        while left := await self.observer.left():
            total = sum(left.values())
            if total < least or not least:
                least, since_s = total, self._clock.machine_s
            if self._clock.machine_s - since_s >= RECOVERY_S_MAX or time.monotonic() >= wall_until:
                break
            await asyncio.sleep(TICK_S)
        self._recorder.note("mark", name="drained", left=left, machine_s=round(self._clock.machine_s - since_s, 1))

    async def _compare_indexes(self, *, is_full: bool) -> None:
        broker = next(iter(self._processes.brokers.values()))
        settings = [f"{name}={value}" for name, value in SETTINGS.items()]
        for each in await index_check.differences(broker.redis_url, settings, is_full=is_full):
            self._recorder.note("index", **each)

    async def expire(self, topics: Sequence[str]) -> None:
        await self.observer.expire(topics)

        async def is_empty() -> bool:
            return not await self.observer.records(topics)

        await self._until(is_empty, RETENTION_S_MAX)
        left = await asyncio.to_thread(footprint.measure, await self._primaries())
        facts = {"keys": left.keys.total(), "keys_max": KEYS_MAX, "bytes": left.bytes.total(), "bytes_max": BYTES_MAX}
        facts |= {"records": await self.observer.records(topics), "records_max": 0}
        most = {family: [left.keys[family], size] for family, size in left.bytes.most_common(8)}
        self._recorder.note("footprint", detail=most, **facts)

    async def _primaries(self) -> list[Any]:
        redis = self._processes.redis
        if not isinstance(redis, Shards):
            return list(redis.servers.values())
        return [redis.servers[await redis.known_primary(shard)] for shard in redis.members]

    async def _until(self, holds: Callable[[], Awaitable[bool]], machine_s: float = RECOVERY_S_MAX) -> None:
        """Returns when it holds, or when the machine had time enough for it."""
        until, wall_until = self._clock.machine_s + machine_s, time.monotonic() + WALL_S_MAX
        while not await holds() and self._clock.machine_s < until and time.monotonic() < wall_until:
            await asyncio.sleep(TICK_S)

    async def _tick(self) -> None:
        while True:
            self._recorder.note("tick", machine_s=round(self._clock.machine_s, 3))
            await asyncio.sleep(TICK_S)
