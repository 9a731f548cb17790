"""Any scheduled entries are unchanged by a snapshot, and ordered by a merge."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redis_ledger.delay.bucket import (
    DamagedSnapshot,
    cut,
    decode_metadata,
    decode_segment,
    describe,
    encode_metadata,
    encode_segment,
)
from redis_ledger.delay.entry import WHOLE, Indexed
from redis_ledger.delay.live_bitmap import LiveBitmap
from redis_ledger.delay.merge import merged
from redis_ledger.ledger.column_codec import pack, unpack
from redis_ledger.proto.delay_bucket_pb2 import Columns

FAR = 200  # between the smallest and the largest of what is near

near = st.integers(1_763_760_000_000, 1_763_760_000_000 + FAR)
dues = near | st.integers(0, 2**53)
entries = st.integers(0, FAR) | st.integers(0, 10**12 - 1)
rows = st.builds(
    Indexed,
    dues,
    entries,
    st.just(WHOLE) | st.integers(0, 5),
    st.integers(-FAR, -1),
    st.integers(0, 100_000),
    st.integers(0, 2**40),
    near | st.integers(-(2**63), 2**63 - 1),
)
ordered = st.lists(rows, min_size=1, max_size=60).map(sorted)
numbers = st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1)
tables = st.integers(1, 80).flatmap(
    lambda length: st.lists(
        st.lists(numbers, min_size=length, max_size=length)
        | st.lists(numbers, min_size=length, max_size=length).map(sorted),
        max_size=4,
    )
)


@given(tables)
def test_any_columns_come_back(columns: list[list[int]]) -> None:
    table = Columns.FromString(pack(columns).SerializeToString())
    assert [list(column) for column in unpack(table)] == columns


@given(ordered)
def test_any_segment_comes_back_in_order(given_: list[Indexed]) -> None:
    assert decode_segment(encode_segment(given_)) == given_


@given(ordered, st.integers(1, 2**53), st.just(-1) | st.integers(1, 70))
def test_buckets_are_cut_by_the_rule_and_metadata_lists_their_entries(
    given_: list[Indexed], step: int, most: int
) -> None:
    # When rows are cut and described
    segments = cut(given_, time_step_ms=step, indexes_max=most)
    described = [describe(segment, 1) for segment in segments]
    metadata = decode_metadata(encode_metadata(-1, -FAR, described))
    # Then nothing is missing, and every segment keeps the rule and could not have taken the next row as well
    assert [row for segment in segments for row in segment] == given_
    for segment, following in zip(segments, [*segments[1:], None], strict=True):
        assert segment[-1].due_ms - segment[0].due_ms < step
        assert most < 0 or len(segment) <= most
        assert following is None or following[0].due_ms - segment[0].due_ms >= step or len(segment) == most
    # And the bitmaps tell which entries there are, so that the living can be counted
    held = {row.entry for row in given_}
    assert all(metadata.contains(entry) for entry in held)
    assert not any(metadata.contains(entry) for entry in range(FAR) if entry not in held)
    alive = set(sorted(held)[::2])
    assert metadata.alive(LiveBitmap.of(alive | {10**12})) == len(alive)


@given(ordered, st.data())
def test_a_damaged_snapshot_is_refused_and_never_read_as_another(given_: list[Indexed], data: Any) -> None:
    for whole, decode in (
        (encode_segment(given_), decode_segment),
        (encode_metadata(-1, -2, [describe(given_, 1)]), decode_metadata),
    ):
        at = data.draw(st.integers(0, len(whole) - 1))
        change = data.draw(st.integers(1, 255))
        damaged = whole[:at] + bytes([whole[at] ^ change]) + whole[at + 1 :]
        with pytest.raises(DamagedSnapshot):
            decode(damaged)


@given(st.binary(max_size=100))
def test_no_bytes_at_all_surprise_the_readers(data: bytes) -> None:
    for decode in (decode_segment, decode_metadata):
        with pytest.raises(DamagedSnapshot):
            decode(data)


@given(st.lists(st.lists(rows, max_size=20).map(sorted), max_size=5))
async def test_merged_streams_are_the_sorted_set_of_all(streams: list[list[Indexed]]) -> None:
    async def stream(part: list[Indexed]) -> Any:
        for row in part:
            yield row

    found = [row async for row in merged([stream(part) for part in streams])]
    assert found == sorted({row for part in streams for row in part})


@given(st.sets(entries, max_size=60), st.sets(entries, max_size=60), entries, entries)
def test_live_bits_are_a_set_of_entries(some: set[int], others: set[int], first: int, last: int) -> None:
    bits, more = LiveBitmap.of(some), LiveBitmap.of(others)
    within = sorted(entry for entry in some if first <= entry <= last)
    assert list(bits.entries(first, last)) == within
    assert bits.count(first, last) == len(within)
    assert [entry for entry in range(FAR) if bits.holds(entry)] == sorted(e for e in some if e < FAR)
    assert bits.shared(more) == len(some & others)
    assert list(LiveBitmap.union([bits, more]).entries(0, 10**12)) == sorted(some | others)
