"""Random order of tests: `pytest --random-order 7`.  A seed gives the same order in every process and every run."""

from __future__ import annotations

import random

import pytest


class RandomOrder:
    """A plugin of pytest."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def pytest_report_header(self) -> str:
        return f"random order: --random-order {self._seed}"

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        random.Random(self._seed).shuffle(items)
