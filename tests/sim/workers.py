"""The clients of a run: tasks of this process, and processes for those that use librdkafka."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from tests.sim.clients import aio, rest, sdk, subscriptions
from tests.sim.clients.context import PIPELINES, Context
from tests.sim.librdkafka_processes import LibrdkafkaProcesses
from tests.sim.machine_clock import MachineClock
from tests.sim.processes import Processes
from tests.sim.recorder import Event, Recorder
from tests.sim.schedule import Schedule, WorkerPlan, choices

LIBRDKAFKA, LIBRDKAFKA_PIPELINE = "librdkafka", "rdk"
PROGRAMS: dict[str, Any] = {"sdk": sdk, "subscriptions": subscriptions, "rest": rest, "aio": aio}
WRITERS = ("produce", "transact", "schedule", "plain", "sequenced", "keyed", "keys", "dense")
END_S_MAX, LOOK_S = 60.0, 0.2  # machine seconds; seconds


def is_librdkafka(worker: WorkerPlan) -> bool:
    return worker.role.startswith(LIBRDKAFKA)


class Workers:
    """Clients by name.  `left_out` says why those of librdkafka cannot run here."""

    def __init__(
        self, plan: Schedule, processes: Processes, write: Callable[[Event], None], clock: MachineClock
    ) -> None:
        self._plan, self._processes, self._write, self._clock = plan, processes, write, clock
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._stops: dict[str, asyncio.Event] = {}
        self._is_over = False
        self._librdkafka = LibrdkafkaProcesses()
        self.left_out = self._librdkafka.left_out

    @property
    def names(self) -> list[str]:
        return [*self._tasks, *self._librdkafka.names]

    @property
    def pipelines(self) -> list[str]:
        return [each for each in PIPELINES if each != LIBRDKAFKA_PIPELINE or not self.left_out]

    def start(self) -> None:
        ours = {each.name: self._processes.kafka(each.host) for each in self._plan.workers if is_librdkafka(each)}
        self._librdkafka.start(self._plan, ours, self._write, self._clock)
        for worker in self._plan.workers:
            program, _, role = worker.role.partition(".")
            if is_librdkafka(worker):
                continue
            stop = self._stops[worker.name] = asyncio.Event()
            context = Context(
                worker.name,
                Recorder(worker.name, self._write),
                choices(self._plan.seed, worker.name),
                self._processes.urls(worker.host),
                self._processes.kafka(worker.host),
                stop,
                self._plan.suffix,
            )
            act: Callable[[Context], Awaitable[None]] = getattr(PROGRAMS[program], role)
            self._tasks[worker.name] = asyncio.create_task(self._run(act, context))

    async def _run(self, act: Callable[[Context], Awaitable[None]], context: Context) -> None:
        try:
            await act(context)
        except Exception as error:
            context.recorder.note("broke", error=f"{type(error).__name__}: {error}")
            raise
        finally:
            if context.is_on and not self._is_over:
                context.recorder.note("broke", error="it ended by itself")

    async def stop_writers(self) -> None:
        await self._stop([name for name in self.names if name.split(".")[1] in WRITERS])

    async def stop(self) -> None:
        await self._stop(self.names)

    async def _stop(self, names: list[str]) -> None:
        """Returns when they have ended; those that do not are recorded."""
        for name in set(names) & set(self._tasks):
            self._stops[name].set()
        self._librdkafka.stop([name for name in names if name in self._librdkafka.names])
        until = self._clock.machine_s + END_S_MAX
        while (late := self._running() & set(names)) and self._clock.machine_s < until:
            await asyncio.sleep(LOOK_S)
        for name in late:
            Recorder(name, self._write).note("broke", error="it does not stop")

    async def restart(self, name: str) -> None:
        """Kills a client that is a process of its own, and starts it again."""
        await asyncio.to_thread(self._librdkafka.restart, name)

    def _running(self) -> set[str]:
        return {name for name, task in self._tasks.items() if not task.done()} | set(self._librdkafka.running())

    async def clean_up(self) -> None:
        self._is_over = True
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        await asyncio.to_thread(self._librdkafka.clean_up)
