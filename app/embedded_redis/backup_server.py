"""A Redis server on the data of one node of a backup: it is read, and then stopped.  The backup stays as it is."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from redis_ledger.app.embedded_redis.binary import find_server
from redis_ledger.app.embedded_redis.probe import is_loading, is_ready
from redis_ledger.app.process.command_error import CommandError
from redis_ledger.backup.layout import BASE

START_S_MAX = 30.0  # without a reply; loading is not limited
STOP_S_MAX = 10.0


@contextlib.contextmanager
def backup_server(append_only: Path, environ: Mapping[str, str] = os.environ) -> Iterator[Path]:
    """append_only: the `appendonlydir` of a node. Yields the path of the server's socket. Raises CommandError."""
    binary = find_server(environ).path
    with tempfile.TemporaryDirectory(prefix="redis-ledger-restore-") as folder:
        place = Path(folder)
        _link(append_only, place / "appendonlydir")
        socket = place / "redis.sock"
        with open(place / "log", "wb") as log:
            settings = {
                "port": "0", "unixsocket": str(socket), "unixsocketperm": "700", "dir": folder, "save": "",
                "appendonly": "yes", "appendfsync": "no", "auto-aof-rewrite-percentage": "0",
                "aof-load-truncated": "no", "maxmemory": "0", "daemonize": "no",
            }  # fmt: skip
            words = [word for name, value in settings.items() for word in (f"--{name}", value)]
            server = subprocess.Popen([binary, *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder)
        try:
            _wait(server, socket, place / "log")
            yield socket
        finally:
            server.kill()  # its copy is not needed any more
            server.wait(STOP_S_MAX)


def _link(append_only: Path, copy: Path) -> None:
    """The server appends to the newest file and never changes the snapshot, so that needs no copy."""
    copy.mkdir(mode=0o700)
    for path in append_only.iterdir():
        if path.name == BASE:
            (copy / path.name).symlink_to(path.resolve())
        else:
            shutil.copyfile(path, copy / path.name)


def _wait(server: subprocess.Popen[bytes], socket: Path, log: Path) -> None:
    until_s = time.monotonic() + START_S_MAX
    while not is_ready(socket):
        if server.poll() is not None:
            lines = log.read_text(errors="replace").strip().splitlines() or ["it exited without a message"]
            raise CommandError(f"Redis cannot read the backup: {lines[-1][:200]}")
        if is_loading(socket):
            until_s = time.monotonic() + START_S_MAX
        elif time.monotonic() > until_s:
            raise CommandError(f"The server for the backup does not answer on {socket}.")
        time.sleep(0.02)
