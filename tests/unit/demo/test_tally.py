"""The demo's judge notices what it is there to notice."""

from __future__ import annotations

from typing import Any

import pytest

from redis_ledger.app.tools.demo.flights import load, to_route
from redis_ledger.app.tools.demo.tally import Tally, Verdict, tally

ROUTES = [to_route(flight) for flight in load(5)]


def test_each_once_in_any_order_holds() -> None:
    assert tally(ROUTES, reversed(ROUTES)) == Tally(expected=5, seen=5, duplicates=0, losses=0, wrong=0)
    assert tally(ROUTES, reversed(ROUTES)).holds


@pytest.mark.parametrize(
    ("seen", "found"),
    [
        (ROUTES + ROUTES[:1], Tally(5, 6, duplicates=1, losses=0, wrong=0)),
        (ROUTES + ROUTES[:1] * 2, Tally(5, 7, duplicates=2, losses=0, wrong=0)),
        (ROUTES[1:], Tally(5, 4, duplicates=0, losses=1, wrong=0)),
        ([*ROUTES[1:], ROUTES[1]], Tally(5, 5, duplicates=1, losses=1, wrong=0)),
        ([*ROUTES[1:], {**ROUTES[0], "delay": 1}], Tally(5, 5, duplicates=0, losses=1, wrong=1)),
        ([*ROUTES, {"flight": 99}], Tally(5, 6, duplicates=0, losses=0, wrong=1)),
        ([*ROUTES, None, "text", {"flight": "0"}, [1]], Tally(5, 9, duplicates=0, losses=0, wrong=4)),
        ([], Tally(5, 0, duplicates=0, losses=5, wrong=0)),
    ],
)
def test_duplicates_losses_and_wrong_values_are_counted(seen: list[Any], found: Tally) -> None:
    assert tally(ROUTES, seen) == found
    assert not found.holds


def test_verdict_holds_only_if_all_checks_hold() -> None:
    good = {"delays": tally(ROUTES, ROUTES)}
    assert Verdict(good, transactions=3).holds
    assert not Verdict(good, unacknowledged=1).holds
    assert not Verdict(good, torn=1).holds
    assert not Verdict(good, unsettled=1).holds
    assert not Verdict({**good, "routes": tally(ROUTES, ROUTES[1:])}).holds
    assert Verdict(good).as_json()["holds"] is True
