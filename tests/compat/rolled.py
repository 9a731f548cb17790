"""Brokers of a test's own that are stopped, killed and started again: what tests/support/rolling_restart.py does."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Brokers:
    """kafka: their addresses, in the order of their numbers."""

    def __init__(self, count: int = 2) -> None:
        self._process = subprocess.Popen(
            [os.environ["PYTHON"], "-m", "tests.support.rolling_restart", str(count)],
            cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        self.kafka = self._line()

    def ask(self, order: str) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(order + "\n")
        self._process.stdin.flush()
        return self._line()

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        assert line, "the brokers have ended"
        return line

    def clean_up(self) -> None:
        self._process.communicate()  # which closes its stdin
