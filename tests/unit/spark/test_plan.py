from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redis_ledger.errors import OffsetOutOfRange
from redis_ledger.ids import TopicPartition
from redis_ledger.spark import plan
from redis_ledger.spark.places import Standing
from redis_ledger.spark.plan import Range

A, B, C = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
THERE = {A: Standing(5, 20, 25, 100.0), B: Standing(0, 7, 7, 10.0)}

# -- a batch -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "end", "ranges", "losses"),
    [
        (5, 20, [(5, 20)], []),
        (10, 10, [], []),
        (4, 4, [], []),  # nothing of it was to be read, so nothing is lost
        (0, 20, [(5, 20)], ["a:0: offsets 0 to 5 have been deleted."]),
        (0, 3, [], ["a:0: offsets 0 to 3 have been deleted."]),
        (10, 30, [(10, 25)], ["a:0: offsets from 25 on, up to 30, are not there."]),
        (26, 30, [], ["a:0 ends at 25, before 26, where reading was to begin."]),
        (22, 20, [], []),  # between what is decided and the end: nothing to be read yet
    ],
)
def test_a_range_is_what_is_there_of_it_and_the_rest_is_a_loss(start, end, ranges, losses):
    settled = plan.settled({A: start}, {A: end}, THERE)
    assert [(each.first, each.end) for each in settled.ranges] == ranges
    assert settled.losses == losses


def test_a_partition_without_a_start_is_new_and_begins_at_0():
    assert plan.settled({}, {B: 7}, THERE).ranges == [Range(B, 0, 7, 10.0)]


def test_a_partition_that_is_gone_is_a_loss_only_while_there_was_something_to_read():
    assert plan.settled({C: 3}, {C: 9}, THERE).losses == ["b:0 is not there any more."]
    assert plan.settled({C: 9}, {C: 9}, THERE).losses == []


def test_a_loss_fails_the_query_and_says_how_to_go_on():
    with pytest.raises(OffsetOutOfRange, match=r"gone\. one\. two\. three\. \(and 1 more\).*failOnDataLoss to false"):
        plan.check_loss(["one.", "two.", "three.", "four."], fail=True)
    plan.check_loss([], fail=True)


def test_a_loss_that_is_passed_over_is_logged(caplog):
    plan.check_loss(["a:0 is gone."], fail=False)
    assert "records are passed over: a:0 is gone." in caplog.text


# -- a stream ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "ahead", "losses"),
    [
        (5, (5, 20), []),
        (20, (20, 20), []),
        (23, (23, 23), []),  # was read uncommitted before
        (2, (5, 20), ["a:0: offsets 2 to 5 have been deleted before they were read."]),
        (99, (5, 20), ["a:0 ends at 25, before 99, where this query had come to."]),
    ],
)
def test_a_stream_has_before_it_what_came_since(start, ahead, losses):
    noted = plan.noted({A: start}, {A: THERE[A]})
    assert [(each.first, each.end) for each in noted.ranges] == [ahead]
    assert noted.losses == losses


def test_a_new_partition_is_read_from_0_and_one_that_is_gone_is_a_loss():
    noted = plan.noted({C: 3}, {B: THERE[B]})
    assert noted.ranges == [Range(B, 0, 7, 10.0)]
    assert noted.losses == ["b:0 is not there any more."]
    assert plan.noted({}, {A: THERE[A]}).losses == ["a:0: offsets 0 to 5 have been deleted before they were read."]


def test_a_log_that_was_begun_anew_is_read_from_its_beginning():
    # Given a checkpoint at 99, and a log that ends at 20 now, with losses passed over
    ends = plan.limited(plan.noted({A: 99}, {A: THERE[A]}).ranges, None, None)
    # When the batch from 99 to 20 is planned
    settled = plan.settled(plan.rewound({A: 99}, ends), ends, THERE)
    # Then it is what the log holds
    assert [(each.first, each.end) for each in settled.ranges] == [(5, 20)]


def test_what_comes_after_the_target_is_left_for_the_next_run():
    there = THERE | {C: Standing(0, 4, 4)}
    seen = plan.frozen(there, {A: 12, B: 7}, {A: 6})
    assert {partition: standing.end for partition, standing in seen.items()} == {A: 12, B: 7}
    # And a partition that only the checkpoint knows stays where it is
    assert plan.limited(plan.noted({C: 2}, plan.frozen({C: there[C]}, {}, {C: 2})).ranges, None, None) == {C: 2}


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
def test_what_there_is_to_give_is_shared_in_proportion(wanted, limit, granted):
    assert plan.shares(wanted, limit) == granted


def test_more_partitions_than_records_to_give_take_turns():
    rounds = [plan.shares([9, 9, 0, 9], 2, turn=turn) for turn in range(3)]
    assert rounds == [[1, 1, 0, 0], [0, 1, 0, 1], [1, 0, 0, 1]]


@given(st.lists(st.integers(0, 10_000), max_size=30), st.integers(1, 20_000), st.integers(0, 100))
def test_shares_sum_up_and_leave_out_nobody_who_fits(wanted, limit, turn):
    granted = plan.shares(wanted, limit, turn=turn)
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
    assert plan.limited(ranges, offsets_max, bytes_max) == ends


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
    tasks = plan.cut(ranges, tasks_min=tasks_min, task_bytes=task_bytes)
    assert [each.offsets for each in tasks] == sizes
    assert [offset for each in tasks if each.partition == A for offset in range(each.first, each.end)] == [
        *range(10, 110)
    ]


def test_nothing_to_read_makes_no_task():
    assert plan.cut([], tasks_min=8, task_bytes=1) == []
