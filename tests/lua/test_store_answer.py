"""lua/broker/store_answer and release_key: an attempt that was overtaken by another one changes nothing."""

from __future__ import annotations

import pytest

from redis_ledger.store.scripts import Script
from tests.support.script_functions import run_script

STORE_ANSWER, RELEASE_KEY = Script.load("broker/store_answer"), Script.load("broker/release_key")
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


@pytest.mark.parametrize(("holder", "is_released"), [(b"me", True), (b"another", False), (None, False)])
def test_a_key_is_released_only_while_its_lease_is_the_callers(connect, prefix, holder, is_released):
    key, run = f"{prefix}:{{idem:1}}".encode(), f"{prefix}:{{idem:1}}|run".encode()
    client = connect(key.decode())
    client.set(key, ANSWERED)
    if holder is not None:
        client.set(run, holder)
    assert run_script(client, RELEASE_KEY, [run, key], [b"me"]) == [0, int(is_released)]
    assert (client.get(key), client.get(run)) == ((None, None) if is_released else (ANSWERED, holder))
    client.delete(key, run)
