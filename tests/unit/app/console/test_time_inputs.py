"""app/console/time_inputs: what is typed without a zone is UTC, and a time that cannot be kept to is refused."""

from __future__ import annotations

import pytest

from redis_ledger.app.console.time_inputs import moment, shown
from redis_ledger.errors import InvalidRequest


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1970-01-01T00:00", 0),
        ("1970-01-01T00:00:01", 1_000),
        ("2100-01-01T00:00:00.000Z", 4_102_444_800_000),
        ("2100-01-01T01:00+01:00", 4_102_444_800_000),
        ("4102444800000", 4_102_444_800_000),
    ],
)
def test_a_time_is_read(text, ms):
    assert moment(text) == ms


@pytest.mark.parametrize("text", ["", "soon", "1969-12-31T23:59", "2100-01-01", "2100-13-01T00:00"])
def test_a_time_that_is_none_is_refused(text):
    with pytest.raises(InvalidRequest):
        moment(text)


def test_a_time_is_said_with_its_zone():
    assert shown(4_102_444_800_000) == "2100-01-01 00:00:00 UTC"
