"""lua/include/ended_transactions: a committed step outlives its outcome until its response is stored."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.ledger_scripts import TxnCoordinator

DAY_MS = 86_400_000


def committed(coordinator: TxnCoordinator, nonce: str, **more: Any) -> str:
    """Its outcome is forgotten at once."""
    serial = coordinator.begin(60_000, "-", nonce)
    coordinator.apply(f"end {serial} C", f"complete {serial}", keep=0, **more)
    assert not coordinator.client.hexists(coordinator.keys.outcomes, serial)
    return serial


def again(coordinator: TxnCoordinator, nonce: str) -> str:
    return coordinator.one(f"begin 60000 - {nonce}")


def held(coordinator: TxnCoordinator) -> tuple[set[bytes], set[bytes]]:
    """Nonces, and steps; without the sentinels."""
    client, keys = coordinator.client, coordinator.keys
    return set(client.hkeys(keys.nonces)) - {b""}, set(client.zrange(keys.steps, 0, -1)) - {b""}


def test_a_committed_step_is_known_when_its_outcome_is_forgotten(coordinator):
    """CL-13"""
    serial = committed(coordinator, "!a")
    coordinator.now += DAY_MS - 1
    committed(coordinator, "!b")
    assert again(coordinator, "!a") == f"0 {serial} committed"


def test_a_step_whose_answer_is_stored_leaves_nothing(coordinator):
    committed(coordinator, "!a")
    assert held(coordinator) == ({b"!a"}, {b"!a"})
    assert coordinator.one("forget_step !a") == "0"
    assert held(coordinator) == (set(), set())
    assert coordinator.one("forget_step !a") == "0"


def test_an_outcome_that_is_still_remembered_keeps_the_nonce_of_an_answered_step(coordinator):
    serial = coordinator.begin(60_000, "-", "!a")
    coordinator.apply(f"end {serial} C", f"complete {serial}", "forget_step !a")
    assert held(coordinator) == ({b"!a"}, set())
    assert again(coordinator, "!a") == f"0 {serial} again"
    committed(coordinator, "-")
    assert held(coordinator) == (set(), set())


def test_an_answer_that_is_stored_before_the_end_is_done_changes_nothing_yet(coordinator):
    serial = coordinator.begin(60_000, "-", "!a")
    coordinator.apply(f"end {serial} C", "forget_step !a")
    assert held(coordinator) == ({b"!a"}, set())
    assert coordinator.one(f"complete {serial}") == "0 C"
    assert held(coordinator) == ({b"!a"}, {b"!a"})  # until its key has gone


@pytest.mark.parametrize(("nonce", "outcome"), [("a", "C"), ("!a", "A"), ("@7:0:pay", "C")])
def test_steps_that_cannot_be_repeated_are_not_kept(coordinator, nonce, outcome):
    serial = coordinator.begin(60_000, "-", nonce)
    coordinator.apply(f"end {serial} {outcome}", f"complete {serial}", keep=0)
    assert held(coordinator) == (set(), set())
    assert again(coordinator, nonce) == f"0 {int(serial) + 1}"


def test_a_step_is_forgotten_when_its_key_has_gone(coordinator):
    committed(coordinator, "!a")
    coordinator.now += DAY_MS
    serial = committed(coordinator, "!b")
    assert held(coordinator) == ({b"!b"}, {b"!b"})
    assert again(coordinator, "!a") == f"0 {int(serial) + 1}"


def test_no_more_steps_are_kept_than_the_call_says(coordinator):
    for n in range(10):
        committed(coordinator, f"!{n}", steps=4)
    kept = {b"!%d" % n for n in range(6, 10)}
    assert held(coordinator) == (kept, kept)


def test_a_step_that_is_not_done_yet_is_found_as_it_is(coordinator):
    serial = coordinator.begin(60_000, "-", "!a")
    assert again(coordinator, "!a") == f"0 {serial} again"
    coordinator.one(f"end {serial} C")
    assert again(coordinator, "!a") == f"0 {serial} again"


@pytest.mark.parametrize("is_timeout", [False, True])
def test_a_step_that_is_being_aborted_is_found_until_its_abort_is_complete(coordinator, is_timeout):
    """Until then its acknowledgements conflict with those of the repeated step."""
    serial = coordinator.begin(60_000, "-", "!a")
    plain = coordinator.begin(60_000, "-", "a")
    if is_timeout:
        coordinator.now += 60_001
        coordinator.apply(f"expire {serial}", f"expire {plain}")
    else:
        coordinator.apply(f"end {serial} A", f"end {plain} A")
    assert again(coordinator, "!a") == f"0 {serial} again"
    assert again(coordinator, "a") == f"0 {int(plain) + 1}"  # not a step: nothing of it is repeated
    assert coordinator.apply(f"complete {serial}").lines[0].startswith("0 ")
    assert again(coordinator, "!a") == f"0 {int(plain) + 2}"
