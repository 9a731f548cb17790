"""Long acknowledgements in pages, so that none holds Redis up.

    ranges   ████ ████ ████ ██        check every page, then act on every page
    calls    check check check check  page page page page

One call touches at most LEASES_MAX leases and carries at most RANGES_MAX ranges.  What fits is done in one call: all or
nothing.  What does not fit is first checked as a whole; nothing is done if any of it is refused.  Between the check and
a page a lease may run out and go to another consumer.  Then that page is refused, and what the pages before it have
acknowledged stays so: the consumer had said that it is done with these messages.  To repeat all of it is right.
Repeating a page changes nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal

from redis_ledger.cursor.ranges import Range

RANGES_MAX = LEASES_MAX = 300
How = Literal["all", "check", "page"]


async def ack_in_pages(act: Callable[[Sequence[Range], How], Awaitable[list[Any]]], ranges: Sequence[Range]) -> int:
    """Of how many offsets the acts tell.  act: one call, as lua/cursor/ack answers it."""
    if len(ranges) <= RANGES_MAX:
        _, count, _, *reached = await act(ranges, "all")
        if not reached:
            return int(count)
    await _each(act, ranges, "check")
    return await _each(act, ranges, "page")


async def _each(act: Callable[[Sequence[Range], How], Awaitable[list[Any]]], ranges: Sequence[Range], how: How) -> int:
    total, rest = 0, list(ranges)
    while rest:
        some = rest[:RANGES_MAX]
        _, count, _, *reached = await act(some, how)
        total += count
        rest = (behind(some, reached[0]) if reached else []) + rest[RANGES_MAX:]
    return int(total)


async def ack_cumulative_in_pages(act: Callable[[int, How], Awaitable[list[Any]]], *, is_sum: bool) -> int:
    """As acted, of one range up to an offset.  act: the offset to begin at, and how.  is_sum: each act counts what it
    has done; otherwise each tells the whole."""
    _, count, _, *reached = await act(0, "all")
    if not reached:
        return int(count)
    while reached:
        _, _, _, *reached = await act(reached[0] + 1, "check")
    total = 0
    while True:
        _, count, _, *reached = await act(0, "page")
        total = total + count if is_sum else count
        if not reached:
            return int(total)


def behind(ranges: Sequence[Range], reached: int) -> list[Range]:
    """What of the ranges lies behind an offset."""
    return [Range(max(first, reached + 1), last) for first, last in ranges if last > reached]
