"""A test that fails and does not end does not stop the run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
MARGIN_S = 6  # a busy machine needs seconds to write a report
CONFTEST = f"""
from tests.support.time_limits import TimeLimits

def pytest_configure(config):
    config.pluginmanager.register(TimeLimits(config, margin_s={MARGIN_S}))
"""
TESTS = """
import asyncio
import time
import pytest

async def stubborn():
    while True:
        try:
            await asyncio.sleep(3_600)
        except asyncio.CancelledError:
            pass

@pytest.mark.timeout(1)
async def test_fails_and_leaves_a_task():
    task = asyncio.create_task(stubborn())
    await asyncio.sleep(0)
    assert task.done()

@pytest.mark.timeout(1)
async def test_waits_for_a_task():
    await asyncio.create_task(stubborn())

@pytest.fixture
def endless():
    yield
    while True:
        try:
            time.sleep(3_600)  # longer than any limit
        except BaseException:
            pass

@pytest.mark.timeout(1)
def test_fails_and_has_an_endless_fixture(endless):
    assert False

def test_next():
    assert True
"""


def test_what_does_not_end_after_a_failure_is_ended_and_the_next_test_runs(tmp_path):
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nasyncio_mode = auto\ntimeout = 300\nasyncio_default_fixture_loop_scope = function\n"
    )
    plugins = ["-p", "pytest_asyncio.plugin", "-p", "pytest_timeout", "-p", "xdist", "-p", "no:cacheprovider"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-rA", "-n", "1", *plugins],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    printed = run.stdout + run.stderr
    # A failed assertion, then an error of the teardown, which was interrupted.
    assert set(re.findall(r"^(PASSED|FAILED|ERROR) test_it.py::(\w+)", run.stdout, re.MULTILINE)) == {
        ("FAILED", "test_fails_and_leaves_a_task"), ("ERROR", "test_fails_and_leaves_a_task"),
        ("FAILED", "test_waits_for_a_task"), ("ERROR", "test_waits_for_a_task"),
        ("FAILED", "test_fails_and_has_an_endless_fixture"), ("PASSED", "test_next"),
    }, printed  # fmt: skip
    assert "what follows its failure does not end" in printed
    # The fixture swallows the exception, so its process ends, and the stack says where it was.
    crashed = re.findall(r"^worker '\w+' crashed while running '.*::(\w+)'", run.stdout, re.MULTILINE)
    assert crashed == ["test_fails_and_has_an_endless_fixture"], printed
    assert re.search(r"^Timeout \(.*\)!\n(.*\n)*.* in endless$", run.stderr, re.MULTILINE), printed
