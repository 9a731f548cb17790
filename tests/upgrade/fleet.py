"""Brokers of two releases on one Redis, each at an address it keeps, and the applications that use them.

fleet.start(0, OLD)      fleet.replace(0, NEW)      fleet.kafka, fleet.urls: all of their addresses
load.start("sdk.produce", ...)      load.stop("sdk.produce")      load.history()
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.client_history import History
from tests.support.free_ports import free_port
from tests.support.processes import ROOT, Release, Serve
from tests.support.reaper import ends_with_us

WORKERS = Path(__file__).parent / "workers"
COMPAT = ROOT / "tests" / "compat" / ".venv" / "bin" / "python"
END_S_MAX = 60.0
GOES_ON_S_MAX = 120.0
PROGRESS = ("answered", "position", "done")


class Turn(NamedTuple):
    """When a broker got SIGTERM, when it had ended, and when its successor was ready."""

    number: int
    before: Release
    after: Release
    stopped: float
    gone: float
    ready: float
    exit_code: int


class Fleet:
    """settings: those that every broker of either release is given."""

    def __init__(self, redis_url: str, count: int, *settings: str) -> None:
        self._redis_url, self._settings = redis_url, [word for each in settings for word in ("--set", each)]
        self._http = [f"127.0.0.1:{free_port()}" for _ in range(count)]
        self._kafka = [f"127.0.0.1:{free_port()}" for _ in range(count)]
        self.brokers: dict[int, Serve] = {}
        self.releases: dict[int, Release] = {}
        self.turns: list[Turn] = []

    @property
    def kafka(self) -> str:
        return ",".join(self._kafka)

    @property
    def urls(self) -> list[str]:
        return [f"http://{address}" for address in self._http]

    def start(self, number: int, release: Release) -> Serve:
        """Returns when it is ready."""
        words = ("--redis", self._redis_url, "--durability", "process", "--kafka", self._kafka[number], *self._settings)
        broker = Serve(*words, http=self._http[number], release=release)
        self.brokers[number], self.releases[number] = broker, release
        assert broker.ready
        return broker

    def replace(self, number: int, release: Release) -> Turn:
        """SIGTERM, and the release at the same address."""
        before, stopped = self.releases[number], time.time()
        code = self.brokers[number].terminate()
        gone = time.time()
        self.start(number, release)
        turn = Turn(number, before, release, stopped, gone, time.time(), code)
        self.turns.append(turn)
        return turn

    def clean_up(self) -> None:
        for broker in self.brokers.values():
            broker.clean_up()


class Worker:
    """An application in a process of its own; its events as they come."""

    def __init__(self, name: str, command: list[str], environ: dict[str, str], errors: Path) -> None:
        self.name, self.events = name, list[dict[str, Any]]()
        with errors.open("ab") as file:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file, text=True, env=environ,
                cwd=errors.parent,
            )  # fmt: skip
        ends_with_us(self.process)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.events.append({**json.loads(line), "worker": self.name})

    @property
    def done(self) -> list[dict[str, Any]]:
        return [event for event in list(self.events) if event["kind"] in PROGRESS]

    def stop(self) -> None:
        """Lets it finish what it does.  It must end by itself, and well."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(END_S_MAX)
        self._reader.join(END_S_MAX)
        assert code == 0, f"{self.name} ended with {code}: {self.events[-3:]}"
        assert self.events[-1]["kind"] == "end", self.events[-1]

    def explain(self) -> None:
        """Lets it write what it waits for, if it can."""
        if self.name.startswith("aio.") and self.process.poll() is None:
            self.process.send_signal(signal.SIGUSR1)
            time.sleep(1.0)  # it writes to a file, and gives no sign when it has

    def clean_up(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join(END_S_MAX)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


class Load:
    """Workers by name: program.role, or program.role.more where a role is played more than once."""

    def __init__(self, fleet: Fleet, folder: Path) -> None:
        self._fleet, self._folder = fleet, folder
        self.workers: dict[str, Worker] = {}

    def start(self, name: str, release: Release | None = None) -> None:
        """Returns when it has begun.  release: whose SDK it uses."""
        program, role = name.split(".")[:2]
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("REDIS_LEDGER_", "PYTHONPATH"))}
        python, addresses = COMPAT, self._fleet.kafka
        if program != "librdkafka":
            release = release or Release()
            python, kept["PYTHONPATH"] = release.python, str(release.root)
        if program == "sdk":
            addresses = ",".join(self._fleet.urls)
        command = [str(python), str(WORKERS / f"{program}.py"), role, name, addresses]
        worker = self.workers[name] = Worker(name, command, kept, self._folder / f"{name}.err")
        until = time.monotonic() + GOES_ON_S_MAX
        while not worker.events:
            assert time.monotonic() < until, f"{name} does not begin"
            time.sleep(0.02)  # one after the other, or each waits for the others' start

    def stop(self, *names: str) -> None:
        for name in names:
            self.workers[name].stop()

    def goes_on(self, seconds: float) -> None:
        """For so long at least, and until each has done something more."""
        before = {name: len(worker.done) for name, worker in self.workers.items()}
        began = time.monotonic()
        while True:
            stuck = [name for name, worker in self.workers.items() if len(worker.done) <= before[name] + 1]
            waited = time.monotonic() - began
            if waited >= seconds and not stuck:
                return
            if waited > GOES_ON_S_MAX:
                for name in stuck:
                    self.workers[name].explain()
                raise AssertionError(f"these do not go on: {stuck}; see their .err files")
            for worker in self.workers.values():
                assert worker.process.poll() is None, f"{worker.name} ended by itself: {worker.events[-3:]}"
            time.sleep(0.1)  # applications have no other way to tell us

    def history(self) -> History:
        return History([event for worker in self.workers.values() for event in list(worker.events)])

    def report(self, history: History, turns: Sequence[Turn]) -> str:
        """A summary: duration of each step, written records, and affected clients."""
        lines = [
            f"broker {turn.number}: {turn.gone - turn.stopped:.1f} s to end, {turn.ready - turn.gone:.1f} s to start"
            for turn in turns
        ]
        for topic, asked in sorted(history.asked.items()):
            outcomes = Counter(history.outcomes.get(value, "unknown") for value in asked)
            lines.append(f"{topic}: {dict(sorted(outcomes.items()))}")
        for event in history.events:
            if event["kind"] in ("error", "moved"):
                near = max(
                    (turn for turn in turns if turn.stopped <= event["at"]), key=lambda turn: turn.stopped, default=None
                )
                when = (
                    ""
                    if near is None
                    else f"{event['at'] - near.stopped:.1f} s after broker {near.number} was stopped, "
                )
                lines.append(f"{when}{event['kind']}: {event['worker']}: {event['doing']}: {event['text'][:160]}")
        return "\n".join(lines)

    def clean_up(self) -> None:
        """Ends what still runs, and keeps its output, to find out why a test failed."""
        for name, worker in self.workers.items():
            worker.clean_up()
            (self._folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, worker.events)))
