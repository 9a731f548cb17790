"""redis_ledger/delay/merge: choice of the buckets, and order of the merged entries."""

from __future__ import annotations

import asyncio

import pytest

from redis_ledger.delay.entry import WHOLE, Bucket, Indexed
from redis_ledger.delay.merge import AT_ONCE, choose, merged


def buckets(sizes, *, loaded=(), next_due=None):
    """Buckets of these numbers of entries, one ledger each; `loaded` are those without an unloaded segment."""
    return [
        Bucket(
            -i - 1, -i - 1, f"s{i}", 3, 3 if i in loaded else 1, n, n, (next_due or {}).get(i, 1_000 + i), 9_999, 1, 0
        )
        for i, n in enumerate(sizes)
    ]


def chosen(*args, most, at_once=AT_ONCE, **given):
    found = choose(buckets(*args, **given), most, at_once)
    return None if found is None else [-bucket.first_ledger - 1 for bucket in found]


@pytest.mark.parametrize(
    ("sizes", "most", "places"),
    [
        ([5, 3, 2, 4, 3], 5, None),
        ([5, 3, 2, 4, 3], -1, None),
        ([5, 3, 2, 4, 3], 0, None),
        ([5, 3, 2, 4, 3], 4, [1, 2, 3, 4]),
        ([1, 1, 1, 9, 9, 1, 1, 1], 7, [0, 1, 2, 3]),
        ([9, 1, 1, 1, 1, 9], 5, [1, 2, 3, 4]),
        ([5, 3], 1, [0, 1]),
        ([5, 3, 2], 2, [0, 1, 2]),
        ([5, 3, 2, 4], 3, [0, 1, 2, 3]),
        ([5], 1, None),
        ([], 1, None),
    ],
)
def test_above_the_limit_four_neighbours_with_the_fewest_entries_are_merged(sizes, most, places):
    assert chosen(sizes, most=most) == places


def test_of_five_buckets_the_second_and_third_have_the_fewest_entries_when_two_are_merged():
    assert chosen([5, 3, 2, 4, 3], most=4, at_once=2) == [1, 2]


def test_where_no_four_can_be_merged_three_are_and_else_two():
    assert chosen([3, 2, 7, 5, 3, 1], loaded=[2], most=4) == [3, 4, 5]
    assert chosen([5, 3, 2, 4, 3], loaded=[0, 3], most=4) == [1, 2]


def test_a_bucket_that_is_loaded_keeps_its_neighbours_apart():
    assert chosen([1, 1, 1], loaded=[1], most=1) is None
    assert chosen([1, 1, 1, 1], loaded=[0, 2], most=1) is None
    assert chosen([9, 9, 1, 1, 1], loaded=[2], most=1) == [3, 4]


def test_of_equal_runs_the_one_due_first_is_merged():
    assert chosen([2] * 8, most=7) == [0, 1, 2, 3]
    assert chosen([2] * 8, most=7, next_due={6: 5}) == [3, 4, 5, 6]
    assert chosen([3, 2, 2, 2, 2, 3], most=5, next_due={0: 1}) == [1, 2, 3, 4]


@pytest.mark.parametrize("most", [1, 2, 3, 10, 20])
def test_merging_again_and_again_reaches_any_limit(most):
    # Given a hundred buckets with one far entry each
    found = buckets([1] * 100)
    # When neighbours are merged while there are too many
    merges = 0
    while (run := choose(found, most)) is not None:
        at = found.index(run[0])
        one = run[0]._replace(last_ledger=run[-1].last_ledger, entries=sum(b.entries for b in run))
        found[at : at + len(run)] = [one]
        merges += 1
    # Then there are few enough, ranges do not overlap, and nothing is missing
    assert len(found) <= most
    assert merges <= 50
    assert sum(b.entries for b in found) == 100
    assert [b.last_ledger - 1 for b in found[:-1]] == [b.first_ledger for b in found[1:]]


async def stream(*rows):
    for due_ms, entry, index in rows:
        yield Indexed(due_ms, entry, index, -1, 1, 170, 0)


async def test_streams_are_merged_by_due_time_entry_and_index_and_what_is_double_comes_once():
    # Given streams in order, one of them empty, with one entry in two of them
    streams = [
        stream((10, 1, WHOLE), (20, 9, 3), (30, 4, WHOLE)),
        stream(),
        stream((10, 0, WHOLE), (20, 9, 1), (20, 9, 3), (40, 2, WHOLE)),
    ]
    # When they are merged
    found = [(r.due_ms, r.entry, r.index) async for r in merged(streams)]
    # Then all come in order, once
    assert found == [(10, 0, -1), (10, 1, -1), (20, 9, 1), (20, 9, 3), (30, 4, -1), (40, 2, -1)]


async def test_a_long_merge_lets_others_run():
    # Given streams that never wait, and another task
    turns = 0

    async def other():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    running = asyncio.create_task(other())
    # When they are merged
    streams = [stream(*((i, i, part) for i in range(2_000))) for part in range(3)]
    found = [r async for r in merged(streams)]
    running.cancel()
    # Then the other ran, several times
    assert len(found) == 6_000
    assert turns >= 5


async def test_no_streams_merge_to_nothing():
    assert [r async for r in merged([])] == []
