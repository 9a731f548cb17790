from __future__ import annotations

import pytest

from redis_ledger.app.http.times import delivery, duration_ms, moment_ms
from redis_ledger.errors import InvalidDelay, InvalidRequest


@pytest.mark.parametrize(
    ("given", "ms"),
    [
        (17, 17),
        ("17", 17),
        ("2026-11-29T09:10:00Z", 1_795_943_400_000),
        ("2026-11-29T10:10+01:00", 1_795_943_400_000),
        ("2026-11-29T09:10:00.0001Z", 1_795_943_400_001),
        ("1970-01-01T00:00:00Z", 0),
    ],
)
def test_a_moment_is_read_and_never_rounded_down(given, ms):
    assert moment_ms(given, "$.deliver_at") == ms


@pytest.mark.parametrize(
    "given",
    ["", "soon", "2026-11-29", "2026-11-29T09:10:00", "1969-12-31T23:59:59Z", "-5", "9" * 16, "9" * 5000, "²", 2**53],
)
def test_invalid_time_is_rejected_with_its_field(given):
    with pytest.raises(InvalidDelay, match=r"\$\.deliver_at: '.*with a zone"):
        moment_ms(given, "$.deliver_at")


@pytest.mark.parametrize(
    ("given", "ms"),
    [
        (5_000, 5_000), ("5000", 5_000), ("PT5S", 5_000), ("PT0.0001S", 1), ("PT1.0015S", 1_002), ("PT0S", 0),

        ("5s", 5_000), ("500ms", 500), ("1m", 60_000),
        ("2h", 7_200_000), ("1d", 86_400_000), ("2w", 1_209_600_000),
        ("P1DT12H", 129_600_000), ("P2W", 1_209_600_000),
        ("PT1H30M", 5_400_000),
    ],
)  # fmt: skip
def test_a_duration_is_read_and_never_rounded_down(given, ms):
    assert duration_ms(given, "$.deliver_after") == ms


@pytest.mark.parametrize("given", ["", "P", "PT", "P1DT", "5 s", "1.5s", "s", "P1M", "P1Y", "P999999999W", "9" * 5000])
def test_a_duration_without_a_length_of_its_own_is_refused(given):
    with pytest.raises(InvalidRequest, match=r"from: .*PT5S"):
        duration_ms(given, "from", InvalidRequest)


def test_a_record_is_delivered_at_a_time_or_after_one_but_not_both():
    assert delivery(None, None, "$") == (None, None)
    assert delivery("1970-01-01T00:00:01Z", None, "$") == (1_000, None)
    assert delivery(None, "PT1S", "$") == (None, 1_000)
    with pytest.raises(InvalidDelay, match=r"\$\.records\[3\] has both"):
        delivery(1, 1, "$.records[3]")
