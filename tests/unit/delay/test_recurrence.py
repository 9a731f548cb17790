"""redis_ledger/delay/recurrence: the next due time of a record."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from redis_ledger.delay.recurrence import LATEST_MS, Recurrence
from redis_ledger.errors import InvalidRepeat

HOUR_MS = 3_600_000


def ms(text, zone="UTC", fold=0):
    found = datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone) if zone != "UTC" else UTC, fold=fold)
    return round(found.timestamp() * 1000)


def occurrences(repeat, after_ms, count):
    found = []
    for _ in range(count):
        after_ms = repeat.next_after(after_ms, after_ms)
        found.append(after_ms)
    return found


# -- durations ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "step_ms"),
    [
        ("PT1H", HOUR_MS),
        ("P1D", 24 * HOUR_MS),
        ("P1DT12H30M", 36 * HOUR_MS + 1_800_000),
        ("PT1S", 1_000),
        ("PT1.5S", 1_500),
    ],
)
def test_a_duration_is_added_to_the_time_due(text, step_ms):
    repeat = Recurrence.parse(text)
    assert occurrences(repeat, 1_000_007, 3) == [1_000_007 + step_ms, 1_000_007 + 2 * step_ms, 1_000_007 + 3 * step_ms]


@pytest.mark.parametrize(
    ("now_ms", "due_ms"), [(0, 11_000), (10_999, 11_000), (11_000, 12_000), (14_200, 15_000), (14_999, 15_000)]
)
def test_times_that_were_missed_are_skipped_and_the_rhythm_is_kept(now_ms, due_ms):
    assert Recurrence.parse("PT1S").next_after(10_000, now_ms) == due_ms


def test_years_of_missed_times_are_skipped_at_once():
    assert Recurrence.parse("PT1S").next_after(500, 10**12) == 10**12 + 500


# -- cron --------------------------------------------------------------------------------------------------------------


def test_a_cron_expression_is_read_by_the_clock_of_its_time_zone():
    # Given Mondays at 07:30 in Berlin
    repeat = Recurrence.parse("30 7 * * 1", timezone="Europe/Berlin")
    # Then they are at 06:30 UTC in winter and at 05:30 in summer
    assert repeat.next_after(ms("2026-03-20T00:00"), 0) == ms("2026-03-23T06:30")
    assert repeat.next_after(ms("2026-03-23T06:30"), 0) == ms("2026-03-30T05:30")


@pytest.mark.parametrize(
    ("after", "due"),
    [("11:59:59.999", "12:00"), ("12:00:00", "12:15"), ("12:00:00.001", "12:15"), ("12:14:59.999", "12:15")],
)
def test_the_next_fit_lies_strictly_ahead(after, due):
    repeat = Recurrence.parse("*/15 * * * *")
    assert repeat.next_after(0, ms(f"2026-06-01T{after}")) == ms(f"2026-06-01T{due}")
    assert repeat.next_after(ms(f"2026-06-01T{after}"), 0) == ms(f"2026-06-01T{due}")


def test_a_time_that_the_clocks_leave_out_comes_right_after_it():
    repeat = Recurrence.parse("30 2 * * *", timezone="Europe/Berlin")
    found = occurrences(repeat, ms("2026-03-28T12:00", "Europe/Berlin"), 2)
    assert found == [ms("2026-03-29T03:00", "Europe/Berlin"), ms("2026-03-30T02:30", "Europe/Berlin")]


def test_a_time_that_the_clocks_bring_twice_is_taken_once():
    # Given half past two in Berlin, and the night in which it comes twice
    repeat = Recurrence.parse("30 2 * * *", timezone="Europe/Berlin")
    night = [ms("2026-10-25T02:30", "Europe/Berlin"), ms("2026-10-26T02:30", "Europe/Berlin")]
    assert occurrences(repeat, ms("2026-10-24T12:00"), 2) == night
    # Then asking within the second of the two hours does not lead back to the first
    within = ms("2026-10-25T02:15", "Europe/Berlin", fold=1)
    assert repeat.next_after(within, within) == night[1]


def test_every_hour_is_every_hour_also_when_the_clocks_change():
    repeat = Recurrence.parse("0 * * * *", timezone="Europe/Berlin")
    start = ms("2026-10-24T22:30")
    assert occurrences(repeat, start, 5) == [ms("2026-10-24T23:00") + i * HOUR_MS for i in range(5)]


# -- ends --------------------------------------------------------------------------------------------------------------


def test_until_is_included():
    repeat = Recurrence.parse("PT1S", until_ms=12_000)
    assert repeat.next_after(11_000, 0) == 12_000
    assert repeat.next_after(11_001, 0) is None
    assert repeat.next_after(0, 12_000) is None


def test_it_is_over_when_it_was_delivered_as_often_as_wished():
    repeat = Recurrence.parse("PT1S", times=2)
    assert repeat.next_after(0, 0) == 1_000
    once = repeat.done_once()
    assert (once.times, once.next_after(1_000, 0)) == (1, 2_000)
    assert once.done_once().next_after(2_000, 0) is None
    assert once.done_once().done_once() == once.done_once()


def test_recurrence_without_times_continues():
    repeat = Recurrence.parse("0 0 * * *")
    assert repeat.done_once() == repeat


def test_nothing_is_due_after_the_year_9999():
    assert Recurrence.parse("P900000000D").next_after(0, 0) is None
    assert Recurrence.parse("0 0 1 1 *").next_after(LATEST_MS, 0) is None
    assert Recurrence.parse("0 0 1 1 *").next_after(0, 10**18) is None


# -- text --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "repeat",
    [
        Recurrence.parse("PT1H"),
        Recurrence.parse("30 7 * * MON-FRI", until_ms=LATEST_MS, times=4, timezone="America/New_York"),
        Recurrence.parse("0 0 L * *", times=1).done_once(),
    ],
)
def test_stored_recurrence_is_read_back(repeat):
    assert Recurrence.read(repeat.stored()) == repeat
    assert Recurrence.read(repeat.stored().encode()) == repeat


@pytest.mark.parametrize(
    ("text", "given", "reason"),
    [
        ("", {}, "neither a duration"),
        ("hourly", {}, "neither a duration"),
        ("@daily", {}, "neither a duration"),
        ("* * * *", {}, "neither a duration"),
        ("* * * * * *", {}, "neither a duration"),
        ("60 * * * *", {}, "Bad minute"),
        ("* * * * X", {}, "Bad day-of-week"),
        ("0 0 30 2 *", {}, "Bad day-of-month"),
        ("0 0 */31 2 1#5", {}, "no day fits"),
        ("P", {}, "not a duration"),
        ("P1M", {}, "not a duration"),
        ("PT99999999999999999999H", {}, "not a duration"),
        ("PT0S", {}, "too short"),
        ("PT0.999S", {}, "too short"),
        ("-PT1H", {}, "too short"),
        ("PT1.0005S", {}, "too fine"),
        ("PT" + "1" * 199 + "S", {}, "at most 200 characters"),
        ("1," * 100 + "1 * * * *", {}, "at most 200 characters"),
        ("PT1H", {"times": 0}, "not a number of deliveries"),
        ("PT1H", {"times": 10**30}, "not a number of deliveries"),
        ("PT1H", {"until_ms": 10**30}, "after the year 9999"),
        ("0 0 * * *", {"timezone": "Europe/Atlantis"}, "not a time zone"),
        ("0 0 * * *", {"timezone": "../../etc/passwd"}, "not a time zone"),
        ("0 0 * * *", {"timezone": "Europe"}, "not a time zone"),
        ("0 0 * * *", {"timezone": ""}, "not a time zone"),
        ("0 0 * * *", {"timezone": "a\0b"}, "not a time zone"),
        ("PT1H", {"timezone": "x" * 65}, "a time zone 64"),
    ],
)
def test_invalid_recurrences_are_refused_with_the_reason(text, given, reason):
    with pytest.raises(InvalidRepeat, match=reason):
        Recurrence.parse(text, **given)
