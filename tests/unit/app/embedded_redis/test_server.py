"""The embedded server's life: started once, shared, restarted, taken over, stopped by the last."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from redis_ledger.app.embedded_redis.probe import is_ready, is_server_of
from redis_ledger.app.embedded_redis.server import EmbeddedServer
from redis_ledger.app.process.command_error import CommandError
from tests.support.busy_machine import within

Attach = Callable[..., EmbeddedServer]


@pytest.fixture
def attach() -> Iterator[Attach]:
    """EmbeddedServer.attach whose holds are released after the test, so that no server outlives it."""
    holds: list[EmbeddedServer] = []

    def open_one(data_dir: Path, durability: str = "process") -> EmbeddedServer:
        holds.append(EmbeddedServer.attach(data_dir, durability))  # type: ignore[arg-type]
        return holds[-1]

    yield open_one
    for hold in holds:
        hold.release()
    for hold in holds:
        hold.pid()  # reaps a server that another hold has stopped


def kill_server(hold: EmbeddedServer) -> int:
    pid = hold.pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    return pid


def test_server_listens_only_on_a_socket_in_a_private_directory(attach: Attach, tmp_path: Path) -> None:
    hold = attach(tmp_path / "data", "disk")
    conf = (tmp_path / "data" / "redis.conf").read_text()
    assert is_ready(hold.socket)
    assert hold.socket == tmp_path / "data" / "redis.sock"
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "data" / "redis.conf").stat().st_mode) == 0o600
    assert "\nport 0\n" in conf
    assert "\nappendfsync always\n" in conf
    assert "\nmaxmemory-policy noeviction\n" in conf


def test_unknown_server_process_is_not_touched(attach: Attach, tmp_path: Path) -> None:
    # Given a server whose number names nothing here, as that of another container does
    hold = attach(tmp_path / "data")
    pid = hold.pid()
    conf = (tmp_path / "data" / "redis.conf").read_bytes()
    (tmp_path / "data" / "redis.pid").write_text("1\n")
    child, hold._child = hold._child, None
    # When a broker joins, with any durability, and when the watcher checks
    for durability in ("process", "disk"):
        with pytest.raises(CommandError, match="in use"):
            attach(tmp_path / "data", durability)
    with pytest.raises(CommandError, match="outside this machine or container"):
        hold.ensure_running()
    # Then there is no second server on its files, and the first is as it was
    assert (tmp_path / "data" / "redis.conf").read_bytes() == conf
    assert is_ready(hold.socket)
    (tmp_path / "data" / "redis.pid").write_text(f"{pid}\n")
    hold._child = child
    assert hold.pid() == pid


def test_last_broker_stops_the_server(attach: Attach, tmp_path: Path) -> None:
    # Given two brokers on one directory
    first, second = attach(tmp_path / "data"), attach(tmp_path / "data")
    pid = first.pid()
    assert pid is not None
    assert second.pid() == pid
    # When one leaves, the other's server still runs
    first.release()
    assert second.pid() == pid
    # And when the last one leaves, it is gone
    second.release()
    assert second.pid() is None
    assert not is_server_of(pid, second.conf)
    assert not second.socket.exists()


def test_data_survives_a_clean_stop(attach: Attach, tmp_path: Path) -> None:
    first = attach(tmp_path / "data")
    assert speak(first, "SET", "k", "kept") == "OK"
    first.release()
    assert speak(attach(tmp_path / "data"), "GET", "k") == "kept"


async def test_killed_server_restarts_within_a_second_with_its_data(attach: Attach, tmp_path: Path) -> None:
    # Given a watched server that has answered a write
    hold = attach(tmp_path / "data")
    watcher = asyncio.create_task(hold.watch(lambda sentence: None))
    assert speak(hold, "SET", "k", "kept") == "OK"
    # When it is killed
    killed = kill_server(hold)
    async with within(1.0):
        while not is_served(hold):
            await asyncio.sleep(0.01)
    # Then another one serves the same data
    assert hold.pid() not in (None, killed)
    assert speak(hold, "GET", "k") == "kept"
    watcher.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await watcher


def test_server_of_a_killed_broker_is_reused_and_then_stopped(attach: Attach, tmp_path: Path) -> None:
    # Given a broker that started the server and was killed
    orphan = killed_broker(tmp_path / "data", "process")
    # When the next one comes, it finds that server and owns it
    hold = attach(tmp_path / "data")
    assert hold.pid() == orphan
    hold.release()
    assert hold.pid() is None


def test_reused_server_may_get_another_durability(attach: Attach, tmp_path: Path) -> None:
    orphan = killed_broker(tmp_path / "data", "process")
    hold = attach(tmp_path / "data", "disk")
    assert hold.pid() != orphan
    assert speak(hold, "CONFIG", "GET", "appendfsync") == "always"


def test_directory_in_use_rejects_another_durability(attach: Attach, tmp_path: Path) -> None:
    first = attach(tmp_path / "data", "disk")
    pid = first.pid()
    with pytest.raises(CommandError, match="in use with durability disk"):
        attach(tmp_path / "data", "process")
    assert first.pid() == pid


def test_a_long_path_puts_the_socket_under_the_temp_folder(attach: Attach, tmp_path: Path) -> None:
    # Given a data directory whose socket path no kernel would take
    data_dir = tmp_path / ("x" * 60) / ("y" * 60)
    hold = attach(data_dir)
    # Then the socket is in a closed directory elsewhere, which the data directory names
    assert str(hold.socket).startswith(tempfile.gettempdir())
    assert (data_dir / "socket-path").read_text().strip() == str(hold.socket)
    assert stat.S_IMODE(hold.socket.parent.stat().st_mode) == 0o700
    assert is_ready(hold.socket)
    # And nothing of it is left behind
    elsewhere = hold.socket.parent
    hold.release()
    assert not elsewhere.exists()


def test_two_names_of_one_directory_are_one_server(attach: Attach, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(tmp_path / "data")
    assert attach(tmp_path / "data").pid() == attach(tmp_path / "alias").pid()


def test_odd_characters_in_the_path_are_fine(attach: Attach, tmp_path: Path) -> None:
    hold = attach(tmp_path / 'a "b" \\ 100%')
    assert is_ready(hold.socket)
    assert " " not in hold.url


def test_directory_with_other_content_is_rejected(attach: Attach, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    mode = tmp_path.stat().st_mode
    with pytest.raises(CommandError, match="neither empty nor a data directory"):
        attach(tmp_path)
    assert os.listdir(tmp_path) == ["thesis.txt"]
    assert tmp_path.stat().st_mode == mode


def test_reused_pid_is_detected(attach: Attach, tmp_path: Path) -> None:
    # Given a stale pid file with the number of a process that is not ours to stop
    hold = attach(tmp_path / "data")
    kill_server(hold)
    (tmp_path / "data" / "redis.pid").write_text(f"{os.getpid()}\n")
    # Then a new server is started, and it is the one that is stopped
    hold.ensure_running()
    assert hold.pid() not in (None, os.getpid())


def test_start_error_contains_the_last_log_line(attach: Attach, tmp_path: Path) -> None:
    # Given an unreadable append-only file
    hold = attach(tmp_path / "data")
    assert speak(hold, "SET", "k", "v") == "OK"
    hold.release()
    for part in (tmp_path / "data" / "appendonlydir").glob("*.incr.aof"):
        part.write_bytes(b"*1\r\n$not a number\r\n" * 9)
    with pytest.raises(CommandError, match=r"does not start: .+ \(see redis\.log there\)"):
        attach(tmp_path / "data")


def speak(hold: EmbeddedServer, *words: str) -> str:
    """The last word of the answer, over a plain socket."""
    import socket

    with socket.socket(socket.AF_UNIX) as link:
        link.connect(str(hold.socket))
        link.sendall(b"".join([b"*%d\r\n" % len(words), *(b"$%d\r\n%s\r\n" % (len(w), w.encode()) for w in words)]))
        return link.recv(4096).decode().strip().rsplit("\r\n", 1)[-1].removeprefix("+")


def is_served(hold: EmbeddedServer) -> bool:
    try:
        return speak(hold, "PING") == "PONG"
    except OSError:
        return False


def killed_broker(data_dir: Path, durability: str) -> int:
    """A process attaches and dies by kill -9; the server it left."""
    program = (
        "import os, signal, sys; from pathlib import Path; from redis_ledger.app.embedded_redis.server import "
        "EmbeddedServer;"
        "print(EmbeddedServer.attach(Path(sys.argv[1]), sys.argv[2]).pid(), flush=True); os.kill(os.getpid(), "
        "signal.SIGKILL)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, data_dir, durability], capture_output=True, text=True, check=False
    )
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    return int(ran.stdout)
