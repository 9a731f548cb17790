"""Chooses sealed buckets to merge, and merges ordered streams of entries.

    entries   5   3   2   4   3      two are to be merged
                └─ 5 ─┘              the pair with the fewest: the second and the third

Only neighbours are merged, so that a bucket stays one range of ledgers.  Source: PIP-195, "merge message index
buckets"; requirements DD-29 to DD-31.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from heapq import heapify, heappop, heapreplace
from itertools import count

from redis_ledger.delay.entry import Bucket, Indexed

AT_ONCE = 4  # buckets; more would take longer, fewer would copy each entry more often
TURN = 1_000  # entries merged before other tasks run, some 3 ms


def choose(buckets: Sequence[Bucket], max_num_buckets: int, at_once: int = AT_ONCE) -> Sequence[Bucket] | None:
    """Neighbours to merge, at_once of them or the next fewer; None when there are few enough, or none can be merged.

    buckets          in the order of their ledgers
    max_num_buckets  above it they are merged; -1 is no limit
    A bucket whose segments are all loaded is not merged: it is about to be deleted.
    Call it again after a merge, until it returns None.
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
    """Merges ordered streams; an entry in several streams is returned once."""
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
            await asyncio.sleep(0)  # the streams may never wait: let other tasks run
        head, at, stream = heads[0]
        if head != before:
            yield head
            before = head
        following = await anext(stream, None)
        if following is None:
            heappop(heads)
        else:
            heapreplace(heads, (following, at, stream))
