"""The disk of a Redis server of a run: full, slow, and as it was again."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hiredis import ReplyError

from tests.sim import disk
from tests.sim.disk import Disk
from tests.support.processes import eventually
from tests.support.redis_servers import Server


@pytest.fixture
def started(tmp_path: Path, request: pytest.FixtureRequest):
    its = Disk(tmp_path)
    server = Server(tmp_path, environ=its.environ, appendonly="yes", appendfsync=request.param)
    server.start()
    try:
        assert its.is_ours or disk.library() is None  # without a compiler, the faults of disks are left out
        yield its, server
    finally:
        server.kill()


@pytest.mark.parametrize("started", ["no"], indirect=True)
def test_a_full_disk_refuses_writes_until_there_is_room(started):
    its, server = started
    its.is_full = True
    server.ask("SET", "a", "1")  # Redis finds out when it writes the file
    assert isinstance(server.ask("SET", "b", "2"), ReplyError) or disk.library() is None
    its.is_full = False
    eventually(lambda: server.ask("SET", "c", "3") == b"OK")  # Redis tries once a second
    server.kill()
    server.start()
    eventually(lambda: server.ask("GET", "c") == b"3")  # it loads the file first


@pytest.mark.parametrize("started", ["always"], indirect=True)
def test_a_slow_disk_delays_what_is_synced(started):
    its, server = started
    its.sync_ms = 100
    began = time.monotonic()
    server.ask("SET", "a", "1")
    assert time.monotonic() - began >= 0.1 or disk.library() is None
