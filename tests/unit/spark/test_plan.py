from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redis_ledger.errors import OffsetOutOfRange
from redis_ledger.ids import TopicPartition
from redis_ledger.offload.manifest import Segment
from redis_ledger.spark import plan
from redis_ledger.spark.offset_options import PartitionEnds
from redis_ledger.spark.plan import Offloaded, Range

A, B, C = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
THERE = {A: PartitionEnds(5, 20, 25, 100.0), B: PartitionEnds(0, 7, 7, 10.0)}

# -- a batch -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "end", "ranges", "losses"),
    [
        (5, 20, [(5, 20)], []),
        (10, 10, [], []),
        (4, 4, [], []),  # an empty range loses nothing
        (0, 20, [(5, 20)], ["a:0: offsets 0 to 5 have been deleted."]),
        (0, 3, [], ["a:0: offsets 0 to 3 have been deleted."]),
        (10, 30, [(10, 25)], ["a:0: offsets 25 to 30 do not exist."]),
        (26, 30, [], ["a:0 ends at 25, below the start offset 26."]),
        (22, 20, [], []),  # above the stable offset: nothing to read yet
    ],
)
def test_a_range_is_what_is_there_of_it_and_the_rest_is_a_loss(start, end, ranges, losses):
    settled = plan.plan_ranges({A: start}, {A: end}, THERE)
    assert [(each.first, each.end) for each in settled.ranges] == ranges
    assert settled.losses == losses


def test_a_partition_without_a_start_is_new_and_begins_at_0():
    assert plan.plan_ranges({}, {B: 7}, THERE).ranges == [Range(B, 0, 7, 10.0)]


def test_a_partition_that_is_gone_is_a_loss_only_while_there_was_something_to_read():
    assert plan.plan_ranges({C: 3}, {C: 9}, THERE).losses == ["b:0 no longer exists."]
    assert plan.plan_ranges({C: 9}, {C: 9}, THERE).losses == []


def test_a_loss_fails_the_query_and_says_how_to_go_on():
    with pytest.raises(OffsetOutOfRange, match=r"exist\. one\. two\. three\. \(and 1 more\).*failOnDataLoss to false"):
        plan.check_loss(["one.", "two.", "three.", "four."], fail=True)
    plan.check_loss([], fail=True)


def test_a_loss_that_is_passed_over_is_logged(caplog):
    plan.check_loss(["a:0 is gone."], fail=False)
    assert "skipping records: a:0 is gone." in caplog.text


# -- a stream ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "ahead", "losses"),
    [
        (5, (5, 20), []),
        (20, (20, 20), []),
        (23, (23, 23), []),  # was read uncommitted before
        (2, (5, 20), ["a:0: offsets 2 to 5 have been deleted before they were read."]),
        (99, (5, 20), ["a:0 ends at 25, below 99, the position of this query."]),
    ],
)
def test_a_stream_has_before_it_what_came_since(start, ahead, losses):
    noted = plan.remaining_ranges({A: start}, {A: THERE[A]})
    assert [(each.first, each.end) for each in noted.ranges] == [ahead]
    assert noted.losses == losses


def test_a_new_partition_is_read_from_0_and_one_that_is_gone_is_a_loss():
    noted = plan.remaining_ranges({C: 3}, {B: THERE[B]})
    assert noted.ranges == [Range(B, 0, 7, 10.0)]
    assert noted.losses == ["b:0 no longer exists."]
    assert plan.remaining_ranges({}, {A: THERE[A]}).losses == [
        "a:0: offsets 0 to 5 have been deleted before they were read."
    ]


def test_a_log_that_was_begun_anew_is_read_from_its_beginning():
    # Given a checkpoint at 99, and a log that ends at 20, with losses allowed
    ends = plan.batch_ends(plan.remaining_ranges({A: 99}, {A: THERE[A]}).ranges, None, None)
    # When the batch from 99 to 20 is planned
    settled = plan.plan_ranges(plan.without_reset_starts({A: 99}, ends), ends, THERE)
    # Then it has the records of the log
    assert [(each.first, each.end) for each in settled.ranges] == [(5, 20)]


def test_records_after_the_target_are_left_to_the_next_run():
    there = THERE | {C: PartitionEnds(0, 4, 4)}
    seen = plan.capped(there, {A: 12, B: 7}, {A: 6})
    assert {partition: standing.end for partition, standing in seen.items()} == {A: 12, B: 7}
    # And a partition that is only in the checkpoint keeps its offset
    assert plan.batch_ends(
        plan.remaining_ranges({C: 2}, plan.capped({C: there[C]}, {}, {C: 2})).ranges, None, None
    ) == {C: 2}


# -- limits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "limit", "granted"),
    [
        ([10, 20], 30, [10, 20]),
        ([10, 20], 99, [10, 20]),
        ([100, 300], 40, [10, 30]),
        ([1000, 1, 1], 10, [8, 1, 1]),
        ([0, 5, 0], 3, [0, 3, 0]),
        ([10, 10, 10], 10, [4, 3, 3]),
        ([], 5, []),
    ],
)
def test_shares_are_proportional(wanted, limit, granted):
    assert plan.proportional_shares(wanted, limit) == granted


def test_more_partitions_than_records_to_give_take_turns():
    rounds = [plan.proportional_shares([9, 9, 0, 9], 2, turn=turn) for turn in range(3)]
    assert rounds == [[1, 1, 0, 0], [0, 1, 0, 1], [1, 0, 0, 1]]


@given(st.lists(st.integers(0, 10_000), max_size=30), st.integers(1, 20_000), st.integers(0, 100))
def test_shares_sum_up_and_leave_out_nobody_who_fits(wanted, limit, turn):
    granted = plan.proportional_shares(wanted, limit, turn=turn)
    assert sum(granted) == min(limit, sum(wanted))
    assert all(0 <= got <= asked for got, asked in zip(granted, wanted, strict=True))
    if sum(1 for asked in wanted if asked) <= limit:
        assert all(got > 0 for got, asked in zip(granted, wanted, strict=True) if asked)


@pytest.mark.parametrize(
    ("offsets_max", "bytes_max", "ends"),
    [
        (None, None, {A: 110, B: 50}),
        (30, None, {A: 30, B: 10}),
        (None, 1_050, {A: 20, B: 5}),  # a tenth of 100 records of 100 bytes and 50 of 10
        (3, 1_050, {A: 12, B: 1}),  # the tighter of the two
        (None, 1, {A: 11, B: 0}),  # always one
    ],
)
def test_a_batch_holds_no_more_than_its_limits(offsets_max, bytes_max, ends):
    ranges = [Range(A, 10, 110, 100.0), Range(B, 0, 50, 10.0)]
    assert plan.batch_ends(ranges, offsets_max, bytes_max) == ends


# -- tasks -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tasks_min", "task_bytes", "sizes"),
    [
        (1, 1 << 30, [100, 20]),
        (1, 2_500, [25, 25, 25, 25, 20]),
        (6, 1 << 30, [20, 20, 20, 20, 20, 20]),
        (1, 1, [1] * 120),
        (500, 1 << 30, [1] * 120),
    ],
)
def test_ranges_are_cut_by_size_and_into_as_many_tasks_as_asked(tasks_min, task_bytes, sizes):
    ranges = [Range(A, 10, 110, 100.0), Range(B, 0, 20, 100.0)]
    tasks = plan.split_into_tasks(ranges, tasks_min=tasks_min, task_bytes=task_bytes)
    assert [each.offsets for each in tasks] == sizes
    assert [offset for each in tasks if each.partition == A for offset in range(each.first, each.end)] == [
        *range(10, 110)
    ]


def test_nothing_to_read_makes_no_task():
    assert plan.split_into_tasks([], tasks_min=8, task_bytes=1) == []


# -- offloaded ranges ----------------------------------------------------------------------------------------------


def segment(first: int, end: int, size: int = 1_000, *, file: str | None = None, ms: int = 0) -> Segment:
    return Segment(first, end, f"{first}.parquet" if file is None else file, end - first, size, ms, ms + 9, "")


FILES = [segment(0, 10), segment(10, 20, file=""), segment(20, 50, ms=100), segment(50, 60, ms=200)]
OFFLOADED = {A: Offloaded("/home", FILES)}


def shown(ranges):
    return [(each.first, each.end, tuple(s.first for s in each.segments)) for each in ranges]


@pytest.mark.parametrize(
    ("first", "end", "task_bytes", "parts"),
    [
        (0, 80, 1, [(0, 10, (0,)), (20, 50, (20,)), (50, 60, (50,)), (60, 80, ())]),
        (0, 80, 2_000, [(0, 50, (0, 20)), (50, 60, (50,)), (60, 80, ())]),
        (0, 80, 9_000, [(0, 60, (0, 20, 50)), (60, 80, ())]),
        (5, 30, 1, [(5, 10, (0,)), (20, 30, (20,))]),
        (12, 18, 1, []),  # no committed record there
        (55, 60, 1, [(55, 60, (50,))]),
        (60, 80, 1, [(60, 80, ())]),
        (59, 61, 1, [(59, 60, (50,)), (60, 61, ())]),
    ],
)
def test_offloaded_ranges_are_read_from_files_and_the_rest_from_the_broker(first, end, task_bytes, parts):
    found = plan.split_offloaded([Range(A, first, end), Range(B, 0, 7)], OFFLOADED, task_bytes)
    assert shown(found) == [*parts, (0, 7, ())]
    assert {each.home for each in found} <= {"/home", ""}


def test_a_file_without_anything_that_is_wanted_makes_no_task():
    found = plan.split_offloaded([Range(A, 0, 70)], OFFLOADED, 1, lambda each: each.min_ms == 100)
    assert shown(found) == [(20, 50, (20,)), (60, 70, ())]


def test_a_stretch_that_the_manifest_lacks_is_asked_of_the_broker():
    assert shown(plan.split_offloaded([Range(A, 0, 30)], {A: Offloaded("/home", FILES[2:])}, 1)) == [(0, 30, ())]
    assert shown(plan.split_offloaded([Range(A, 0, 70)], {A: Offloaded("/home", [])}, 1)) == [(0, 70, ())]


@given(
    st.lists(st.tuples(st.integers(1, 30), st.integers(1, 5_000), st.booleans()), max_size=8),
    st.integers(0, 100), st.integers(1, 100), st.integers(1, 20_000), st.integers(1, 9),
)  # fmt: skip
def test_parts_cover_each_wanted_offset_once_however_they_are_cut(lengths, first, count, task_bytes, tasks_min):
    segments, at = [], 0
    for length, size, has_file in lengths:
        segments.append(segment(at, at + length, size, file=None if has_file else ""))
        at += length
    whole = Range(A, first, first + count)
    tasks = plan.split_into_tasks(
        plan.split_offloaded([whole], {A: Offloaded("h", segments)}, task_bytes),
        tasks_min=tasks_min,
        task_bytes=task_bytes,
    )
    owner = {offset: each for each in segments for offset in range(each.first, each.end)}
    read = []
    for task in tasks:
        for offset in range(task.first, task.end):
            if not task.segments:
                assert offset not in owner
                read.append(offset)
            elif offset in owner and owner[offset] in task.segments:
                read.append(offset)
    wanted = [each for each in range(first, first + count) if each not in owner or owner[each].file]
    assert read == wanted
