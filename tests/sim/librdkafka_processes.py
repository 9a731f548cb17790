"""Processes that run clients/librdkafka.py, one for each client, in the environment of tests/compat.

librdkafka may hang in send_offsets_to_transaction, and then when it is closed, if the coordinator of a group was killed
or away (https://github.com/confluentinc/librdkafka/issues/5511).  A watchdog kills such a client and starts it again,
as docs/howto/operate.md recommends, and the report of the run counts it.  A client that is silent elsewhere is not
killed.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Callable, Mapping

from tests.sim.machine_clock import MachineClock
from tests.sim.recorder import Event, Recorder
from tests.sim.schedule import Schedule
from tests.support.processes import ROOT
from tests.support.reaper import ends_with_us

COMPAT = ROOT / "tests" / "compat" / ".venv" / "bin" / "python"
# In machine seconds: a transaction that takes longer than its timeout of 6 s is aborted anyway.
HANGS_IN, HANGS_S = ("offsets", "destroy"), 8.0
SILENT_IN = "silent in"
LOOK_S = 1.0
WHY_NOT = "tests/compat/.venv is not built (scripts/check.py compat-setup builds it)"


class LibrdkafkaProcess:
    """One client; `life` counts its starts, so that operations and values of each have names of their own."""

    def __init__(
        self, plan: Schedule, name: str, kafka: str, write: Callable[[Event], None], clock: MachineClock
    ) -> None:
        self.name = name
        self._plan, self._kafka, self._write, self._clock = plan, kafka, write, clock
        self._life = 0
        self._is_stopping = False
        self._restarting = threading.Lock()
        self._last_op, self._last_s = "", 0.0
        self._process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        self._last_op, self._last_s = "", self._clock.machine_s
        arguments = [str(self._plan.seed), self.name, self._kafka, str(self._life), self._plan.suffix]
        process = subprocess.Popen(
            [str(COMPAT), "-m", "tests.sim.clients.librdkafka", *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        ends_with_us(process)
        self._reader = threading.Thread(target=self._read, args=(process,), daemon=True)
        self._reader.start()
        return process

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            event = json.loads(line)
            self._last_op, self._last_s = event["op"] if event["kind"] == "invoke" else "", self._clock.machine_s
            self._write(event)

    def watch(self) -> None:
        """Starts the client again if it hangs as described above."""
        if self._last_op in HANGS_IN and self._clock.machine_s - self._last_s > HANGS_S:
            self.restart(f"{SILENT_IN} {self._last_op}")

    def restart(self, why: str) -> None:
        """kill -9, in the middle of what it does, and a new start."""
        with self._restarting:
            self.kill()
            Recorder(self.name, self._write).note("restarted", why=why)
            self._life += 1
            self._process = self._start()
            if self._is_stopping:
                self.stop()

    def stop(self) -> None:
        """The client finishes what it does and ends."""
        self._is_stopping = True
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._process.stdin.close()

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


class LibrdkafkaProcesses:
    """`left_out` says why there are none."""

    def __init__(self) -> None:
        self.left_out = "" if COMPAT.exists() else WHY_NOT
        self._processes: dict[str, LibrdkafkaProcess] = {}
        self._over = threading.Event()
        self._watchdog = threading.Thread(target=self._watch, daemon=True)

    def start(
        self, plan: Schedule, clients: Mapping[str, str], write: Callable[[Event], None], clock: MachineClock
    ) -> None:
        """clients: name → the addresses of its brokers."""
        if not self.left_out:
            for name, kafka in clients.items():
                self._processes[name] = LibrdkafkaProcess(plan, name, kafka, write, clock)
            self._watchdog.start()

    @property
    def names(self) -> list[str]:
        return list(self._processes)

    def _watch(self) -> None:
        while not self._over.wait(LOOK_S):
            for process in self._processes.values():
                process.watch()

    def stop(self, names: list[str]) -> None:
        for name in names:
            self._processes[name].stop()

    def restart(self, name: str) -> None:
        if name in self._processes:
            self._processes[name].restart("a fault")

    def running(self) -> list[str]:
        return [name for name, process in self._processes.items() if not process.has_ended]

    def clean_up(self) -> None:
        self._over.set()
        if self._processes:
            self._watchdog.join()
        for process in self._processes.values():
            process.kill()
