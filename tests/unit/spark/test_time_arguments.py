"""Times on the command line."""

from __future__ import annotations

import argparse

import pytest

from redis_ledger.spark.pipelines.time_arguments import moment_ms


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1767268800000", 1_767_268_800_000),
        ("0", 0),
        ("2026-01-01T12:00:00Z", 1_767_268_800_000),
        ("2026-01-01T13:00:00.250+01:00", 1_767_268_800_250),
        ("2026-01-01T12:00+00:00", 1_767_268_800_000),
    ],
)
def test_a_time_is_iso_8601_with_a_zone_or_milliseconds(text, ms):
    assert moment_ms(text) == ms


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("yesterday", "'yesterday' is not a time; write 2026-01-01T12:00:00Z, or milliseconds since 1970"),
        ("2026-13-01T00:00:00Z", "is not a time"),
        ("2026-01-01T12:00:00", "has no time zone"),
        ("2026-01-01", "has no time zone"),
        ("1969-12-31T23:59:59Z", "is before 1970"),
        ("-5", "is not a time"),
    ],
)
def test_an_invalid_time_is_refused_in_one_sentence(text, message):
    with pytest.raises(argparse.ArgumentTypeError) as caught:
        moment_ms(text)
    assert message in str(caught.value)
