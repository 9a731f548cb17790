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


def test_no_request_passes_more_modules_and_calls_than_those_that_are_named(walks):
    counts = {name: each.counts() for name, each in walks.items()}
    longer = {
        (name, what): (counts[name][what], most)
        for name, before in walk.BEFORE.items()
        for what, most in ((what, count + walk.ADDED[name][what]) for what, count in before.items())
        if counts[name][what] > most
    }
    assert longer == {}


def walks_of(page: dict[str, list[str]], number: int) -> list[str]:
    """The modules of one request, sorted by name."""
    return sorted(module for module, steps in page.items() if steps[number])
