"""Ports for servers under test that nothing else takes: not another worker, not a connection of the system.

They lie below those that the system gives to connections (32 768 and above on Linux), so that a server finds its port
free when it starts a moment later, or starts again. Each process claims a block of its own with an abstract unix
socket, which the kernel releases when the process ends."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import socket
from collections.abc import Iterator

FIRST, PER_BLOCK, BLOCKS = 12_000, 100, 100
BUS = 10_000  # a Redis cluster node also listens that much above its port: 22 000 to 31 999 here

_claimed: dict[int, tuple[socket.socket, Iterator[int]]] = {}  # of this process: a fork claims a block for itself


def free_port() -> int:
    """A port on loopback of which the one 10 000 above is free too."""
    pid = os.getpid()
    if pid not in _claimed:
        _claimed[pid] = _claim()
    return next(port for port in _claimed[pid][1] if _is_free(port) and _is_free(port + BUS))


def _claim() -> tuple[socket.socket, Iterator[int]]:
    for block in random.sample(range(BLOCKS), BLOCKS):
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0redis-ledger-test-ports-{block}")
        except OSError:
            claim.close()
            continue
        first = FIRST + block * PER_BLOCK
        return claim, itertools.cycle(range(first, first + PER_BLOCK))
    raise AssertionError(f"{BLOCKS} processes hold the ports of tests")


def _is_free(port: int) -> bool:
    with socket.socket() as probe, contextlib.suppress(OSError):
        probe.bind(("127.0.0.1", port))
        return True
    return False
