"""Filter pushdown: on topic, partition, offset and timestamp.

    WHERE partition IN (0, 2) AND offset >= 100 AND timestamp >= t AND value = x
          ╰── whole partitions   ╰── ends of a range   ╰── the same, and whole batches   ╰── left to Spark

Spark passes the operands of AND.  A filter that is accepted is applied exactly, and Spark does not apply it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeVar

from redis_ledger.ids import TopicPartition
from redis_ledger.spark.offset_options import Offsets

FilterT = TypeVar("FilterT")

LAST = (1 << 63) - 1
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NEVER_NULL = ("topic", "partition", "offset", "timestamp", "timestampType")


class Bounds(NamedTuple):
    """topics, partitions: None means all.  end and until_ms are exclusive."""

    topics: frozenset[str] | None = None
    partitions: frozenset[int] | None = None
    first: int = 0
    end: int = LAST
    from_ms: int = -LAST
    until_ms: int = LAST

    def takes(self, partition: TopicPartition) -> bool:
        return (self.topics is None or partition.topic in self.topics) and (
            self.partitions is None or partition.partition in self.partitions
        )

    @property
    def looks_at_time(self) -> bool:
        return self.from_ms > -LAST or self.until_ms < LAST


ALL = Bounds()


def split_filters(filters: Iterable[FilterT]) -> tuple[Bounds, list[FilterT]]:
    """Splits the filters: the bounds of those that are pushed down, and those that Spark must apply itself.

    filters: of pyspark.sql.datasource; recognized by class name, so that pyspark is not needed here.
    """
    bounds, left = ALL, []
    for each in filters:
        tighter = _applied(bounds, type(each).__name__, each)
        if tighter is None:
            left.append(each)
        else:
            bounds = tighter
    return bounds, left


def _applied(bounds: Bounds, kind: str, given: Any) -> Bounds | None:
    """Returns the bounds with this filter added; None if it cannot be pushed down."""
    path: tuple[str, ...] = getattr(given, "attribute", ())
    if len(path) != 1:  # a filter on a field of a header, or an expression
        return None
    column = path[0]
    if kind == "IsNotNull":
        return bounds if column in _NEVER_NULL else None
    value = getattr(given, "value", None)
    if column in ("topic", "partition"):
        values = {"EqualTo": (value,), "EqualNullSafe": (value,), "In": value}.get(kind)
        return None if values is None or None in values else _among(bounds, column, frozenset(values))
    if column == "offset" and type(value) is int:
        low, high = _interval(kind, value)
        return None if low is None else bounds._replace(first=max(bounds.first, low), end=min(bounds.end, high))
    if column == "timestamp" and isinstance(value, datetime) and value.tzinfo is not None:
        return _timed(bounds, kind, (value - EPOCH) // timedelta(microseconds=1))
    return None


def _among(bounds: Bounds, column: str, values: frozenset[Any]) -> Bounds:
    if column == "topic":
        return bounds._replace(topics=values if bounds.topics is None else bounds.topics & values)
    return bounds._replace(partitions=values if bounds.partitions is None else bounds.partitions & values)


def _interval(kind: str, value: int) -> tuple[int | None, int]:
    """Returns the integers that pass, from the first to the second (exclusive); (None, _) for another kind."""
    return {
        "EqualTo": (value, value + 1),
        "EqualNullSafe": (value, value + 1),
        "GreaterThan": (value + 1, LAST),
        "GreaterThanOrEqual": (value, LAST),
        "LessThan": (-LAST, value),
        "LessThanOrEqual": (-LAST, value + 1),
    }.get(kind, (None, 0))


def _timed(bounds: Bounds, kind: str, microseconds: int) -> Bounds | None:
    """Records have milliseconds: t passes if t * 1000 does."""
    low, high = _interval(kind, microseconds)
    if low is None:
        return None
    from_ms = -LAST if low == -LAST else -(-low // 1000)
    until_ms = LAST if high == LAST else -(-high // 1000)
    return bounds._replace(from_ms=max(bounds.from_ms, from_ms), until_ms=min(bounds.until_ms, until_ms))


def narrow_offsets(
    starts: Offsets,
    ends: Offsets,
    partitions: Iterable[TopicPartition],
    bounds: Bounds,
    found: Mapping[TopicPartition, int | None],
) -> tuple[Offsets, Offsets]:
    """Narrows the offsets of these partitions to the bounds.

    found  the first offset at or after from_ms, None if there is none; empty if from_ms is not bounded
    """
    firsts, lasts = {}, {}
    for partition in partitions:
        start, end = starts[partition], ends[partition]
        at = found.get(partition, start)
        first = max(start, bounds.first, end if at is None else at)
        firsts[partition], lasts[partition] = first, max(first, min(end, bounds.end))
    return firsts, lasts
