"""Asking a server on a unix socket whether it serves, and a process whether it is that server.

The store is for serving: it loads scripts and retries.  Here a server that is starting, loading or dead is the expected
case, so this asks once, with a time limit, and says what it saw.
"""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

ANSWER_S_MAX = 2.0


def ping(socket_path: Path) -> bytes:
    """The reply, like b"+PONG\r\n"; empty when nobody answers."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
            link.settimeout(ANSWER_S_MAX)
            link.connect(str(socket_path))
            link.sendall(b"PING\r\n")
            return link.recv(4_096)
    except OSError:
        return b""


def is_ready(socket_path: Path) -> bool:
    return ping(socket_path).startswith(b"+PONG")


def is_loading(socket_path: Path) -> bool:
    """It reads its append-only file, and will serve when it has."""
    return ping(socket_path).startswith(b"-LOADING")


def command_line(pid: int) -> str:
    """The words a living process was started with; empty when there is none, or only its zombie."""
    if os.path.exists("/proc/self/cmdline"):
        try:
            # A zombie still has its entry, with nothing in it.
            return os.fsdecode(Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" "))
        except OSError:
            return ""
    shown = subprocess.run(["ps", "-o", "state=,command=", "-p", str(pid)], capture_output=True, text=True, check=False)
    state, _, command = shown.stdout.strip().partition(" ")
    return "" if state.startswith("Z") else command.strip()


def is_server_of(pid: int, conf: Path) -> bool:
    """True if this living process is a server that was started with this configuration file.

    A pid from a file proves nothing: the number may belong to somebody else by now.  Our servers keep their command
    line (`set-proc-title no`), and it ends with the configuration file of their data directory.
    """
    return command_line(pid).endswith(f" {conf}")
