"""Commands that write to Redis themselves, at durability `replicas`."""

from __future__ import annotations

import pytest

from tests.support.cli import run
from tests.support.redis_servers import replicated

SETTINGS = ("--set", "min_insync_replicas=2", "--set", "replicas_timeout_ms=300")
LEVEL = {"REDIS_LEDGER_DURABILITY": "replicas", "REDIS_LEDGER_REPLICAS_TIMEOUT_MS": "300"}


@pytest.mark.parametrize(("settings", "environ"), [(SETTINGS, {}), ((), LEVEL)])
def test_a_command_fails_if_no_replica_confirms_its_write(settings, environ):
    with replicated(1) as [primary, replica]:
        command = ("tokens", "create", "ada", "--redis", primary.url)
        assert run(*command, *settings, **environ).code == 0
        # When the replica stops
        replica.freeze()
        assert run(*command).code == 0
        ended = run(*command, *settings, **environ)
        replica.thaw()
    assert ended.code == 1
    assert "replica" in ended.err or "copies" in ended.err, ended.err
