"""CPU of a server: seconds of its processes and their children, read from /proc.

Redis rewrites its append-only file in a child, and Kafka's threads continue after the last response.  Both belong to
the load that caused them, so CPU is counted until the server is idle again, and the next server starts undisturbed.
"""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path
from typing import NamedTuple

from bench.kafka_peer.servers import Server

PROC = Path("/proc")
QUIET_WINDOW_S, QUIET_CPU_S, QUIET_WAIT_S_MAX = 0.3, 0.03, 10.0


class Cpu(NamedTuple):
    """Seconds since the processes began.  store_s: of Redis, not included in broker_s."""

    broker_s: float
    store_s: float

    @property
    def total_s(self) -> float:
        return self.broker_s + self.store_s


def used_by(server: Server) -> Cpu | None:
    """None if the machine does not provide it."""
    seconds, parents = _processes()
    if server.pid not in seconds:
        return None
    store_pid = server.store_pid()
    store = set() if store_pid is None else _with_children(store_pid, parents)
    # The embedded Redis is a child of the broker that started it, but not of one that took it over.
    broker = _with_children(server.pid, parents) - store
    return Cpu(sum(seconds.get(pid, 0.0) for pid in broker), sum(seconds.get(pid, 0.0) for pid in store))


def used_by_clients() -> float:
    """Seconds of all client programs that have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def await_quiet(server: Server) -> None:
    """Waits until the server is idle, but not forever, since some servers never are."""
    until_s = time.monotonic() + QUIET_WAIT_S_MAX
    before = used_by(server)
    while before is not None and time.monotonic() < until_s:
        time.sleep(QUIET_WINDOW_S)
        now = used_by(server)
        if now is None or now.total_s - before.total_s <= QUIET_CPU_S:
            return
        before = now


def _processes() -> tuple[dict[int, float], dict[int, int]]:
    """Returns the CPU seconds of each process, including ended children, and its parent."""
    seconds, parents = {}, {}
    for entry in PROC.glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()  # the name in parentheses may contain spaces
        except OSError:
            continue  # it has ended
        pid = int(entry.parent.name)
        parents[pid] = int(fields[1])
        seconds[pid] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return seconds, parents


def _with_children(pid: int, parents: dict[int, int]) -> set[int]:
    found, fresh = {pid}, {pid}
    while fresh:
        fresh = {child for child, parent in parents.items() if parent in fresh} - found
        found |= fresh
    return found
