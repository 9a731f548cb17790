from __future__ import annotations

import pytest

from redis_ledger.errors import InvalidDelay
from redis_ledger.records.delivery_headers import LATEST_MS, after_ms, at_ms

NEW_YEAR_MS = 1_767_225_600_000


@pytest.mark.parametrize(
    ("value", "ms"),
    [
        (b"0", 0),
        (b"1767225600000", NEW_YEAR_MS),
        (b"000001767225600000"[-15:], NEW_YEAR_MS),
        (str(LATEST_MS).encode(), LATEST_MS),
        (b"2026-01-01T00:00:00Z", NEW_YEAR_MS),
        (b"2026-01-01T01:30:00+01:30", NEW_YEAR_MS),
        (b"2026-01-01T00:00Z", NEW_YEAR_MS),
        (b"20251231T190000-0500", NEW_YEAR_MS),
        (b"2026-01-01T00:00:00.250Z", NEW_YEAR_MS + 250),
        (b"9999-12-31T23:59:59.999Z", LATEST_MS),
    ],
)
def test_a_time_is_milliseconds_or_iso_8601_with_a_zone(value, ms):
    assert at_ms(value) == ms


@pytest.mark.parametrize(
    ("value", "ms"),
    [
        (b"0", 0),
        (b"90000", 90_000),
        (b"PT1M30S", 90_000),
        (b"PT90S", 90_000),
        (b"P1DT12H", 129_600_000),
        (b"P2W", 1_209_600_000),
        (b"P1W2DT3H4M5.006S", 788_645_006),
        (b"PT0.25S", 250),
        (b"PT0,25S", 250),
        (b"PT0S", 0),
    ],
)
def test_a_duration_is_milliseconds_or_iso_8601(value, ms):
    assert after_ms(value) == ms


def test_a_fraction_of_a_millisecond_is_rounded_up_so_that_nothing_is_early():
    assert at_ms(b"2026-01-01T00:00:00.000001Z") == NEW_YEAR_MS + 1
    assert at_ms(b"2026-01-01T00:00:00.000999Z") == NEW_YEAR_MS + 1
    assert after_ms(b"PT0.0000001S") == 1
    assert after_ms(b"PT1.001S") == 1_001


@pytest.mark.parametrize(
    "value",
    [
        None, b"", b" 1767225600000", b"-1", b"+1", b"1e3", b"1_000", b"1767225600.5", "١٢٣".encode(), b"\xff\xfe",
        b"\x00\x00\x01\x9b\x76\xda\x24\x00", b"2026-01-01", b"2026-01-01T00:00:00", b"2026-13-01T00:00:00Z", b"soon",
        b"253402300800000", b"1767225600000000", b"9" * 5_000, b"0001-01-01T00:00:00+23:59", b"PT5S",
    ],
)  # fmt: skip
def test_invalid_time_header_is_refused_by_name(value):
    with pytest.raises(InvalidDelay, match=r"^The header deliver-at ") as refused:
        at_ms(value)
    assert len(refused.value.detail) < 200


@pytest.mark.parametrize(
    "value",
    [
        None, b"", b"-1", b"5 s", b"5S", b"P", b"PT", b"P1DT", b"P1Y", b"P1M", b"PT-5S", b"-PT5S", b"PT.5S", b"PT1H1H",
        b"pt5s", b"PT5S ", b"PT" + b"9" * 12 + b"H", b"253402300800000", b"999999999999w", b"9" * 5_000,
        b"2026-01-01T00:00:00Z", b"PT\xc2\xb2S",
    ],
)  # fmt: skip
def test_invalid_duration_header_is_refused_by_name(value):
    with pytest.raises(InvalidDelay, match=r"^The header deliver-after ") as refused:
        after_ms(value)
    assert len(refused.value.detail) < 200
