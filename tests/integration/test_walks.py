"""The modules that a request passes, as docs/architecture.md lists them."""

from __future__ import annotations

import asyncio

import pytest

from bench import walk


@pytest.fixture(scope="module")
def walks():
    return asyncio.run(walk.measure())


def test_the_page_has_the_modules_of_each_request(walks):
    measured = {module.removeprefix("redis_ledger/"): steps for module, steps in walk.page_steps(walks).items()}
    names = list(walks)
    assert [walks_of(measured, number) for number in range(len(names))] == [
        walks_of(walk.read_page(), number) for number in range(len(names))
    ], "run `python -m bench.walk --write`"


def test_each_request_passes_fewer_calls_and_no_unnamed_modules_more_than_before(walks):
    counts = {name: each.counts() for name, each in walks.items()}
    longer = {
        (name, what): (counts[name][what], most)
        for name, before in walk.BEFORE.items()
        for what, most in (("modules", before["modules"] + walk.ADDED.get(name, 0)), ("calls", before["calls"] - 1))
        if counts[name][what] > most
    }
    assert longer == {}


def walks_of(page: dict[str, list[str]], number: int) -> list[str]:
    """The modules of one request, sorted by name."""
    return sorted(module for module, steps in page.items() if steps[number])
