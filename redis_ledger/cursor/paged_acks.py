"""Splits long acknowledgements into pages, so that no call blocks Redis.

    ranges   ████ ████ ████ ██        check every page, then act on every page
    calls    check check check check  page page page page

One call has at most RANGES_MAX ranges.  It touches at most LEASES_MAX leases, or as many ranges, except of a key_shared
subscription, whose leases cost less.  An acknowledgement that fits is one call:
all or nothing.  A longer one is first checked as a whole; nothing is acknowledged if any of it is refused.  Between the
check and a page a lease may expire and go to another consumer.  Then that page is refused, and the pages before it stay
acknowledged.  A retry may repeat the whole acknowledgement: repeating a page changes nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal

from redis_ledger.cursor.ranges import Range

RANGES_MAX, LEASES_MAX = 1_000, 300
How = Literal["all", "check", "page"]


async def ack_in_pages(act: Callable[[Sequence[Range], How], Awaitable[list[Any]]], ranges: Sequence[Range]) -> int:
    """Returns the number of offsets acknowledged.  act: one call; it returns the reply of lua/cursor/ack."""
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
    """As ack_in_pages, for one range up to an offset.  act: gets the first offset, and how.  is_sum: each call returns
    its own count; otherwise each returns the total."""
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
    """Returns the part of the ranges after an offset."""
    return [Range(max(first, reached + 1), last) for first, last in ranges if last > reached]
