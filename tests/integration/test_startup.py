"""The embedded server starts while the broker is imported, and stops with a broker that never began to serve."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import pytest

from redis_ledger.app.embedded_redis.server import running_pid
from redis_ledger.app.process.addresses import HostPort
from redis_ledger.app.process.command_error import CommandError
from redis_ledger.app.process.startup import Options, listening, starting_redis
from redis_ledger.config import Config


def options(data_dir: Path, port: int = 0) -> Options:
    return Options(data_dir, HostPort("127.0.0.1", port), None, {}, None, "process", Config())


def test_the_caller_goes_on_while_the_server_starts(tmp_path):
    with starting_redis(options(tmp_path), os.environ) as attached:
        assert attached is not None
        assert not attached.done()
        assert attached.result().pid() is not None
    assert running_pid(tmp_path) is None


def test_sigterm_before_the_broker_is_imported_stops_the_server(tmp_path):
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as ended, starting_redis(options(tmp_path), os.environ):
        os.kill(os.getpid(), signal.SIGTERM)
    assert ended.value.code == 0
    assert running_pid(tmp_path) is None
    assert signal.getsignal(signal.SIGTERM) == before


def test_listeners_are_closed_if_one_cannot_be_bound(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(CommandError, match="in use"), listening(options(tmp_path, port)):
            pass
    with listening(options(tmp_path, port)) as listeners:
        assert listeners.http.address.port == port
    assert listeners.http.socket.fileno() == -1
