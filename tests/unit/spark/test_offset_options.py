from __future__ import annotations

import pytest

from redis_ledger.errors import InvalidRequest
from redis_ledger.ids import TopicPartition
from redis_ledger.spark.offset_options import (
    EARLIEST,
    LATEST,
    OffsetOption,
    PartitionEnds,
    check_found,
    check_named,
    from_checkpoint,
    resolve_offsets,
    to_checkpoint,
)

A, B = TopicPartition("a", 0), TopicPartition("b", 10)
THERE = {A: PartitionEnds(5, 20, 25), B: PartitionEnds(0, 7, 7)}


@pytest.mark.parametrize(
    ("place", "found", "offsets"),
    [
        (OffsetOption(EARLIEST), {}, {A: 5, B: 0}),
        (OffsetOption(LATEST), {}, {A: 20, B: 7}),
        (OffsetOption(None, {A: 12, B: LATEST}), {}, {A: 12, B: 7}),
        (OffsetOption(None, {A: EARLIEST, B: 3}), {}, {A: 5, B: 3}),
        (OffsetOption(1_000, is_time=True), {A: 9, B: None}, {A: 9, B: 7}),
        (OffsetOption(1_000, is_time=True), {A: 23, B: 0}, {A: 20, B: 0}),  # above the limit of this reader
    ],
)
def test_a_place_is_an_offset_in_each_partition(place, found, offsets):
    assert resolve_offsets(place, THERE, found) == offsets


def test_offsets_by_partition_name_every_partition_and_no_other():
    with pytest.raises(InvalidRequest, match="does not name b:10"):
        check_named(OffsetOption(None, {A: 1}), THERE, "startingOffsets")
    with pytest.raises(InvalidRequest, match="startingOffsets names c:0, which"):
        check_named(OffsetOption(None, {A: 1, B: 1, TopicPartition("c", 0): 1}), THERE, "startingOffsets")
    check_named(OffsetOption(None, {A: 1, B: 1}), THERE, "startingOffsets")
    check_named(OffsetOption(EARLIEST), THERE, "startingOffsets")


def test_a_time_after_which_there_is_nothing_is_refused_with_the_way_out():
    with pytest.raises(InvalidRequest, match=r"b:10 have no record at or after 9;.*Strategy=latest"):
        check_found(OffsetOption(9, is_time=True), {A: 3, B: None}, "startingTimestamp")


def test_a_checkpoint_has_the_shape_of_kafkas_and_comes_back_as_it_was():
    offsets = {B: 7, A: 12, TopicPartition("b", 2): 1}
    kept = to_checkpoint(offsets)
    assert kept == {"a": {"0": 12}, "b": {"2": 1, "10": 7}}
    assert list(kept["b"]) == ["2", "10"]
    assert from_checkpoint(kept) == offsets
