"""Probes of the embedded server: whether it responds on its socket, and whether a process is that server.

The store is not used, because it loads scripts and retries.  Here the server may be starting, loading or dead, so the
probe is sent once, with a timeout.
"""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

ANSWER_S_MAX = 2.0


def ask(socket_path: Path, command: str) -> bytes:
    """Returns the reply to a command of a few words, such as b"+PONG\r\n".  Raises OSError if there is none."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.settimeout(ANSWER_S_MAX)
        link.connect(str(socket_path))
        link.sendall(f"{command}\r\n".encode())
        reply = link.recv(4_096)
        if reply.startswith(b"$"):
            head, _, _ = reply.partition(b"\r\n")
            size = len(head) + 2 + int(head[1:]) + 2
            while len(reply) < size and (more := link.recv(65_536)):
                reply += more
        return reply


def ping(socket_path: Path) -> bytes:
    """Returns the reply, such as b"+PONG\r\n"; empty if there is none."""
    try:
        return ask(socket_path, "PING")
    except OSError:
        return b""


def info(socket_path: Path, *sections: str) -> dict[str, str]:
    """Sections of INFO, also while the server loads its data.  Raises OSError."""
    lines = ask(socket_path, f"INFO {' '.join(sections)}").decode(errors="replace").splitlines()
    return {name: value for name, colon, value in (line.partition(":") for line in lines) if colon}


def is_ready(socket_path: Path) -> bool:
    return ping(socket_path).startswith(b"+PONG")


def is_loading(socket_path: Path) -> bool:
    """Whether the server is loading its append-only file."""
    return ping(socket_path).startswith(b"-LOADING")


def command_line(pid: int) -> str:
    """The arguments of a running process; empty if there is none or it is a zombie."""
    if os.path.exists("/proc/self/cmdline"):
        try:
            # A zombie has an empty entry.
            return os.fsdecode(Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" "))
        except OSError:
            return ""
    shown = subprocess.run(["ps", "-o", "state=,command=", "-p", str(pid)], capture_output=True, text=True, check=False)
    state, _, command = shown.stdout.strip().partition(" ")
    return "" if state.startswith("Z") else command.strip()


def is_server_of(pid: int, conf: Path) -> bool:
    """Whether the process runs and is a server that was started with this configuration file.

    The pid alone is not sufficient, because pids are reused.  EmbeddedServer servers keep their command line
    (`set-proc-title no`), which ends with the configuration file of their data directory.
    """
    return command_line(pid).endswith(f" {conf}")
