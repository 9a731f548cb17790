"""The Spark demo from start to result.

flights ──▶ broker + Redis ──▶ driver: sums by hour ──▶ topic and Parquet ──▶ check in a fresh process ──▶ reports
 some aborted    ▲ kill -9         ▲ kill -9, also before and after the commit of a batch
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from redis_ledger import AsyncClient, LedgerError
from redis_ledger.app.tools.demo import flights
from redis_ledger.app.tools.demo.processes import DemoFailed, kill_redis
from redis_ledger.app.tools.demo.run import Progress, free_port
from redis_ledger.app.tools.demo.worker import Sabotage
from redis_ledger.app.tools.demo_spark import hours, plan
from redis_ledger.app.tools.demo_spark.processes import START_S_MAX, JsonLinesProcess, broker, driver
from redis_ledger.app.tools.demo_spark.stream_progress import StreamProgress

CHUNKS, CHUNK_MIN = 40, 50  # number of transactions for the flights, and minimum flights of one
ABORTED_EVERY = 4  # every so many transactions, one with wrong delays is written first and aborted
BATCHES = 14  # approximate number of batches of a stream
LOOK_INTERVAL_S = 0.1
RUN_S_MAX = 1500.0
STALL_S_MAX = 300.0
STARTS_MAX = 12
REPORTS_S_MAX = 600.0


@dataclass(frozen=True)
class Settings:
    """kills: whether processes are killed.  reports: the folder for reports."""

    reports: Path
    records: int = 20_000
    kills: bool = True
    sabotage: Sabotage = "none"


@dataclass
class Outcome:
    """kills: by victim; for the driver also by its point in a commit.  starts: of the driver."""

    inputs: int
    aborted: int
    kills: dict[str, int]
    starts: int
    verdict: dict[str, Any]
    reports: dict[str, Any]
    seconds: float
    holds: bool
    outputs: dict[str, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class Demo:
    """home: an empty directory for data, checkpoints and logs."""

    def __init__(self, settings: Settings, home: Path, progress: Progress) -> None:
        self._settings, self._home, self._progress = settings, home, progress
        self._data_dir, self._logs = home / "data", home / "logs"
        port = free_port()
        self._url = f"http://127.0.0.1:{port}"
        self._broker = broker(self._data_dir, home / "offloaded", port, self._logs)
        self._driver: JsonLinesProcess | None = None
        self._inputs = flights.load(settings.records)
        self._due = list(plan.ALL) if settings.kills else []
        self._kills: Counter[str] = Counter(driver=0, written=0, committed=0, broker=0, redis=0)
        self._stream_progress = StreamProgress(home / "checkpoints" / "topic")
        self._drained = asyncio.Event()
        self._aborted = self._starts = 0
        self._offsets = 1  # of the flights, including markers and aborted records
        self._done = 0.0  # the share of the flights that was streamed
        self._moved_s = time.monotonic()

    async def run(self) -> Outcome:
        """Raises DemoFailed if the demo could not run; a broken promise is in the result."""
        began_s = time.monotonic()
        for folder in (self._logs, self._settings.reports):
            folder.mkdir(parents=True, exist_ok=True)
        try:
            async with asyncio.timeout(RUN_S_MAX):
                await self._start_broker()
                async with AsyncClient(self._url, timeout_ms=60_000) as client:
                    await client.topics.create(hours.FLIGHTS, partitions=hours.PARTITIONS)
                    await client.topics.create(hours.HOURS, partitions=hours.PARTITIONS_OUT)
                    await self._load(client)
                    await self._stream(client)
                verdict = await self._check()
                reports = await self._report()
        except TimeoutError as late:
            raise DemoFailed(f"The demo did not end within {RUN_S_MAX:.0f} s; the logs are in {self._logs}.") from late
        except LedgerError as error:
            raise DemoFailed(f"The demo cannot continue: {error.detail} The logs are in {self._logs}.") from error
        finally:
            await self._end()
        return Outcome(
            inputs=len(self._inputs), aborted=self._aborted, kills=dict(self._kills), starts=self._starts,
            verdict=verdict, reports=reports, seconds=round(time.monotonic() - began_s, 1),
            holds=verdict["holds"] and all(each["code"] == 0 for each in reports.values()),
            outputs={name: verdict[name]["seen"] for name in ("topic", "parquet")},
        )  # fmt: skip

    async def _start_broker(self) -> None:
        await self._broker.start()
        await self._broker.first_line()

    async def _load(self, client: AsyncClient) -> None:
        self._progress.phase("writing flights", len(self._inputs))
        size = max(CHUNK_MIN, len(self._inputs) // CHUNKS)
        half = len(self._inputs) // size // 2
        for number, first in enumerate(range(0, len(self._inputs), size)):
            chunk = self._inputs[first : first + size]
            if number % ABORTED_EVERY == 1:
                await self._write(client, [{**each, "delay": each["delay"] + 1000} for each in chunk], abort=True)
                self._aborted += len(chunk)
            writing = asyncio.create_task(self._write(client, chunk))
            if self._due and number == half:
                await self._strike(plan.Kill(0, "broker"))
            await writing
            self._progress.done(first + len(chunk))
        written = await client.topics.describe(hours.FLIGHTS)
        self._offsets = sum(state.stable_offset for state in written.partition_states)

    async def _write(self, client: AsyncClient, chunk: list[flights.Flight], *, abort: bool = False) -> None:
        txn = client.transaction()
        sent = [await txn.send(hours.FLIGHTS, each, key=each["origin"]) for each in chunk]
        await asyncio.gather(*sent)
        await (txn.abort() if abort else txn.commit())

    async def _stream(self, client: AsyncClient) -> None:
        """Runs until all flights are summed and all hours are closed."""
        self._progress.phase("adding up the hours", len(self._inputs))
        self._moved_s = time.monotonic()
        driving = asyncio.create_task(self._drive())
        try:
            while self._done < 1 or self._due:
                await self._pause(driving)
                self._progress.done(int(self._done * len(self._inputs)))
                if self._due and self._is_due(self._due[0]):
                    await self._strike(self._due.pop(0))
            await self._drain(driving)
            # Far in the future: only this flight closes the last hours.
            async with client.producer(hours.FLIGHTS) as producer:
                await producer.send(hours.CLOSING)
            await self._drain(driving)
            self._progress.done(len(self._inputs))
        finally:
            driving.cancel()
            await asyncio.wait([driving])
            if self._driver is not None:
                await self._driver.kill()

    def _is_due(self, kill: plan.Kill) -> bool:
        """Whether the next kill is due.  A driver creates a file at its point and waits; it may finish before."""
        return self._note.exists() or self._done >= 1 if kill.point else self._done >= kill.at

    async def _drain(self, driving: asyncio.Task[None]) -> None:
        self._drained.clear()
        starts = -1
        while not self._drained.is_set():
            if starts != self._starts and self._driver is not None:
                starts = self._starts  # a driver that was restarted in the meantime has not received it
                await self._driver.say("drain")
            await self._pause(driving)

    async def _pause(self, driving: asyncio.Task[None]) -> None:
        await asyncio.wait([driving], timeout=LOOK_INTERVAL_S)
        if driving.done():
            driving.result()
        done = self._stream_progress.offsets / self._offsets
        if done > self._done:
            self._done, self._moved_s = done, time.monotonic()
        if time.monotonic() - self._moved_s > STALL_S_MAX:
            raise DemoFailed(f"No progress for {STALL_S_MAX:.0f} s; the logs are in {self._logs}.")

    @property
    def _note(self) -> Path:
        """The pause file of the running driver."""
        return self._home / f"paused-{self._starts}"

    async def _drive(self) -> None:
        """Starts the driver and restarts it when it exits, as an operator would."""
        while True:
            self._starts += 1
            if self._starts > STARTS_MAX:
                raise DemoFailed(f"The driver ended {STARTS_MAX} times; its log is in {self._logs}.")
            self._driver = driver(self._arguments(), self._logs)
            await self._driver.start()
            async for said in self._driver.lines():
                self._moved_s = time.monotonic()
                if said.get("drained"):
                    self._drained.set()

    def _arguments(self) -> list[str]:
        first, records = self._inputs[0], len(self._inputs)
        made = ["--url", self._url, "--home", str(self._home), "--offsets", str(max(20, records // BATCHES))]
        made += ["--first-date", first["date"], "--first-origin", first["origin"]]
        made += ["--sabotage", self._settings.sabotage]
        if point := plan.next_point(self._due):
            made += ["--pause", f"{point} {self._stream_progress.batch + 2} {self._note}"]
        return made

    async def _strike(self, kill: plan.Kill) -> None:
        if kill.victim == "redis" and kill_redis(self._data_dir):
            self._kills["redis"] += 1
        if kill.victim == "broker":
            await self._broker.kill()
            self._kills["broker"] += 1
            await self._start_broker()
        if kill.victim == "driver":
            if kill.point and not self._note.exists():
                return
            assert self._driver is not None
            await self._driver.kill()
            self._kills["driver"] += 1
            if kill.point:
                self._kills[kill.point] += 1
        where = {"written": ", before a commit", "committed": ", behind a commit"}.get(kill.point, "")
        self._progress.killed([f"{kill.victim}{where}"])

    async def _check(self) -> dict[str, Any]:
        """Runs the check in a process that has only the addresses and the input file."""
        self._progress.phase("checking every record", 1)
        arguments = ["--url", self._url, "--records", str(len(self._inputs))]
        arguments += ["--parquet", str(self._home / "parquet"), "--lines", str(self._home / "hours.jsonl")]
        judge = JsonLinesProcess("check", "redis_ledger.app.tools.demo_spark.check", arguments, self._logs)
        await judge.start()
        verdict = await judge.last_line(START_S_MAX)
        self._progress.done(1)
        return verdict

    async def _report(self) -> dict[str, Any]:
        self._progress.phase("offloading, reporting", 1)
        arguments = ["--url", self._url, "--home", str(self._home), "--lines", str(self._home / "hours.jsonl")]
        arguments += ["--parquet", str(self._home / "parquet"), "--folder", str(self._settings.reports)]
        reporter = JsonLinesProcess("reports", "redis_ledger.app.tools.demo_spark.reports", arguments, self._logs)
        await reporter.start()
        try:
            said = await reporter.last_line(REPORTS_S_MAX)
        finally:
            await reporter.kill()
        self._progress.done(1)
        return said

    async def _end(self) -> None:
        if self._driver is not None:
            await self._driver.kill()
        await self._broker.stop()
        # A broker that failed may have left its Redis server running.
        with contextlib.suppress(OSError):
            kill_redis(self._data_dir)
