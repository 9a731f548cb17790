"""The demo keeps its promises under kill -9, and its check detects a worker that breaks one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.support.processes import ROOT


def demo(*arguments: str) -> tuple[int, dict[str, Any]]:
    """Exit code and outcome of a small demo."""
    ran = subprocess.run(
        [sys.executable, "-m", "redis_ledger.app.cli.main", "demo", "--json", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith("REDIS_LEDGER_")},
        timeout=100,
        check=False,
    )
    assert ran.stdout, ran.stderr
    return ran.returncode, json.loads(ran.stdout)


@pytest.mark.full
def test_every_flight_comes_out_exactly_once_though_everything_is_killed() -> None:
    code, outcome = demo("--records", "1500", "--rounds", "1")
    kept = ("inputs", "outputs", "duplicates", "losses", "wrong", "unacknowledged")
    assert {name: outcome[name] for name in kept} == {
        "inputs": 1500, "outputs": 3000, "duplicates": 0, "losses": 0, "wrong": 0, "unacknowledged": 0,
    }  # fmt: skip
    assert outcome["kills"]["broker"] >= 1
    assert outcome["kills"]["worker"] >= 1
    assert outcome["kills"]["redis"] >= 1
    assert outcome["transactions"] >= 30
    assert (code, outcome["holds"]) == (0, True)


@pytest.mark.parametrize(
    ("sabotage", "found"), [("duplicate", (1, 0)), pytest.param("lose", (0, 1), marks=pytest.mark.full)]
)
def test_a_worker_that_breaks_a_promise_is_found_out(sabotage: str, found: tuple[int, int]) -> None:
    code, outcome = demo("--records", "400", "--rounds", "0", "--sabotage", sabotage)
    assert (outcome["duplicates"], outcome["losses"]) == found
    assert (code, outcome["holds"]) == (1, False)
