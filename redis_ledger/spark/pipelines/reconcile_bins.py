"""Data of the charts of a reconciliation: records by time, and by offset in each partition.

through_time    |▂▅▇▅▂  |  bins of a round width, at most BINS_MAX
along_offsets   0 |██░███████| 9,100   cells, at most CELLS a partition
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Bins(NamedTuple):
    """Records by time: from first_ms on, each bin width_ms long."""

    first_ms: int
    width_ms: int
    a: list[int]
    b: list[int]


# Round widths: milliseconds to weeks.
WIDTHS_MS: list[int] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000,
             60_000, 120_000, 300_000, 600_000, 900_000, 1_800_000, 3_600_000, 7_200_000, 10_800_000,
             21_600_000, 43_200_000, 86_400_000, 172_800_000, 604_800_000]  # fmt: skip
BINS_MAX = 80


def width_ms(from_ms: int, to_ms: int) -> int:
    """Returns the least such width that needs at most BINS_MAX bins."""
    least = (to_ms - from_ms) // BINS_MAX + 1
    return next((each for each in WIDTHS_MS if each >= least), -(-least // WIDTHS_MS[-1]) * WIDTHS_MS[-1])


def through_time(sides: Mapping[str, DataFrame], from_ms: int, to_ms: int) -> Bins:
    """sides: rows by "a" and "b"."""
    from pyspark.sql import functions as F

    wide = width_ms(from_ms, to_ms)
    first = from_ms - from_ms % wide
    length = (to_ms - first) // wide + 1
    bins = Bins(first, wide, [0] * length, [0] * length)
    number = F.floor((F.col("ms") - F.lit(first)) / F.lit(wide)).alias("number")
    for row in _both(sides).where("ms is not null").groupBy("side", number).count().collect():
        getattr(bins, row.side)[row.number] = row["count"]
    return bins


def _both(sides: Mapping[str, DataFrame]) -> DataFrame:
    from pyspark.sql import functions as F

    named = [rows.select(F.lit(side).alias("side"), "partition", "offset", "ms") for side, rows in sides.items()]
    return reduce(lambda one, other: one.unionByName(other), named)


class Cells(NamedTuple):
    """Records by offset in one partition: from first on, each cell `width` offsets long."""

    partition: int
    first: int
    end: int
    width: int
    a: list[int]
    b: list[int]


CELLS = 100
PARTITIONS_SHOWN = 32


def along_offsets(sides: Mapping[str, DataFrame], bounds: Mapping[int, tuple[int, int]]) -> list[Cells]:
    """bounds: first offset and end by partition; only the first partitions are counted."""
    from pyspark.sql import functions as F

    cells: dict[int, Cells] = {}
    for number, (first, end) in sorted(bounds.items())[:PARTITIONS_SHOWN]:
        width = -(-max(1, end - first) // CELLS)
        length = -(-max(1, end - first) // width)
        cells[number] = Cells(number, first, end, width, [0] * length, [0] * length)
    if not cells:
        return []
    both = _both(sides)
    shapes = [(each.partition, each.first, each.width) for each in cells.values()]
    shaped = both.sparkSession.createDataFrame(shapes, "partition int, first bigint, width bigint")
    at = F.floor((F.col("offset") - F.col("first")) / F.col("width")).alias("at")
    for row in both.join(F.broadcast(shaped), "partition").groupBy("side", "partition", at).count().collect():
        getattr(cells[row.partition], row.side)[row["at"]] = row["count"]
    return list(cells.values())
