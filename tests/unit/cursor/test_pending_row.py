"""Rows of what a transaction holds on a subscription."""

from __future__ import annotations

import pytest

from redis_ledger.cursor.pending_row import PendingRow, group_offset, joined, parse, ranges_of
from redis_ledger.cursor.ranges import Range


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (b"I 0-4-1,9-9-2", PendingRow(None, [], [Range(0, 4), Range(9, 9)])),
        (b"I 9-9-2,0-4-1", PendingRow(None, [], [Range(0, 4), Range(9, 9)])),
        (b"I ", PendingRow(None, [], [])),
        (b"C 120 - 0-119-1", PendingRow(120, [], [Range(0, 119)])),
        (b"I +a0,b3 0-4-1", PendingRow(None, ["a0", "b3"], [Range(0, 4)])),
        (b"I +a0 ", PendingRow(None, ["a0"], [])),
        (b"C 120 +a0,a1 0-4-1", PendingRow(120, ["a0", "a1"], [Range(0, 4)])),
    ],
)
def test_a_row_has_its_cumulative_offset_its_regions_and_its_ranges(row, expected):
    assert parse(row) == expected


def test_a_region_has_ranges_only():
    assert ranges_of(b"R 192-200-1,205-205-3") == [Range(192, 200), Range(205, 205)]
    assert ranges_of(b"") == []


def test_the_offset_of_a_group_is_the_second_word_also_with_metadata():
    assert group_offset(b"7 1200 3 1763720931000 some words") == 1200


def test_ranges_that_touch_are_joined_and_those_below_the_mark_are_left_out():
    assert joined([Range(8, 9), Range(0, 3), Range(4, 7), Range(12, 12)]) == [Range(0, 9), Range(12, 12)]
    assert joined([Range(0, 3), Range(5, 9)], from_offset=6) == [Range(6, 9)]
