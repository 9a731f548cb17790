"""redis_ledger/cursor/ranges: offsets to ranges and back."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from redis_ledger.cursor.ranges import Range, flat, size, to_ranges

OFFSETS = st.lists(st.integers(0, 60) | st.integers(0, 2**53 - 1))


def test_neighbours_become_one_range():
    assert to_ranges([7, 3, 4, 4, 5, 9]) == [Range(3, 5), Range(7, 7), Range(9, 9)]
    assert to_ranges([]) == []
    assert to_ranges([0]) == [Range(0, 0)]


@given(OFFSETS)
def test_ranges_hold_exactly_the_offsets_and_are_as_few_as_can_be(offsets):
    ranges = to_ranges(offsets)
    assert [o for first, last in ranges for o in range(first, last + 1)] == sorted(set(offsets))
    assert all(a.last + 1 < b.first for a, b in pairwise(ranges))
    assert size(ranges) == len(set(offsets))


@given(OFFSETS)
def test_flat_ranges_are_ascending_bounds(offsets):
    bounds = flat(to_ranges(offsets))
    assert bounds == sorted(bounds)
    assert len(bounds) % 2 == 0
