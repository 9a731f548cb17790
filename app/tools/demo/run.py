"""The demo from start to result.

broker + embedded Redis ──▶ topics ──▶ load 20 000 flights ──▶ workers transform them ──▶ check in a fresh process
                                          kill -9 ▲                     kill -9 ▲
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import time
from collections import Counter
from collections.abc import Coroutine, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import httpx

from redis_ledger import AsyncClient, LedgerError
from redis_ledger.app.tools.demo import flights
from redis_ledger.app.tools.demo.plan import Kill, plan
from redis_ledger.app.tools.demo.processes import DemoFailed, Process, broker, kill_redis, worker
from redis_ledger.app.tools.demo.worker import Sabotage
from redis_ledger.errors import SequenceGap

FLUSH_RECORDS = 1_000
LOOK_INTERVAL_S = 0.1
RUN_S_MAX = 180.0
STALL_S_MAX = 30.0
UNFIT_S_MAX = 5.0  # without progress, before /readyz is checked
LOAD_KILLS = (Kill(0.2, ("broker",)), Kill(0.6, ("redis",)))


@dataclass(frozen=True)
class Settings:
    """rounds: number of kills of each of broker, worker and Redis during the transformation."""

    records: int = 20_000
    workers: int = 2
    rounds: int = 3
    step_records: int = 50
    sabotage: Sabotage = "none"


@dataclass
class Outcome:
    """seconds: of the whole demo.  work_seconds: from the first to the last transaction, kills included."""

    inputs: int
    outputs: int = 0
    kills: dict[str, int] = field(default_factory=dict)
    duplicates: int = 0
    losses: int = 0
    wrong: int = 0
    unacknowledged: int = 0
    transactions: int = 0
    transactions_per_s: float = 0.0
    seconds: float = 0.0
    work_seconds: float = 0.0
    verdict: dict[str, Any] = field(default_factory=dict)
    holds: bool = False

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class Progress:
    """Callbacks for the progress of the demo; the default does nothing."""

    def phase(self, name: str, total: int) -> None: ...
    def done(self, count: int) -> None: ...
    def killed(self, victims: Sequence[str]) -> None: ...


class Demo:
    """home: an empty directory for data and logs."""

    def __init__(self, settings: Settings, home: Path, progress: Progress) -> None:
        self._settings = settings
        self._data_dir = home / "data"
        self._logs = home / "logs"
        self._progress = progress
        port = free_port()
        self._url = f"http://127.0.0.1:{port}"
        self._broker = broker(self._data_dir, port, self._logs)
        self._workers = [
            worker(number, self._url, settings.step_records, settings.sabotage, self._logs)
            for number in range(settings.workers)
        ]
        self._where = f" The logs are in {self._logs}."
        self._worker_hit = 0
        self._kills: Counter[str] = Counter(broker=0, worker=0, redis=0)
        self._done = 0

    async def run(self) -> Outcome:
        """Raises DemoFailed if the demo could not run; a broken promise is in the result."""
        began_s = time.monotonic()
        self._logs.mkdir(parents=True)
        try:
            async with asyncio.timeout(RUN_S_MAX):
                await self._start_broker()
                async with AsyncClient(self._url) as client:
                    await self._prepare(client)
                    inputs = flights.load(self._settings.records)
                    await self._load(client, inputs)
                    work_s = await self._transform(client)
                verdict = await self._check()
        except TimeoutError as late:
            raise DemoFailed(f"The demo did not end within {RUN_S_MAX:.0f} s.{self._where}") from late
        except SequenceGap as gap:
            # The only producer sends each batch after the previous one is acknowledged.
            raise DemoFailed(f"Redis has lost acknowledged records: {gap.detail}{self._where}") from gap
        except LedgerError as error:
            raise DemoFailed(f"The demo cannot continue: {error.detail}{self._where}") from error
        finally:
            await self._end()
        return self._outcome(verdict, len(inputs), work_s, time.monotonic() - began_s)

    async def _start_broker(self) -> None:
        await self._broker.start()
        await self._broker.first_line()

    async def _prepare(self, client: AsyncClient) -> None:
        for topic in (flights.FLIGHTS, flights.DELAYS, flights.ROUTES):
            await client.topics.create(topic, partitions=flights.PARTITIONS)
        await client.subscriptions.create(flights.FLIGHTS, flights.SUBSCRIPTION, kind="shared")

    async def _load(self, client: AsyncClient, inputs: Sequence[flights.Flight]) -> None:
        """Produces the flights idempotently: batches have a producer id and sequence numbers."""
        self._progress.phase("loading flights", len(inputs))

        async def produce() -> None:
            async with client.producer(flights.FLIGHTS) as producer:
                for first in range(0, len(inputs), FLUSH_RECORDS):
                    for flight in inputs[first : first + FLUSH_RECORDS]:
                        await producer.send(flight, key=str(flight["flight"]))
                    await producer.flush()
                    self._done = min(first + FLUSH_RECORDS, len(inputs))

        self._done = 0
        await self._while_killing(produce(), LOAD_KILLS if self._settings.rounds else (), len(inputs))

    async def _transform(self, client: AsyncClient) -> float:
        """Returns the seconds from the start of the workers to the last acknowledgement."""
        self._progress.phase("transforming them", self._settings.records)
        began_s = time.monotonic()
        for each in self._workers:
            await each.start()

        async def all_acknowledged() -> None:
            while self._done < self._settings.records:
                with contextlib.suppress(LedgerError):  # the broker was just killed and is restarting
                    stats = await client.subscriptions.stats(flights.FLIGHTS, flights.SUBSCRIPTION)
                    left = stats.backlog + stats.pending  # an upper bound: it may count markers
                    self._done = max(self._settings.records - left, 0)
                await asyncio.sleep(LOOK_INTERVAL_S)

        self._done = 0
        await self._while_killing(all_acknowledged(), plan(self._settings.rounds), self._settings.records)
        seconds = time.monotonic() - began_s
        await asyncio.gather(*(each.stop() for each in self._workers))
        return seconds

    async def _while_killing(self, work: Coroutine[Any, Any, None], kills: Sequence[Kill], total: int) -> None:
        """Executes the kills as the work progresses.  Work that finishes between two checks may miss the last kill."""
        due = list(kills)
        task = asyncio.create_task(work)
        most, moved_s = -1, time.monotonic()
        try:
            while not task.done():
                await asyncio.wait([task], timeout=LOOK_INTERVAL_S / 2)
                self._progress.done(self._done)
                if self._done > most:
                    most, moved_s = self._done, time.monotonic()
                elif (stalled_s := time.monotonic() - moved_s) > UNFIT_S_MAX:
                    reason = await self._unready()
                    if reason or stalled_s > STALL_S_MAX:
                        raise DemoFailed(f"No progress for {stalled_s:.0f} s. {reason}{self._where}")
                if due and not task.done() and self._done >= due[0].at * total:
                    await self._strike(due.pop(0).victims)
            await task
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def _strike(self, victims: Sequence[str]) -> None:
        victim: Process | None = None
        if "redis" in victims and kill_redis(self._data_dir):
            self._kills["redis"] += 1
        if "broker" in victims:
            await self._broker.kill()
            self._kills["broker"] += 1
        if "worker" in victims:
            victim = self._workers[self._worker_hit % len(self._workers)]
            self._worker_hit += 1
            await victim.kill()
            self._kills["worker"] += 1
        self._progress.killed(victims)
        if "broker" in victims:
            await self._start_broker()
        if victim is not None:
            await victim.start()

    async def _unready(self) -> str:
        """The reason in /readyz why the broker is not ready; "" if it is ready."""
        with contextlib.suppress(httpx.HTTPError, ValueError):
            async with httpx.AsyncClient(timeout=UNFIT_S_MAX, trust_env=False) as http:
                answer = await http.get(f"{self._url}/readyz")
            return "" if answer.is_success else str(answer.json().get("detail", ""))
        return ""

    async def _check(self) -> dict[str, Any]:
        """Runs the check in a process that has only the broker's address and the input file."""
        self._progress.phase("checking every record", 1)
        records = str(self._settings.records)
        judge = Process(
            "check", "redis_ledger.app.tools.demo.check", ["--url", self._url, "--records", records], self._logs
        )
        await judge.start()
        line = await judge.first_line()
        self._progress.done(1)
        verdict: dict[str, Any] = json.loads(line)
        return verdict

    def _outcome(self, verdict: dict[str, Any], inputs: int, work_s: float, seconds: float) -> Outcome:
        topics = verdict["topics"].values()
        outputs = sum(verdict["topics"][name]["seen"] for name in (flights.DELAYS, flights.ROUTES))
        return Outcome(
            inputs=inputs,
            outputs=outputs,
            kills=dict(self._kills),
            duplicates=sum(topic["duplicates"] for topic in topics),
            losses=sum(topic["losses"] for topic in topics),
            wrong=sum(topic["wrong"] for topic in topics) + verdict["torn"] + verdict["unsettled"],
            unacknowledged=verdict["unacknowledged"],
            transactions=verdict["transactions"],
            transactions_per_s=round(verdict["transactions"] / work_s, 1),
            seconds=round(seconds, 1),
            work_seconds=round(work_s, 1),
            verdict=verdict,
            holds=verdict["holds"],
        )

    async def _end(self) -> None:
        for each in self._workers:
            await each.kill()
        await self._broker.stop()
        # A broker that failed may have left its Redis server running.
        kill_redis(self._data_dir)


def free_port() -> int:
    """A free port: the broker must restart on the port that its clients use."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
