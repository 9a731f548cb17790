"""The demo while its Redis fails: it reports the cause, fails, and makes no false claim."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import ConnectionError

from redis_ledger.app.embedded_redis.server import running_pid
from tests.support.processes import ROOT, eventually

KEPT = "Every promise was kept."
END_S_MAX = 100.0
HEADS = "*:{*:*}:state"
ACKNOWLEDGED_MIN = 1_000  # of the 20 000 flights
UNACKNOWLEDGED_MAX = 2_000  # records that Redis has and no client knows of: a batch of flights, a step of each worker


class Demo:
    """A running demo with its temporary files in a folder of the test."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("REDIS_LEDGER_")}
        self._folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-m", "redis_ledger.app.cli.main", "demo", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=ROOT,
            env=clean | {"TMPDIR": str(folder), "COLUMNS": "200"},
        )

    @property
    def data_dir(self) -> Path:
        return next(self._folder.glob("redis-ledger-demo-*/data"))

    def written(self) -> int:
        """Returns the number of records in all topics; 0 while Redis is not up."""
        sockets = list(self._folder.glob("redis-ledger-demo-*/data/redis.sock"))
        if not sockets:
            return 0
        try:
            with Redis(unix_socket_path=str(sockets[0])) as redis:
                return sum(int(redis.hget(key, "next") or 0) for key in redis.scan_iter(HEADS))
        except ConnectionError:
            return 0

    def has_loaded(self, count: int = ACKNOWLEDGED_MIN) -> bool:
        return self.written() >= count

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def redis(self, *command: str) -> None:
        with socket.socket(socket.AF_UNIX) as door:
            door.connect(str(self.data_dir / "redis.sock"))
            door.sendall("".join([*(f"{word} " for word in command), "\r\n"]).encode())
            assert door.recv(100).startswith(b"+OK")

    def kill_redis(self) -> None:
        """Does nothing if the demo has stopped already."""
        pid = running_pid(self.data_dir)
        if pid is not None:
            os.kill(pid, signal.SIGKILL)

    def end(self) -> tuple[int, str]:
        """Returns the exit code and the output on one line."""
        said, _ = self._process.communicate(timeout=END_S_MAX)
        return self._process.returncode, " ".join(said.split())

    def clean_up(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def start() -> Iterator[Callable[..., Demo]]:
    running: list[Demo] = []

    def one(folder: Path, *arguments: str) -> Demo:
        folder.mkdir(exist_ok=True)
        running.append(Demo(folder, *arguments))
        return running[-1]

    yield one
    for each in running:
        each.clean_up()


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system of 8 MB."""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(folder)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize(
    "ballast",
    [
        pytest.param(6_800_000, id="while it loads", marks=pytest.mark.full),
        pytest.param(3_000_000, id="while it works"),
    ],
)
def test_demo_reports_a_full_disk(small_disk, start, ballast):
    (small_disk / "ballast").write_bytes(b"x" * ballast)
    code, said = start(small_disk, "--rounds", "0").end()
    assert code == 1, said
    assert "No space left on device" in said
    assert KEPT not in said


@pytest.mark.parametrize("rounds", ["0", pytest.param("3", marks=pytest.mark.full)])
def test_demo_reports_an_empty_redis(folder, start, rounds):
    demo = start(folder, "--rounds", rounds)
    eventually(demo.has_loaded, 60)
    # When Redis is killed, and what it wrote is gone
    (demo.data_dir / "appendonlydir").rename(folder / "away")
    demo.kill_redis()
    code, said = demo.end()
    assert code == 1, said
    assert "has lost its data" in said
    assert KEPT not in said


def test_demo_reports_a_redis_without_persistence(folder, start):
    demo = start(folder, "--rounds", "0")
    eventually(demo.has_loaded, 60)
    demo.redis("CONFIG", "SET", "appendonly", "no")
    code, said = demo.end()
    assert code == 1, said
    assert "appendonly" in said
    assert KEPT not in said


@pytest.mark.full
def test_a_demo_whose_redis_lost_records_when_a_restart_undid_its_settings_claims_nothing(folder, start):
    demo = start(folder, "--rounds", "0")
    eventually(demo.has_loaded, 60)
    # Given acknowledged records that Redis keeps in memory only, until the broker notices
    demo.redis("CONFIG", "SET", "appendonly", "no")
    before = demo.written()
    eventually(lambda: demo.has_ended() or demo.written() > before + UNACKNOWLEDGED_MAX, 60)
    # When a restart brings the settings back, and what was written before them
    demo.kill_redis()
    code, said = demo.end()
    # Then the demo says that acknowledged records are gone, or that they would be, or counts them
    assert code == 1, said
    assert "has lost" in said or "appendonly" in said or "A PROMISE WAS BROKEN." in said, said
    assert KEPT not in said
