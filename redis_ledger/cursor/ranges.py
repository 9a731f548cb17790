"""Ranges of offsets, as acknowledgements use them.

    offsets   7 3 4 4 5 9        ranges   (3, 5) (7, 7) (9, 9)        both ends belong to a range

Clients acknowledge messages one by one, mostly neighbours.  Ranges are ascending, disjoint and minimal (no two touch),
which the scripts of lua/cursor/ require.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Range(NamedTuple):
    """Offsets first to last, both included."""

    first: int
    last: int


def to_ranges(offsets: Iterable[int]) -> list[Range]:
    """Returns the fewest ranges with exactly these offsets.  The offsets may be unordered and repeated."""
    ranges: list[Range] = []
    first = last = -2
    for offset in sorted(offsets):
        if offset > last + 1:
            if last >= 0:
                ranges.append(Range(first, last))
            first = offset
        last = offset
    if last >= 0:
        ranges.append(Range(first, last))
    return ranges


def size(ranges: Iterable[Range]) -> int:
    return sum(last - first + 1 for first, last in ranges)


def flat(ranges: Sequence[Range]) -> list[int]:
    """Returns the script arguments: first, last, first, last, ..."""
    return [bound for pair in ranges for bound in pair]
