"""lua/broker/store_answer: an attempt that was overtaken by another one under its key changes nothing."""

from __future__ import annotations

import pytest

from redis_ledger.store.scripts import Script
from tests.support.script_functions import run_script

STORE_ANSWER = Script.load("broker/store_answer")
OURS, ANSWERED, OTHER = b"claimed", b"claimed 200", b"claimed 200 by another"


@pytest.mark.parametrize(
    ("holder", "record", "stored", "was_ours"),
    [
        (b"me", OURS, ANSWERED, 1),
        (b"me", None, ANSWERED, 1),
        (b"another", OURS, OURS, 0),  # it was resumed
        (b"another", None, None, 0),
        (None, OURS, ANSWERED, 0),  # the lease has expired, and the attempt that resumed it has died, if there was one
        (None, OTHER, OTHER, 0),  # it was resumed, and answered
        (None, ANSWERED, ANSWERED, 0),  # the call is repeated
    ],
)
def test_an_answer_is_stored_unless_another_attempt_has_taken_over(connect, prefix, holder, record, stored, was_ours):
    key, run = f"{prefix}:{{idem:1}}".encode(), f"{prefix}:{{idem:1}}|run".encode()
    client = connect(key.decode())
    for name, value in ((key, record), (run, holder)):
        if value is not None:
            client.set(name, value)
    assert run_script(client, STORE_ANSWER, [key, run], [b"me", OURS, ANSWERED, 60_000]) == [0, was_ours]
    assert client.get(key) == stored
    assert client.get(run) == (None if holder == b"me" else holder)
    client.delete(key, run)
