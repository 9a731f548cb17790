"""The Spark demo is exactly-once under kill -9, and its check detects a driver that breaks this on purpose."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import ROOT

TEST_S_MAX = 1600  # five starts of Spark, on a busy machine


def demo(reports: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """Exit code and outcome of a small demo."""
    ran = subprocess.run(
        [sys.executable, "-m", "redis_ledger.app.tools.demo_spark", "--json", "--reports", str(reports), *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith("REDIS_LEDGER_")},
        timeout=TEST_S_MAX - 20,
        check=False,
    )
    assert ran.stdout, ran.stderr
    return ran.returncode, json.loads(ran.stdout)


@pytest.mark.timeout(TEST_S_MAX)
def test_every_hour_is_written_exactly_once_under_kills(tmp_path):
    code, outcome = demo(tmp_path, "--records", "3000")
    for sink in ("topic", "parquet"):
        found = outcome["verdict"][sink]
        assert found["expected"] > 2000
        assert found == {
            "expected": found["expected"],
            "seen": found["expected"],
            "duplicates": 0,
            "losses": 0,
            "wrong": 0,
        }
    assert outcome["kills"] == {"driver": 3, "written": 1, "committed": 1, "broker": 2, "redis": 1}
    assert outcome["aborted"] > 0
    # All flights were offloaded, including the one that closes the hours
    assert outcome["reports"]["offload"]["records"] == 3001
    assert {name: report["code"] for name, report in outcome["reports"].items()} == {
        "hours": 0, "parquet": 0, "flights-before": 0, "offload": 0, "flights": 0, "offloaded": 0,
    }  # fmt: skip
    assert "<h1>The same: 3,001 records on both sides.</h1>" in (tmp_path / "offloaded.html").read_text()
    assert (code, outcome["holds"]) == (0, True)


@pytest.mark.timeout(TEST_S_MAX)
@pytest.mark.parametrize(
    ("sabotage", "found", "message"),
    [
        ("duplicate", (1, 0), "1 record is once too often in B"),
        ("lose", (0, 1), "1 record is missing in B"),
    ],
)
def test_a_driver_that_is_not_exactly_once_is_detected(tmp_path, sabotage, found, message):
    code, outcome = demo(tmp_path, "--records", "400", "--no-kills", "--sabotage", sabotage)
    topic = outcome["verdict"]["topic"]
    assert (topic["duplicates"], topic["losses"]) == found
    assert outcome["verdict"]["parquet"]["losses"] == 0
    assert f"Not the same: {message}." in (tmp_path / "hours.html").read_text()
    assert (code, outcome["holds"]) == (1, False)
