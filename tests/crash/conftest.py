from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.forked_cases import ForkedCases
from tests.support.processes import Serve


@pytest.fixture(scope="session")
def run_case() -> Iterator[ForkedCases]:
    """Runs a case in a process that dies at a chosen write, and returns its report."""
    cases = ForkedCases()
    yield cases
    cases.end()


@pytest.fixture
def serve(redis_url, prefix) -> Iterator[object]:
    """Starts brokers on the Redis of the test; they are stopped at its end."""
    started: list[Serve] = []

    def start() -> Serve:
        started.append(Serve("--redis", redis_url, "--durability", "lossy", environ={"REDIS_LEDGER_PREFIX": prefix}))
        return started[-1]

    yield start
    for each in started:
        each.clean_up()
