"""What tests start ends with them, however they end: a process that lives a moment longer ends what was named to it.

    tests ── a pipe: "process 4711", "folder /tmp/x/data" ──→ reaper
      ✗ done, or killed: the kernel closes the pipe ────────→ it ends what is left, by pid, and goes

A process is held by a descriptor where the system has them, so that a number that was reused since is
not taken for it.  A folder stands for the embedded server in it, which outlives its broker on purpose.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from redis_ledger.app.embedded_redis.probe import is_server_of

ROOT = Path(__file__).resolve().parents[2]
FOLDER_S_MAX = 5.0  # for a server that a broker was just starting
_writing = threading.Lock()


def ends_with_us(process: subprocess.Popen[bytes] | subprocess.Popen[str]) -> None:
    _tell(f"process {process.pid}")


def server_ends_with_us(data_dir: Path) -> None:
    """The embedded server of this folder, whichever process starts it."""
    _tell(f"folder {data_dir.expanduser().resolve()}")


def end_server(data_dir: Path) -> int | None:
    """kill -9 of the embedded server; its process id, None when none runs."""
    pid = server_pid(data_dir)
    if pid is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return pid


def server_pid(data_dir: Path) -> int | None:
    folder = data_dir.expanduser().resolve()
    try:
        pid = int((folder / "redis.pid").read_text())
    except (OSError, ValueError):
        return None
    return pid if pid > 0 and is_server_of(pid, folder / "redis.conf") else None


def _tell(line: str) -> None:
    with _writing:
        pipe = _reaper(os.getpid()).stdin
        assert pipe is not None
        pipe.write(line.encode() + b"\n")


@functools.cache
def _reaper(_: int) -> subprocess.Popen[bytes]:
    """One for each process id: a process that forks must not hold its parent's open."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.reaper"],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd=ROOT, bufsize=0,
        start_new_session=True,  # Ctrl-C is for the tests; it ends after them
    )  # fmt: skip


# -- the other process -------------------------------------------------------------------------------------------------


class Held:
    """A process that may end before us."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.descriptor = -1
        if hasattr(os, "pidfd_open"):
            with contextlib.suppress(OSError):  # gone already, then there is nothing to do
                self.descriptor = os.pidfd_open(pid)

    @property
    def is_gone(self) -> bool:
        if not hasattr(os, "pidfd_open"):
            return False
        return self.descriptor < 0 or bool(select.select([self.descriptor], [], [], 0)[0])

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            if self.descriptor >= 0:
                signal.pidfd_send_signal(self.descriptor, signal.SIGKILL)
            elif not hasattr(os, "pidfd_open"):
                os.kill(self.pid, signal.SIGKILL)

    def let_go(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)


def still_there(held: list[Held]) -> Iterator[Held]:
    for each in held:
        if each.is_gone:
            each.let_go()
        else:
            yield each


def is_served(folder: Path) -> bool:
    """A server holds this lock from its first instruction on, before it has a pid file."""
    try:
        with open(folder / "server.lock") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass  # it was deleted, or never made
    return False


def main() -> None:
    held: list[Held] = []
    folders: dict[Path, None] = {}
    for line in sys.stdin:
        kind, _, rest = line.rstrip("\n").partition(" ")
        if kind == "folder":
            folders[Path(rest)] = None
        else:
            held = [*still_there(held), Held(int(rest))]
    for each in held:
        each.end()
    until_s = time.monotonic() + FOLDER_S_MAX
    left = list(folders)
    while left and time.monotonic() < until_s:
        for folder in left:
            end_server(folder)
        left = [folder for folder in left if is_served(folder)]
        time.sleep(0.01)  # between two looks at processes that are not ours


if __name__ == "__main__":
    main()
