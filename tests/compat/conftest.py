"""What the Python suites share: the broker's address, names of their own, and the list of what must pass.

They run in tests/compat/.venv, by the run.sh of each folder.  Without a broker at KAFKA nothing here is collected, so a
pytest of the project passes over this folder.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.compat import allow_list

KAFKA = os.environ.get("KAFKA", "")
ROOT = Path(__file__).resolve().parents[2]
RESULTS = os.environ.get("COMPAT_RESULTS", "")
if not KAFKA:
    collect_ignore_glob = ["*/*"]


@pytest.fixture(scope="session")
def kafka() -> str:
    return KAFKA


@pytest.fixture
def name() -> Callable[..., str]:
    """name("topic") is a new name, unused so far."""
    return lambda stem="t": f"{stem}-{uuid.uuid4().hex[:10]}"


@pytest.fixture
def eventually() -> Callable[..., object]:
    """Asks again until the answer is true; returns it.  An exception counts as no, until time is up."""

    def until(ask: Callable[[], object], seconds: float = 15) -> object:
        deadline = time.monotonic() + seconds
        while True:
            try:
                answer = ask()
            except Exception:
                if time.monotonic() > deadline:
                    raise
                answer = None
            if answer:
                return answer
            assert time.monotonic() < deadline, f"not within {seconds} s"
            time.sleep(0.05)  # another process has to get there

    return until


@pytest.fixture
def older() -> Iterator[tuple[str, Callable[[str], None]]]:
    """The brokers' address, and what gives orders to tests/support/redis_older.py."""
    if not os.environ.get("HTTP"):
        pytest.skip("HTTP is not the address of the broker's REST port, so it may not be redis-ledger")
    process = subprocess.Popen(
        [os.environ["PYTHON"], "-m", "tests.support.redis_older"],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    said = process.stdout

    def order(text: str) -> None:
        assert process.stdin is not None
        process.stdin.write(text + "\n")
        process.stdin.flush()
        assert said.readline() == "done\n"

    try:
        kafka = said.readline().strip()
        assert kafka, "the brokers did not start"
        yield kafka, order
    finally:
        process.communicate()  # which closes its stdin


# -- which tests run, and what is written about them -------------------------------------------------------------------


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("QUICK") != "1":
        return
    quick = {path: set(allow_list.allowed(path, quick=True)) for path in {item.path.parent for item in items}}
    left_out = [item for item in items if item.name not in quick[item.path.parent]]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item.name in quick[item.path.parent]]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test that is a coroutine gets an event loop; one function is not worth a plugin."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{each: pyfuncitem.funcargs[each] for each in wanted}))
    return True


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if not RESULTS or (report.when != "call" and report.outcome == "passed"):
        return
    said = getattr(getattr(report.longrepr, "reprcrash", None), "message", None) or str(report.longrepr or "")
    first = said.strip().splitlines()[0][:200] if said.strip() else ""
    name = report.nodeid.rpartition("::")[2].replace(" ", "_")
    with Path(RESULTS).open("a") as file:
        file.write(f"{allow_list.PASS if report.passed else allow_list.SKIP if report.skipped else allow_list.FAIL} ")
        file.write(f"{name} {report.duration:.2f} {first}\n")
