"""A time limit for each test that also holds after its first failure.

pytest-timeout stops its timer at the first failure of a test.  What follows, the end of fixtures and of the event loop
with its tasks, has no limit then, and one task that does not end stops the whole run.

    0                                                    limit       + margin / 2      + margin
    |- pytest-timeout's timer - first failure - this one -|
                                                          |- a failure at the limit: -|- again every margin / 6 -|
                                                             time for the teardown             the process ends

When this timer expires, the main thread gets an exception: the test fails, and the next test runs.  Code that swallows
it is ended by faulthandler, which prints the stacks of all threads and ends the process.  pytest-xdist then reports the
test as crashed and starts a new worker.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
import time
from collections.abc import Generator
from types import FrameType

import pytest
import pytest_timeout  # type: ignore[import-untyped]

MARGIN_S = 60.0


def limit_s(item: pytest.Item) -> float:
    """The limit of pytest-timeout for this test; 0 without one."""
    marker = item.get_closest_marker("timeout")
    named = None if marker is None else marker.args[0] if marker.args else marker.kwargs.get("timeout")
    every = (named, item.config.getoption("timeout"), item.config.getini("timeout"))
    return float(next((each for each in every if each not in (None, "")), 0))


class TimeLimits:
    """A plugin of pytest."""

    def __init__(self, config: pytest.Config, margin_s: float = MARGIN_S) -> None:
        self._margin_s = margin_s
        self._ends_s: float | None = None  # of the running test, by time.monotonic(); None without a limit
        self._runs = False  # a fixture or a test, and not what reports on it
        self._is_debugged = bool(config.getoption("usepdb"))
        # pytest captures stderr while tests run, and pytest-xdist replaces sys.stderr.
        self._stderr = os.dup((sys.__stderr__ or sys.stderr).fileno())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        limit = limit_s(item)
        if limit <= 0 or self._is_debugged or pytest_timeout.is_debugging():
            return (yield)
        self._ends_s = time.monotonic() + limit
        self._end_process_later()
        try:
            return (yield)
        finally:
            self._ends_s = None
            faulthandler.cancel_dump_traceback_later()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None, None, None]:
        return (yield from self._interruptible())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Generator[None, None, None]:
        return (yield from self._interruptible())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Generator[None, None, None]:
        return (yield from self._interruptible())

    @pytest.hookimpl(wrapper=True)
    def pytest_exception_interact(self) -> Generator[None, object, object]:
        result = yield  # pytest-timeout and pytest's own faulthandler plugin stop their timers
        if self._ends_s is not None and not self._is_debugged:
            self._end_process_later()
            self._interrupt_later()
        return result

    def pytest_enter_pdb(self) -> None:
        self._is_debugged = True

    def pytest_unconfigure(self) -> None:
        os.close(self._stderr)

    def _interruptible(self) -> Generator[None, None, None]:
        self._runs = True
        try:
            return (yield)
        finally:
            self._runs = False

    def _end_process_later(self) -> None:
        assert self._ends_s is not None
        left = self._ends_s + self._margin_s - time.monotonic()
        faulthandler.dump_traceback_later(max(left, 0.1), exit=True, file=self._stderr)

    def _interrupt_later(self) -> None:
        """pytest-timeout switches this timer off when the test ends."""
        assert self._ends_s is not None
        if threading.current_thread() is threading.main_thread():
            left = max(self._ends_s - time.monotonic(), self._margin_s / 2)
            signal.signal(signal.SIGALRM, self._interrupt)
            signal.setitimer(signal.ITIMER_REAL, left, self._margin_s / 6)

    def _interrupt(self, _signal: int, _frame: FrameType | None) -> None:
        if self._runs:
            pytest.fail("The test failed before, and what follows its failure does not end.")
