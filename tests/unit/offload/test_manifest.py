"""Manifests: segments by offset, and validation of publishes and swaps."""

from __future__ import annotations

import msgspec
import pytest

from redis_ledger.errors import InvalidRequest, SegmentMismatch
from redis_ledger.offload.manifest import (
    Manifest,
    PageToken,
    Plan,
    Segment,
    Stretch,
    check_segments,
    folder,
    is_chain,
    segment_file_name,
    segments_to_remove,
)

HERE = "orders/5f0c8a7e/partition=0/"
PLAN = Plan("a", [Stretch(10, 20, f"{HERE}1.parquet"), Stretch(20, 25, f"{HERE}2.parquet")])


def segment(first: int, end: int, file: str = f"{HERE}x.parquet", records: int = 1, size: int = 100) -> Segment:
    return Segment(first, end, file, records, size, 1, 2, "00")


FIRST, SECOND = segment(10, 20, f"{HERE}1.parquet"), segment(20, 25, f"{HERE}2.parquet")
EMPTY = segment(20, 25, "", 0, 0)


def test_segment_at_returns_the_segment_of_an_offset():
    manifest = Manifest(3, [FIRST, SECOND, segment(40, 50)])
    found = {offset: manifest.segment_at(offset) for offset in (9, 10, 19, 20, 24, 25, 39, 40, 50)}
    assert [offset for offset, held in found.items() if held is None] == [9, 25, 39, 50]
    assert (found[10], found[19], found[20], found[24]) == (FIRST, FIRST, SECOND, SECOND)
    assert (manifest.end, Manifest(0, []).end) == (50, 0)


# -- pages -------------------------------------------------------------------------------------------------------------

LONG = Manifest(7, [segment(first, first + 10) for first in range(0, 50, 10)])


@pytest.mark.parametrize(
    ("token", "limit", "firsts", "next_first"),
    [
        (PageToken("t-1", 0, 0, 0), 2, [0, 10], 20),
        (PageToken("t-1", 0, 7, 20), 2, [20, 30], 40),
        (PageToken("t-1", 0, 7, 40), 2, [40], None),
        (PageToken("t-1", 0, 7, 30), 2, [30, 40], None),
        (PageToken("t-1", 0, 6, 20), 2, [0, 10], 20),  # another version: from the beginning
        (PageToken("t-1", 1, 7, 20), 2, [0, 10], 20),  # a token for another partition
        (PageToken("t-1", 0, 7, 20), 0, [], 20),
    ],
)
def test_a_page_continues_the_one_before(token, limit, firsts, next_first):
    manifest, rest = token.cut(0, LONG, limit)
    assert ([each.first for each in manifest.segments], manifest.version) == (firsts, 7)
    assert rest == (None if next_first is None else PageToken("t-1", 0, 7, next_first))


def test_a_page_token_is_parsed_as_written():
    token = PageToken("9dcc8ade41b04f65", 3, 17, 9_100)
    assert str(token) == "9dcc8ade41b04f65.3.17.9100"
    assert PageToken.parse(str(token)) == token


@pytest.mark.parametrize(
    "text", ["", "x", "t.1.2", "t.1.2.3.4", "t.-1.2.3", "t.1.2.³", "t t.1.2.3", "t.1.2." + "9" * 30]
)
def test_an_invalid_page_token_is_refused(text):
    with pytest.raises(InvalidRequest, match="not a page token"):
        PageToken.parse(text)


def test_a_chain_has_neither_gaps_nor_empty_stretches():
    assert is_chain([FIRST, SECOND], 10)
    assert is_chain([], 10)
    assert not is_chain([FIRST, SECOND], 11)
    assert not is_chain([FIRST, segment(21, 25)], 10)
    assert not is_chain([FIRST, segment(20, 20)], 10)


def test_a_file_name_has_the_partition_and_the_stretch():
    where = folder("orders", "5f0c8a7e1b2d", 3)
    assert where == "orders/5f0c8a7e/partition=3/"
    assert (
        segment_file_name(where, 4, 4_000, "c07d") == f"{where}00000000000000000004-00000000000000004000-c07d.parquet"
    )


@pytest.mark.parametrize("segments", [[FIRST, SECOND], [FIRST, EMPTY]])
def test_segments_of_the_plan_are_accepted(segments):
    check_segments(PLAN, segments)


@pytest.mark.parametrize(
    ("segments", "sentence"),
    [
        ([FIRST], "has 2 stretches, not 1"),
        ([SECOND, FIRST], "has the stretch 10 to 20, but the segment is 20 to 25"),
        ([FIRST, segment(20, 26, SECOND.file)], "has the stretch 20 to 25, but the segment is 20 to 26"),
        ([FIRST, segment(20, 25, FIRST.file)], "names orders/5f0c8a7e/partition=0/2.parquet for 20 to 25, not"),
        ([FIRST, segment(20, 25, SECOND.file, 6)], "stretch 20 to 25 cannot hold 6 records"),
        ([FIRST, segment(20, 25, "", 1, 0)], "if and only if it has records"),
        ([FIRST, segment(20, 25, SECOND.file, 0, 100)], "if and only if it has records"),
        ([FIRST, segment(20, 25, SECOND.file, 1, 0)], "1 records and 0 bytes"),
    ],
)
def test_other_segments_are_refused(segments, sentence):
    with pytest.raises(SegmentMismatch, match=sentence):
        check_segments(PLAN, segments)


MANIFEST = Manifest(4, [FIRST, SECOND, segment(25, 30, f"{HERE}3.parquet"), segment(40, 50, f"{HERE}4.parquet")])
NEW = f"{HERE}new.parquet"


@pytest.mark.parametrize(
    ("firsts", "added"),
    [
        ([10], [segment(10, 20, NEW)]),
        ([20, 10], [segment(10, 25, NEW)]),
        ([10], [segment(10, 15, NEW), segment(15, 20, "", 0, 0)]),
    ],
)
def test_segments_of_the_same_stretch_can_be_swapped(firsts, added):
    assert [each.first for each in segments_to_remove(MANIFEST, firsts, added, HERE)] == sorted(firsts)


@pytest.mark.parametrize(
    ("firsts", "added", "sentence"),
    [
        ([], [segment(10, 20, NEW)], "No segment begins at"),
        ([11], [segment(11, 20, NEW)], r"No segment begins at \[11\]"),
        ([10, 10], [segment(10, 20, NEW)], "No segment begins at"),
        ([10, 25], [segment(10, 30, NEW)], "are not adjacent"),
        ([25, 40], [segment(25, 50, NEW)], "are not adjacent"),
        ([10], [], "cover 10 to 20, those to add do not"),
        ([10], [segment(10, 19, NEW)], "cover 10 to 20, those to add do not"),
        ([10], [segment(10, 15, NEW), segment(16, 20, "", 0, 0)], "cover 10 to 20, those to add do not"),
        ([10], [segment(10, 20, FIRST.file, 1, 99)], "use a new name"),
        ([10], [segment(10, 20, "other/5f0c8a7e/partition=0/new.parquet")], "use a new name in orders/"),
        ([10], [segment(10, 20, f"{HERE}../new.parquet")], "use a new name"),
        ([10], [segment(10, 20, NEW, 11)], "cannot hold 11 records"),
    ],
)
def test_other_swaps_are_refused(firsts, added, sentence):
    with pytest.raises(SegmentMismatch, match=sentence):
        segments_to_remove(MANIFEST, firsts, added, HERE)


def test_stored_structs_are_parsed_as_written():
    for value in (PLAN, FIRST, EMPTY):
        assert msgspec.json.decode(msgspec.json.encode(value), type=type(value)) == value


def test_swapping_a_segment_for_itself_is_accepted():
    assert segments_to_remove(Manifest(1, [FIRST, SECOND]), [10], [FIRST], HERE) == [FIRST]
