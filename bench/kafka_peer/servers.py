"""The two servers, each with its own data directory in the temp folder (TMPDIR chooses the disk).

A server is launched, awaited, killed like `kill -9`, launched again on the same data and port, and stopped by its own
process ids only.  Its log is in its folder; errors at startup include the end of it.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from bench.kafka_peer.toolbox import Toolbox
from bench.processes import READY_S_MAX, ROOT, BenchFailed, Durability
from redis_ledger.app.embedded_redis.server import running_pid

STOP_S_MAX = 15.0
HOST = "127.0.0.1"


class Server(ABC):
    """A server that listens for Kafka clients on `bootstrap`."""

    root = ROOT

    def __init__(self, label: str, durability: Durability, home: Path) -> None:
        self.label, self.durability, self.home = label, durability, home
        self.port = free_port()
        self._process: subprocess.Popen[str] | None = None

    @property
    def bootstrap(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None, f"{self.label} was never launched"
        return self._process.pid

    @abstractmethod
    def command(self) -> list[str]: ...

    @abstractmethod
    def await_ready(self) -> None:
        """Returns when clients are served.  Raises BenchFailed if that takes too long."""

    def broker_pids(self) -> list[int]:
        return [self.pid]

    def store_pids(self) -> list[int]:
        """The processes with the data, if they are other ones."""
        return []

    def expect_alive(self) -> None:
        """Raises BenchFailed with the end of its log if its process has ended: clients would wait in vain."""
        if self._process is None or self._process.poll() is not None:
            raise self._failed("has ended")

    def launch(self) -> None:
        with open(self.home / "log", "ab") as log:
            self._process = subprocess.Popen(
                self.command(),
                stdin=subprocess.PIPE,
                stdout=self._output(log),
                stderr=log,
                cwd=self.root,
                env=environment(),
                text=True,
                start_new_session=True,  # Ctrl-C goes to the bench, which then stops its servers one by one
            )

    def _output(self, log: IO[bytes]) -> IO[bytes] | int:
        return log

    def kill(self) -> None:
        """Kills all processes at once."""
        for pid in (*self.broker_pids(), *self.store_pids()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._reap()

    def _reap(self) -> None:
        assert self._process is not None
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def stop(self) -> None:
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(STOP_S_MAX)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._reap()
        for left in self.store_pids():
            os.kill(left, signal.SIGKILL)  # its data is deleted with the folder

    def last_words(self) -> str:
        """Returns the end of the log, which may be empty."""
        return "\n".join((self.home / "log").read_text(errors="replace").strip().splitlines()[-10:])

    def _failed(self, reason: str) -> BenchFailed:
        return BenchFailed(f"{self.label} {reason}\n{self.last_words()}")


class Ours(Server):
    """`redis-ledger serve` with default settings."""

    def __init__(
        self, label: str, durability: Durability, home: Path, root: Path = ROOT, redis_url: str | None = None
    ) -> None:
        """root: the source tree.  redis_url: None for the embedded Redis."""
        super().__init__(label, durability, home)
        self.root, self._redis_url = root, redis_url

    def command(self) -> list[str]:
        serve = [sys.executable, "-m", "redis_ledger.app.cli.main", "serve", "--data-dir", str(self.home / "data")]
        serve += ["--http", f"{HOST}:0", "--kafka", self.bootstrap, "--durability", self.durability]
        serve += [] if self._redis_url is None else ["--redis", self._redis_url]
        return [*serve, "--log-level", "warning", "--exit-with-stdin"]

    def _output(self, log: IO[bytes]) -> int:
        return subprocess.PIPE

    def await_ready(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        # It prints one line when ready, or closes its output.
        if not select.select([self._process.stdout], [], [], READY_S_MAX)[0]:
            raise self._failed(f"was not ready within {READY_S_MAX:.0f} s")
        words = self._process.stdout.readline().split()
        if words[:1] != ["ready"]:
            raise self._failed("did not start")
        if f"kafka={self.bootstrap}" not in words:
            raise self._failed(f"does not listen for Kafka clients; its output: {' '.join(words)}")

    def store_pids(self) -> list[int]:
        pid = running_pid(self.home / "data") if self._redis_url is None else None
        return [] if pid is None else [pid]


class Kafka(Server):
    """One KRaft node, broker and controller in one process, with 1 GiB of heap."""

    def __init__(self, label: str, durability: Durability, home: Path, toolbox: Toolbox) -> None:
        super().__init__(label, durability, home)
        self._toolbox = toolbox
        self._settings = home / "server.properties"
        self._settings.write_text(
            PROPERTIES.format(host=HOST, port=self.port, controller=free_port(), logs=home / "logs")
        )
        formatted = [*toolbox.broker("kafka.tools.StorageTool", "-Xmx128m"), "format", "--ignore-formatted"]
        formatted += ["--cluster-id", uuid.uuid4().hex[:22], "--config", str(self._settings)]
        with open(home / "log", "ab") as log:
            if subprocess.run(formatted, stdout=log, stderr=log, check=False, timeout=READY_S_MAX).returncode:
                raise self._failed("cannot format its data directory")

    def command(self) -> list[str]:
        return [*self._toolbox.broker("kafka.Kafka", "-Xms1g", "-Xmx1g"), str(self._settings)]

    def await_ready(self) -> None:
        until_s = time.monotonic() + READY_S_MAX
        while time.monotonic() < until_s:
            assert self._process is not None
            if self._process.poll() is not None:
                raise self._failed("did not start")
            with contextlib.suppress(OSError), socket.create_connection((HOST, self.port), timeout=1):
                return
            time.sleep(0.05)
        raise self._failed(f"did not listen within {READY_S_MAX:.0f} s")


# Kafka's defaults, except for replication on one node and the pause before a group's first rebalance.
PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller}
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller}
advertised.listeners=PLAINTEXT://{host}:{port}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={logs}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
"""


@contextlib.contextmanager
def running(server: Server) -> Iterator[None]:
    try:
        server.launch()
        server.await_ready()
        yield
    finally:
        with undisturbed():
            server.stop()


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Defers Ctrl-C until servers are stopped."""
    held = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGALRM))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(prefix="redis-ledger-peer-"))
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def environment() -> dict[str, str]:
    """This environment without the settings of a broker, so that defaults are measured."""
    keep = ("REDIS_LEDGER_SERVER_BIN",)
    return {name: value for name, value in os.environ.items() if not name.startswith("REDIS_LEDGER_") or name in keep}
