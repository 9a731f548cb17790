"""The clock of all limits is never ahead of the wall clock, and goes on."""

from __future__ import annotations

import time

from tests.sim.history import History
from tests.sim.machine_clock import MachineClock


def test_the_machine_clock_goes_on_and_is_not_ahead():
    began_s, clock = time.monotonic(), MachineClock()
    try:
        while clock.machine_s == 0.0:
            time.sleep(0.01)  # a sample takes a tenth of a second at least
        assert 0.0 < clock.machine_s <= time.monotonic() - began_s
    finally:
        clock.stop()


def test_a_history_has_the_machine_time_of_each_moment():
    ticks = [{"at": at, "actor": "run", "kind": "info", "op": "tick", "id": 0, "machine_s": at / 4} for at in range(9)]
    history = History(ticks)
    assert history.machine_s(8.0) - history.machine_s(4.0) == 1.0
