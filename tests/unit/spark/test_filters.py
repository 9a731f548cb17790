from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from redis_ledger.ids import TopicPartition
from redis_ledger.spark.filters import ALL, LAST, Bounds, narrow_offsets, split_filters


@dataclass
class _Of:
    """Like pyspark's filters: a class for each kind, a path and a value."""

    attribute: tuple[str, ...]
    value: Any = None


class EqualTo(_Of): ...


class EqualNullSafe(_Of): ...


class GreaterThan(_Of): ...


class GreaterThanOrEqual(_Of): ...


class LessThan(_Of): ...


class LessThanOrEqual(_Of): ...


class In(_Of): ...


class IsNotNull(_Of): ...


class Not(_Of): ...


class StringStartsWith(_Of): ...


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOON_MS = 1_767_268_800_000
A_LITTLE = timedelta(microseconds=500)


@pytest.mark.parametrize(
    ("given", "bounds"),
    [
        (EqualTo(("topic",), "a"), Bounds(topics=frozenset("a"))),
        (In(("topic",), ("a", "b")), Bounds(topics=frozenset("ab"))),
        (EqualTo(("partition",), 2), Bounds(partitions=frozenset((2,)))),
        (In(("partition",), (0, 2)), Bounds(partitions=frozenset((0, 2)))),
        (EqualTo(("offset",), 7), Bounds(first=7, end=8)),
        (EqualNullSafe(("offset",), 7), Bounds(first=7, end=8)),
        (GreaterThan(("offset",), 7), Bounds(first=8)),
        (GreaterThanOrEqual(("offset",), 7), Bounds(first=7)),
        (LessThan(("offset",), 7), Bounds(end=7)),
        (LessThanOrEqual(("offset",), 7), Bounds(end=8)),
        (GreaterThanOrEqual(("timestamp",), NOON), Bounds(from_ms=NOON_MS)),
        (GreaterThan(("timestamp",), NOON), Bounds(from_ms=NOON_MS + 1)),
        (LessThan(("timestamp",), NOON), Bounds(until_ms=NOON_MS)),
        (LessThanOrEqual(("timestamp",), NOON), Bounds(until_ms=NOON_MS + 1)),
        (EqualTo(("timestamp",), NOON), Bounds(from_ms=NOON_MS, until_ms=NOON_MS + 1)),
        # Between two milliseconds there is no record
        (GreaterThan(("timestamp",), NOON + A_LITTLE), Bounds(from_ms=NOON_MS + 1)),
        (LessThan(("timestamp",), NOON + A_LITTLE), Bounds(until_ms=NOON_MS + 1)),
        (EqualTo(("timestamp",), NOON + A_LITTLE), Bounds(from_ms=NOON_MS + 1, until_ms=NOON_MS + 1)),
        (IsNotNull(("offset",)), ALL),
    ],
)
def test_a_filter_on_where_or_when_a_record_is_leaves_less_to_read(given, bounds):
    assert split_filters([given]) == (bounds, [])


@pytest.mark.parametrize(
    "given",
    [
        EqualTo(("value",), b"x"),
        IsNotNull(("key",)),
        Not(("offset",), 7),
        In(("offset",), (1, 2)),
        In(("partition",), (1, None)),
        EqualNullSafe(("partition",), None),
        GreaterThan(("partition",), 1),
        StringStartsWith(("topic",), "a"),
        EqualTo(("headers", "key"), "x"),
        GreaterThan(("timestamp",), NOON.replace(tzinfo=None)),
    ],
)
def test_any_other_filter_is_left_to_spark(given):
    assert split_filters([given]) == (ALL, [given])


def test_filters_together_leave_what_passes_all_of_them():
    kept = EqualTo(("value",), b"x")
    bounds, left = split_filters(
        [
            In(("partition",), (0, 1)), kept, EqualTo(("partition",), 1), GreaterThan(("offset",), 5),
            GreaterThan(("offset",), 9), LessThan(("offset",), 20), LessThan(("offset",), 30),
        ]
    )  # fmt: skip
    assert bounds == Bounds(partitions=frozenset((1,)), first=10, end=20)
    assert left == [kept]
    assert bounds.takes(TopicPartition("a", 1))
    assert not bounds.takes(TopicPartition("a", 0))
    assert not Bounds(topics=frozenset("b")).takes(TopicPartition("a", 1))


A = TopicPartition("a", 0)


@pytest.mark.parametrize(
    ("bounds", "found", "expected"),
    [
        (ALL, {}, (10, 50)),
        (Bounds(first=20, end=30), {}, (20, 30)),
        (Bounds(first=0, end=LAST), {}, (10, 50)),
        (Bounds(first=60), {}, (60, 60)),
        (Bounds(end=5), {}, (10, 10)),
        (Bounds(from_ms=7), {A: 44}, (44, 50)),
        (Bounds(from_ms=7), {A: None}, (50, 50)),
        (Bounds(from_ms=7, first=20), {A: 15}, (20, 50)),
    ],
)
def test_the_ends_of_a_range_move_together(bounds, found, expected):
    first, end = narrow_offsets({A: 10}, {A: 50}, [A], bounds, found)
    assert (first[A], end[A]) == expected
