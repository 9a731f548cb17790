"""CPU and memory of a server: of its processes and their children, read from /proc.

CPU       Redis rewrites its append-only file in a child, and Kafka's threads continue after the last response.  Both
          belong to the load that caused them, so CPU is counted until the server is idle again, and the next server
          starts undisturbed.
memory    the most that was resident at any time of the load, added up over the processes.  What a rewriting child
          adds is a figure of its own: the pages that it does not share any more.
"""

from __future__ import annotations

import contextlib
import os
import resource
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

from bench.kafka_peer.servers import Server
from bench.processes import PROC, memory_mb

QUIET_WINDOW_S, QUIET_CPU_S, QUIET_WAIT_S_MAX = 0.3, 0.03, 10.0
LOOK_EVERY_S = 0.2
RESET_PEAK = "5"  # proc(5), clear_refs


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
    brokers = server.broker_pids()
    if not set(brokers) <= seconds.keys():
        return None
    store = _with_children(server.store_pids(), parents)
    # The embedded Redis is a child of the broker that started it, but not of one that took it over.
    broker = _with_children(brokers, parents) - store
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


class Memory:
    """The peaks of a load, in MB: `memory_mb` of broker and Redis, `rewrite_mb` of children of Redis."""

    def __init__(self, server: Server) -> None:
        self._pids = {*server.broker_pids(), *server.store_pids()}
        self._stores = server.store_pids()
        self._rewrite_mb = 0.0

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        for pid in self._pids:
            with contextlib.suppress(OSError):
                (PROC / str(pid) / "clear_refs").write_text(RESET_PEAK)
        over = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(over,))
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()

    def _watch(self, over: threading.Event) -> None:
        while not over.wait(LOOK_EVERY_S):
            self._rewrite_mb = max(self._rewrite_mb, sum(map(_private_mb, self._children())))

    def _children(self) -> Iterator[int]:
        for pid in self._stores:
            with contextlib.suppress(OSError):
                yield from map(int, (PROC / str(pid) / "task" / str(pid) / "children").read_text().split())

    def peaks(self) -> dict[str, float]:
        """Empty if the machine does not provide them."""
        peaks = [memory_mb(pid, "VmHWM") for pid in self._pids]
        if None in peaks:
            return {}
        return {"memory_mb": sum(filter(None, peaks)), "rewrite_mb": self._rewrite_mb}


def _private_mb(pid: int) -> float:
    try:
        lines = (PROC / str(pid) / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0  # it has ended
    return sum(int(line.split()[1]) for line in lines if line.startswith(("Private_Dirty:", "Private_Clean:"))) / 1000


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


def _with_children(pids: list[int], parents: dict[int, int]) -> set[int]:
    found, fresh = set(pids), set(pids)
    while fresh:
        fresh = {child for child, parent in parents.items() if parent in fresh} - found
        found |= fresh
    return found
