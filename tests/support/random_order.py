"""Other orders of tests.

    pytest --random-order 7     all tests shuffled; a seed gives the same order in every process and every run
    pytest --mix-files          files in an arbitrary order that is always the same; tests of a file stay together

Suites that wait and suites that compute come one after the other.  Workers of xdist take neighbouring tests, so without
--mix-files all of them wait at the same time.
"""

from __future__ import annotations

import hashlib
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


class MixedFiles:
    """A plugin of pytest."""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: hashlib.sha256(item.location[0].encode()).digest())
