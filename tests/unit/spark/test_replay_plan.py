"""Plan of a replay: names, steps and pace."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redis_ledger.errors import InvalidRequest
from redis_ledger.ids import TopicPartition
from redis_ledger.spark.pipelines.replay_plan import (
    Pace,
    all_named,
    derived_name,
    following,
    left,
    named_offsets,
    names,
    step_size,
)


def at(*offsets: int) -> dict[TopicPartition, int]:
    return {TopicPartition("orders", number): offset for number, offset in enumerate(offsets)}


def test_a_job_is_one_by_its_name_and_by_both_its_topics():
    assert names("nightly", "a", "b") == names("nightly", "a", "b")
    others = [names("nightly", "b", "a"), names("nightly", "a", "c"), names("weekly", "a", "b")]
    assert len({names("nightly", "a", "b"), *others}) == 4
    assert names("nightly", "a", "b").end == f"{names('nightly', 'a', 'b').position} end"


@pytest.mark.parametrize("name", ["", "n" * 101, "a\nb"])
def test_a_name_that_cannot_be_one_of_a_subscription_is_refused(name):
    with pytest.raises(InvalidRequest):
        names(name, "a", "b")


def test_the_same_arguments_give_the_same_name():
    assert derived_name({"a": 1, "b": None}) == derived_name({"b": None, "a": 1}) != derived_name({"a": 2, "b": None})


def test_offsets_may_leave_the_topic_out():
    assert json.loads(named_offsets("orders", '{"0": 12}')) == {"orders": {"0": 12}}
    assert json.loads(named_offsets("orders", '{"orders": {"0": 12}}')) == {"orders": {"0": 12}}
    assert named_offsets("orders", "{what") == "{what"


def test_a_step_names_every_partition_there_is_and_reads_none_that_came_later():
    assert json.loads(all_named(at(5, 7), "orders", 3)) == {"orders": {"0": 5, "1": 7, "2": 0}}


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=4), st.integers(1, 30))
def test_steps_cover_a_range_without_gaps_none_is_larger_than_asked_and_they_end(lengths, size):
    position, end = at(*(first for first, _ in lengths)), at(*(first + more for first, more in lengths))
    seen = []
    while left(position, end):
        until = following(position, end, size)
        step = [(p, offset) for p in position for offset in range(position[p], until[p])]
        assert 1 <= len(step) <= size
        seen += step
        position = until
    assert sorted(seen) == [(p, offset) for p, (first, more) in zip(end, lengths, strict=True)
                            for offset in range(first, first + more)]  # fmt: skip


def test_a_step_that_was_cut_by_another_size_is_followed_by_one_that_begins_where_it_ended():
    end = at(10, 0)
    assert following(at(3, 0), end, 4) == at(7, 0)
    assert following(at(7, 0), end, 100) == end


def test_a_step_lasts_a_few_seconds_at_the_rate_unless_told():
    assert (step_size(None, 1_000), step_size(None, None), step_size(7, 1_000)) == (5_000, 500_000, 7)


class Clock:
    """A manual clock, which sleeping advances."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.slept_s: list[float] = []

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        self.now_s += seconds


def paced(rate: int | None, steps: list[tuple[int, float]]) -> list[float]:
    """steps: records, and how long they took.  Returns the pauses."""
    clock = Clock()
    pace = Pace(rate, clock, clock.sleep)
    for records, took_s in steps:
        pace.wait()
        clock.now_s += took_s
        pace.wrote(records)
    return clock.slept_s


def test_a_step_waits_until_the_records_of_the_one_before_have_had_their_time():
    assert paced(100, [(500, 1.0), (500, 2.0), (500, 0.0)]) == [4.0, 3.0]


def test_a_step_that_was_late_is_not_made_up_for():
    # The second step takes 20 s instead of 5; the third begins at once, and the fourth not early.
    assert paced(100, [(500, 1.0), (500, 20.0), (500, 1.0), (500, 1.0)]) == [4.0, 4.0]


def test_without_a_rate_nothing_waits():
    assert paced(None, [(1_000_000, 0.0)] * 5) == []
