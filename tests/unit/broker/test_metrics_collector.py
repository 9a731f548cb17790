"""The metrics of coordinators, by the label that they are shown under."""

from __future__ import annotations

from redis_ledger.broker.metrics_collector import CoordinatorMetrics, by_label


def row(number: int, *, oldest_ms: int = 0) -> CoordinatorMetrics:
    return CoordinatorMetrics(number, oldest_ms, number, number, number, number, number, number)


def test_each_coordinator_has_its_own_label():
    assert by_label([row(1), row(2)], 2) == {0: row(1), 1: row(2)}


def test_coordinators_beyond_the_limit_share_a_label_with_sums_and_the_age_of_the_oldest():
    rows = [row(1, oldest_ms=9), row(2), row(3, oldest_ms=5), row(4, oldest_ms=7), row(5)]
    assert by_label(rows, 2) == {0: row(1, oldest_ms=9), 1: row(2), "other": row(12, oldest_ms=7)}
