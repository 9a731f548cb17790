"""Which sealed buckets become one, and their entries in one order.

    entries   5   3   2   4   3      two are to be merged
                └─ 5 ─┘              the pair with the fewest: the second and the third

Merging is only for neighbours, so that a bucket stays one range of ledgers.  Source: PIP-195, "merge message index
buckets"; requirements DD-29 to DD-31.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from heapq import heapify, heappop, heapreplace
from itertools import count

from redis_ledger.delay.entry import Bucket, Indexed

AT_ONCE = 4  # a merge reads all it merges, so it is kept small; and below 4 an entry would be copied more often
TURN = 1_000  # entries merged before others run, some 3 ms


def choose(buckets: Sequence[Bucket], max_num_buckets: int, at_once: int = AT_ONCE) -> Sequence[Bucket] | None:
    """Neighbours to merge, at_once of them or the next fewer; None when there are few enough, or none can be merged.

    buckets          in the order of their ledgers
    max_num_buckets  above it they are merged; -1 is no limit
    One whose segments are all loaded is not merged: nothing of it is left in its snapshot, and it goes by itself.
    To be asked again after a merge, until the answer is None.
    """
    if max_num_buckets < 1 or len(buckets) <= max_num_buckets:
        return None
    for size in range(at_once, 1, -1):
        runs = [buckets[at : at + size] for at in range(len(buckets) - size + 1)]
        runs = [run for run in runs if not any(bucket.is_loaded for bucket in run)]
        if runs:
            return min(runs, key=_cost)
    return None


def _cost(run: Sequence[Bucket]) -> tuple[int, int]:
    return sum(bucket.entries for bucket in run), min(bucket.next_due_ms for bucket in run)


async def merged(streams: Sequence[AsyncIterator[Indexed]]) -> AsyncIterator[Indexed]:
    """The entries of streams that are each in order, in order; one that is in several comes once."""
    heads = []
    for at, stream in enumerate(streams):
        head = await anext(stream, None)
        if head is not None:
            heads.append((head, at, stream))
    heapify(heads)
    before = None
    for number in count(1):
        if not heads:
            return
        if number % TURN == 0:
            await asyncio.sleep(0)  # streams may have all at hand: others take their turn
        head, at, stream = heads[0]
        if head != before:
            yield head
            before = head
        following = await anext(stream, None)
        if following is None:
            heappop(heads)
        else:
            heapreplace(heads, (following, at, stream))
