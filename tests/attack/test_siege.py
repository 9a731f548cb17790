"""The harness itself: what it starts serves, within the memory that it has."""

from __future__ import annotations

import signal
import time

import pytest

from tests.attack.harness import LIVEZ_S_MAX, LIVEZ_TIMES_MAX, MEMORY_BYTES, STRAIN_MAX, besieged


def test_bystanders_are_served_while_nothing_happens(siege):
    status, _ = siege.ask("GET", "/v1/topics")
    assert status == 200
    seen = siege.check()
    assert seen["memory_mb"] < MEMORY_BYTES / 1e6


def test_a_broker_that_stands_still_is_noticed():
    with besieged() as siege:
        siege.broker.process.send_signal(signal.SIGSTOP)
        # For this long the broker answers no client.
        time.sleep(1.5 * STRAIN_MAX * max(LIVEZ_S_MAX, LIVEZ_TIMES_MAX * siege.baseline_s))
        siege.broker.process.send_signal(signal.SIGCONT)
        with pytest.raises(AssertionError, match="/livez took"):
            siege.check()
