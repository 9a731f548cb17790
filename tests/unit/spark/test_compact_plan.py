"""Plan of a compaction: groups of segments to rewrite, and orphan files."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from redis_ledger.offload.manifest import Segment, is_chain
from redis_ledger.spark.pipelines.compact_plan import Group, Orphans, groups, is_unchanged, orphans

FOLDER = "orders/5f0c8a7e/partition=0/"


def chain(*sizes: int, records: int = 100) -> list[Segment]:
    """Adjacent segments, 100 offsets each.  sizes: in bytes; 0 has no record."""
    return [
        Segment(100 * n, 100 * n + 100, f"{FOLDER}{n}" if size else "", records if size else 0, size, 1, 2, "")
        for n, size in enumerate(sizes)
    ]


def found(segments: list[Segment], *kept: int, bytes_max: int = 60) -> list[tuple[list[int], int]]:
    by_first = {segment.first: count for segment, count in zip(segments, kept, strict=True) if count}
    return [
        ([each.first // 100 for each in group.segments], group.kept) for group in groups(segments, by_first, bytes_max)
    ]


def test_a_segment_that_keeps_everything_is_left_alone():
    assert found(chain(60, 60, 60), 100, 100, 100) == []
    assert found(chain(60, 60, 60), 100, 50, 100) == [([1], 50)]


def test_small_neighbours_become_one():
    assert found(chain(10, 10, 60, 10), 100, 100, 100, 100) == [([0, 1], 200)]
    assert found(chain(60, 60, 60, 60), 10, 10, 100, 20) == [([0, 1], 20), ([3], 20)]
    assert found(chain(0, 0, 60, 0), 0, 0, 100, 0) == [([0, 1], 0)]


def test_segments_that_do_not_fit_together_stay_apart():
    assert found(chain(100, 100, 100), 40, 40, 40) == [([0], 40), ([1], 40), ([2], 40)]
    assert found(chain(100, 100, 100), 30, 30, 30) == [([0, 1], 60), ([2], 30)]


def test_segments_with_a_gap_between_them_are_not_merged():
    first, _, last = chain(10, 10, 10)
    assert groups([first, last], {0: 100, 200: 100}, 60) == []


def test_a_segment_of_which_nothing_stays_is_replaced_by_one_without_a_file():
    assert found(chain(60), 0) == [([0], 0)]


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)), max_size=12))
def test_groups_ascend_cover_all_that_changes_and_are_never_larger_than_asked_unless_one_segment_is(shapes):
    segments = chain(*(size for size, _ in shapes))
    kept = [min(count, segment.records) for (_, count), segment in zip(shapes, segments, strict=True)]
    by_first = {segment.first: count for segment, count in zip(segments, kept, strict=True) if count}
    made = groups(segments, by_first, 60)
    moved = [each for group in made for each in group.segments]
    assert moved == sorted(moved, key=lambda each: each.first)
    assert {each.first for each in segments if by_first.get(each.first, 0) < each.records} <= {m.first for m in moved}
    for group in made:
        assert is_chain(group.segments, group.segments[0].first)
        size = sum(s.bytes * by_first.get(s.first, 0) / max(1, s.records) for s in group.segments)
        assert size <= 60 or len(group.segments) == 1


def test_a_second_run_leaves_compacted_segments_alone():
    segments = chain(60, 60, 4, 3, 0, 60)
    made = groups(segments, {0: 100, 100: 10, 200: 100, 300: 50, 500: 100}, 60)
    assert [[each.first for each in group.segments] for group in made] == [[100, 200, 300, 400]]
    merged = Segment(100, 500, "new", made[0].kept, 12, 1, 2, "")
    assert groups([segments[0], merged, segments[5]], {0: 100, 100: merged.records, 500: 100}, 60) == []


def test_a_file_is_named_by_its_stretch_and_the_run():
    stretch = Group(chain(1, 1), 5).stretch(FOLDER, 17)
    assert stretch.file == f"{FOLDER}{0:020d}-{200:020d}-compacted17.parquet"
    assert (stretch.first, stretch.end) == (0, 200)


def name(id: str, first: int = 0) -> str:
    return f"{FOLDER}{first:020d}-{100:020d}-{id}.parquet"


def test_orphans_are_unreferenced_files_no_reader_needs():
    offloaded, compacted = name("c07d5e"), name("compacted16")
    unfinished = f"{FOLDER}_tmp-ab12-{0:020d}-{100:020d}-compacted16"
    elsewhere = f"{FOLDER}_tmp-ab12-{0:020d}-{100:020d}-c07d5e"
    mine, later, foreign = name("compacted17"), name("compacted18"), f"{FOLDER}README.md"
    there = [offloaded, compacted, unfinished, elsewhere, mine, later, foreign]
    assert orphans(there, set(), 17) == Orphans([offloaded], [compacted, unfinished])
    assert orphans(there, {offloaded, compacted}, 17) == Orphans([], [unfinished])


def test_segments_are_unchanged_while_the_manifest_has_these_very_ones():
    first, second = chain(10, 10)
    assert is_unchanged([first, second], [first, second, *chain(1, 1, 1)[2:]])
    assert not is_unchanged([first, second], [first])
    assert not is_unchanged([first], [Segment(0, 100, "other", 100, 10, 1, 2, "")])
