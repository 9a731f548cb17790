"""The option --random-order."""

from __future__ import annotations

from tests.support.random_order import RandomOrder


def shuffled(seed: int) -> list[int]:
    items = list(range(50))
    RandomOrder(seed).pytest_collection_modifyitems(items)  # type: ignore[arg-type]
    return items


def test_a_seed_determines_the_order_and_no_test_is_lost():
    assert shuffled(1) == shuffled(1) != shuffled(2)
    assert sorted(shuffled(1)) == list(range(50)) != shuffled(1)


def test_the_seed_is_printed():
    assert "--random-order 7" in RandomOrder(7).pytest_report_header()
