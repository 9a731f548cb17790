"""Row group cache: capacity, eviction, and reads within a block."""

from __future__ import annotations

import pytest

from redis_ledger.ledger.entries import LogEntry
from redis_ledger.offload.row_group_cache import RowGroup, RowGroupCache, RowGroupKey


def block(*batches: tuple[int, int, int]) -> RowGroup:
    """first offset, last offset, bytes"""
    entries = [LogEntry(0, 0, base, last - base + 1, size, -1, -1, -1, 0, 0, 0) for base, last, size in batches]
    return RowGroup(entries, [b"x" * size for _, _, size in batches])


def key(name: str) -> RowGroupKey:
    return RowGroupKey(name, 0)


@pytest.mark.parametrize(
    ("offset", "bytes_max", "bases"),
    [
        (0, 1, [10]), (10, 1, [10]), (19, 1, [10]), (20, 1, [30]), (30, 1, [30]), (12, 100, [10, 30, 40]),
        (12, 99, [10, 30]), (35, 60, [40]), (40, 1000, [40]),
    ],
)  # fmt: skip
def test_a_read_begins_with_the_batch_at_or_after_the_offset(offset, bytes_max, bases):
    entries, payloads = block((10, 19, 30), (30, 34, 10), (40, 49, 60)).read_from(offset, bytes_max)
    assert [entry.base_offset for entry in entries] == bases
    assert [len(payload) for payload in payloads] == [entry.size for entry in entries]


def test_the_least_recently_used_block_is_evicted_first():
    blocks = RowGroupCache(250)
    for name in "abc":
        blocks.put(key(name), block((0, 1, 100)))
    assert [key(name) in blocks for name in "abc"] == [False, True, True]
    assert blocks.get(key("b")) is not None
    blocks.put(key("d"), block((0, 1, 100)))
    assert [key(name) in blocks for name in "bcd"] == [True, False, True]
    assert blocks.bytes == 200


def test_a_block_read_to_its_end_is_evicted_before_all_others():
    blocks = RowGroupCache(250)
    blocks.put(key("a"), block((0, 1, 100)))
    blocks.put(key("b"), block((0, 1, 100)))
    blocks.mark_read(key("b"))
    assert blocks.get(key("b")) is not None  # another reader may still find it
    blocks.put(key("c"), block((0, 1, 100)))
    assert [key(name) in blocks for name in "abc"] == [True, False, True]
    assert (blocks.bytes, blocks.read_to_end_bytes) == (200, 0)


def test_one_block_is_always_kept():
    blocks = RowGroupCache(10)
    blocks.put(key("a"), block((0, 1, 100)))
    assert key("a") in blocks
    blocks.put(key("b"), block((0, 1, 100)))
    assert [key(name) in blocks for name in "ab"] == [False, True]


def test_there_is_room_until_half_of_the_budget_is_in_use():
    blocks = RowGroupCache(400)
    blocks.put(key("a"), block((0, 1, 100)))
    assert blocks.has_room
    blocks.put(key("b"), block((0, 1, 100)))
    assert not blocks.has_room
    blocks.mark_read(key("a"))
    assert blocks.has_room
