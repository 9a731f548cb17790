"""lua/include/deadline: a call that its broker has given up is not executed."""

from __future__ import annotations

import pytest
from redis.exceptions import ResponseError

from redis_ledger.store.scripts import Script
from tests.support.script_functions import call_of, run_script

WRITE = Script.load("broker/write_allow_oom")


@pytest.mark.parametrize(("from_now_s", "is_executed"), [(60, True), (-1, False)])
def test_a_call_is_executed_until_its_deadline(connect, prefix, from_now_s, is_executed):
    key = f"{prefix}:{{late}}".encode()
    client = connect(key.decode())
    run_script(client, WRITE, [key], ["SET", "before"])  # without a deadline
    seconds, microseconds = client.time()
    *command, _ = call_of(client, WRITE, [key], ["SET", "after"])
    command.append(int((seconds + from_now_s) * 1000 + microseconds / 1000))
    if is_executed:
        client.execute_command(*command)
    else:
        with pytest.raises(ResponseError, match="LATE"):
            client.execute_command(*command)
    assert client.get(key) in ("after" if is_executed else "before", b"after" if is_executed else b"before")
    client.delete(key)
