"""Nothing that tests start outlives them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from redis_ledger.app.embedded_redis.probe import command_line
from tests.support.processes import ROOT, Serve, eventually
from tests.support.reaper import server_pid

# What a test leaves when it is killed: a broker with its own server, a server without its broker, and two bare ones.
LEAVES = """
import json, signal
from pathlib import Path
from tests.support.reaper import server_pid
from tests.support.redis_servers import Server
from tests.support.processes import RedisServer, Serve

signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell runs in the background is begun without

def test_that_never_ends(tmp_path):
    both = Serve("--data-dir", tmp_path / "both", "--durability", "process")
    alone = Serve("--data-dir", tmp_path / "alone", "--durability", "process")
    assert both.ready and alone.ready
    alone.kill()
    (tmp_path / "bare").mkdir()
    bare, other = Server(tmp_path / "bare", unix=True), RedisServer(tmp_path / "other", [])
    bare.start()
    started = [both.process.pid, other.process.pid, bare._process.pid]
    started += [server_pid(tmp_path / name) for name in ("both", "alone")]
    Path({note!r}).with_suffix(".new").write_text(json.dumps(started))
    Path({note!r}).with_suffix(".new").rename({note!r})
    while True:
        signal.pause()
"""


START_S_MAX = 90.0  # of pytest and four servers, on a machine that is busy with other things


@pytest.fixture
def folder() -> Iterator[Path]:
    """Of a name short enough for sockets in it."""
    with tempfile.TemporaryDirectory(prefix="rl-") as made:
        yield Path(made)


@pytest.mark.parametrize(
    "ending",
    [signal.SIGKILL, *(pytest.param(each, marks=pytest.mark.full) for each in (signal.SIGINT, signal.SIGTERM))],
)
def test_processes_of_a_test_end_with_it(folder: Path, ending: signal.Signals) -> None:
    # Given tests that have started servers
    note, file = folder / "note", folder / "test_leaves.py"
    file.write_text(LEAVES.format(note=str(note)))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder)]
    command += ["-c", "/dev/null", "--import-mode=importlib", "--basetemp", str(folder / "t"), str(file)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as tests:
        try:
            eventually(lambda: note.exists() or tests.poll() is not None, START_S_MAX)
            assert note.exists(), tests.communicate()[0]
            started = json.loads(note.read_text())
            assert [pid for pid in started if pid is None or not command_line(pid)] == []
            # When they are cut off
            tests.send_signal(ending)
        finally:
            if ending is not signal.SIGKILL:
                eventually(lambda: tests.poll() is not None, START_S_MAX)
            tests.kill()
    # Then nothing is left of them
    eventually(lambda: [pid for pid in started if command_line(pid)] == [])


@pytest.mark.full
def test_a_broker_that_is_cleaned_up_takes_its_server_along_unless_another_one_needs_it(tmp_path: Path) -> None:
    first, second = (Serve("--data-dir", tmp_path / "d", "--durability", "process") for _ in range(2))
    try:
        assert first.ready
        assert second.ready
        server = server_pid(tmp_path / "d")
        assert server is not None
        first.clean_up()
        assert command_line(server)
    finally:
        first.clean_up()
        second.clean_up()
    eventually(lambda: not command_line(server))
