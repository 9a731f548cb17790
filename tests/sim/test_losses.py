"""Reports of lost writes are read from the log of a broker as the broker writes them."""

from __future__ import annotations

import pytest

from redis_ledger.broker.cluster.lost_writes import LostWrites
from redis_ledger.clock import SystemClock
from redis_ledger.telemetry import logs
from tests.sim.losses import parse


@pytest.fixture
def lost() -> LostWrites:
    """What a broker finds; it writes a line to its log each time."""
    logs.configure("warning")
    return LostWrites(SystemClock())


def reports(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [parse(line.encode()) for line in capsys.readouterr().err.splitlines()]


def test_lost_records_of_a_partition(lost, capsys):
    lost.lost_records("orders", 2, 40, 44, 1)
    assert reports(capsys) == [{"lost": "partition", "topic": "orders", "partition": 2, "first": 40, "last": 43}]


def test_other_losses_have_their_kind(lost, capsys):
    lost.lost_coordinator(3, 1)
    lost.lost_topics(7, 5)
    lost.lost_others(0, 9, 4)
    assert reports(capsys) == [{"lost": "coordinator"}, {"lost": "catalog"}, {"lost": "other"}]


def test_another_line_is_no_report():
    assert parse(b'{"level": "warning", "event": "request failed"}') == {}
