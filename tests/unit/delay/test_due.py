from __future__ import annotations

import pytest

from redis_ledger.config import Config
from redis_ledger.delay.due import DUE_MAX, rule
from redis_ledger.errors import DelayTooLong, InvalidDelay

LOW, HIGH = 1_000, 1_003  # Redis's time is between


def due_of(at=None, after=None, **settings):
    return rule(Config(**settings), LOW, HIGH)(at, after)


@pytest.mark.parametrize(
    ("at", "after", "due"),
    [
        (None, None, None),
        (LOW - 1, None, None),
        (LOW, None, None),
        (LOW + 1, None, LOW + 1),
        (0, None, None),
        (DUE_MAX, None, DUE_MAX),
        (None, 0, None),
        (None, 1, HIGH + 1),
        (None, 5_000, HIGH + 5_000),
    ],
)
def test_dd_03_what_is_due_for_certain_is_due_now_and_the_rest_is_never_early(at, after, due):
    assert due_of(at, after) == due


@pytest.mark.parametrize(
    ("at", "after"), [(5, 5), (-1, None), (None, -1), (DUE_MAX + 1, None), (None, DUE_MAX), (1 << 80, None)]
)
def test_invalid_time_is_refused(at, after):
    with pytest.raises(InvalidDelay):
        due_of(at, after)


def test_dd_06_a_delay_longer_than_allowed_is_refused_with_the_limit_and_none_is_when_it_is_off():
    limit = {"delayed_delivery_max_delay_ms": 5_000}
    assert due_of(after=5_000, **limit) == HIGH + 5_000
    assert due_of(LOW + 5_000, **limit) == LOW + 5_000
    for at, after in ((None, 5_001), (LOW + 5_001, None)):
        with pytest.raises(DelayTooLong, match="exceeds the maximum allowed delivery delay of 5000 ms"):
            due_of(at, after, **limit)


def test_dd_05_where_delivery_is_not_delayed_everything_is_due_now():
    assert due_of(LOW + 9, delayed_delivery_enabled=False) is None
    assert due_of(after=9, delayed_delivery_enabled=False) is None
    with pytest.raises(InvalidDelay):
        due_of(-1, delayed_delivery_enabled=False)


def test_records_received_together_count_from_one_time():
    together = rule(Config(), LOW, HIGH)
    assert {together(None, 70) for _ in range(3)} == {HIGH + 70}
