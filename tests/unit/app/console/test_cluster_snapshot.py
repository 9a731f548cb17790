"""app/console/cluster_snapshot: the curve shows what was appended, also when a part of the state could not be read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from redis_ledger.app.console.cluster_snapshot import ClusterSnapshot, SnapshotCollector, TopicTotals
from redis_ledger.app.console.views.overview import rates
from redis_ledger.clock import ManualClock


def survey(at_ms: int, unread: int, **appended: int) -> ClusterSnapshot:
    topics = [TopicTotals(name, 1, 0, 0, 0, 0, end) for name, end in appended.items()]
    return ClusterSnapshot(at_ms, topics, [], [], 0, False, unread, None)


@pytest.mark.parametrize(
    ("looks", "expected"),
    [
        ([{"orders": 100}, {"orders": 130}], [15]),
        (
            [{"orders": 100, "big": 90_000}, {"orders": 130}, {"orders": 130, "big": 90_010}],
            [15, 5],
        ),  # big was not read
        ([{"orders": 100, "big": 90_000}, {"orders": 130, "gone": 0}], [15]),
        ([{"orders": 100}, {"orders": 100, "new": 20}], [10]),
        ([{"orders": 100}, {"orders": 4}], [0]),  # deleted and made again
    ],
)
async def test_the_curve_shows_what_was_appended(looks, expected):
    clock = ManualClock(1_000)
    broker: Any = SimpleNamespace(clock=clock)
    watching = SnapshotCollector(broker)
    for ends in looks:
        is_unread = "big" in looks[0] and "big" not in ends and "gone" not in ends

        async def look(now: int, ends: dict[str, int] = ends, is_unread: bool = is_unread) -> ClusterSnapshot:
            return survey(now, int(is_unread), **ends)

        watching._look = look  # type: ignore[method-assign]
        await watching.look()
        clock.advance(2_000)
    assert [each.records_per_s for each in rates(list(watching.samples))] == expected
