"""Compaction on Spark: selects the records to keep, and rewrites segments.

    segments ──scan──▶ (key, offset, is it an old tombstone)     a task a segment, four of its columns
             ──group by key, highest offset──▶ last of each key ──▶ without old tombstones ──▶ (segment, offset)
             ──group by new segment──▶ rewrite, read back         a task a new segment, only its own rows

Records without a key are groups of one, so they are kept.  The driver sees counts and segments, never records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import asdict

from redis_ledger.offload.checksum import to_hex
from redis_ledger.offload.manifest import Segment, Stretch
from redis_ledger.offload.segment import SegmentWriter, check_file, open_home, read_groups

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = ("offset", "timestamp", "key", "value")
SCANNED = "key binary, own bigint, rank bigint"
KEPT = "first bigint, offset bigint, keyless boolean"
WRITTEN = """
    first bigint, end bigint, file string, records bigint, bytes bigint, min_ms bigint, max_ms bigint, checksum string
"""  # a Segment


class Count(NamedTuple):
    """Counts of a segment."""

    kept: int
    keyless: int


class Rewriting(NamedTuple):
    """A new segment, and the segments that it replaces."""

    stretch: Stretch
    segments: list[Segment]


def kept(spark: SparkSession, home: str, segments: Sequence[Segment], old_ms: int) -> DataFrame:
    """Returns the offsets to keep with the first offset of their segment, for one partition.  old_ms: tombstones before
    it are deleted."""
    from pyspark.sql import functions as f

    full = [segment for segment in segments if segment.file]
    numbers = spark.range(0, len(full), 1, max(1, len(full)))
    scanned = numbers.mapInArrow(_scan(home, full, old_ms), SCANNED)
    last = scanned.groupBy("key", "own").agg(f.max("rank").alias("rank")).where("rank % 2 = 0")
    return last.selectExpr("rank", "key is null keyless").mapInArrow(_placed([each.first for each in full]), KEPT)


def counts(kept: DataFrame) -> dict[int, Count]:
    """By first offset of the segment; a segment without records to keep is absent."""
    from pyspark.sql import functions as f

    rows = kept.groupBy("first").agg(f.count("offset").alias("all"), f.count_if("keyless").alias("keyless")).collect()
    return {row["first"]: Count(row["all"], row["keyless"]) for row in rows}


def rewritten(kept: DataFrame, home: str, topic_id: str, wanted: Sequence[Rewriting]) -> list[Segment]:
    """Returns the new segments, ascending.  Each has records."""
    if not wanted:
        return []
    numbers = {segment.first: number for number, each in enumerate(wanted) for segment in each.segments}
    moved = kept.where(kept["first"].isin(list(numbers)))
    placed = moved.mapInArrow(_numbered(numbers), "number int, offset bigint")
    rows = placed.groupBy("number").applyInArrow(_rewrite(home, topic_id, wanted), WRITTEN).collect()
    return sorted((Segment(*row) for row in rows), key=lambda segment: segment.first)


def empty(stretch: Stretch) -> Segment:
    """Returns the segment of a stretch without records to keep."""
    return Segment(stretch.first, stretch.end, "", 0, 0, -1, -1, to_hex(0))


# -- on executors ------------------------------------------------------------------------------------------------------

Batches = Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]


def _scan(home: str, segments: Sequence[Segment], old_ms: int) -> Batches:
    """rank: twice the offset, plus 1 for an old tombstone, so that the maximum has both."""

    def scan(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        import pyarrow.compute as pc

        opened = open_home(home)
        for number in (each for batch in batches for each in batch.column(0).to_pylist()):
            segment = segments[number]
            for group in read_groups(opened, segment, segment.first, segment.end, COLUMNS):
                offset, key = group.column("offset"), group.column("key")
                keyless = key.is_null()
                is_old = pc.less(group.column("timestamp").cast(pa.int64()), old_ms)
                goes = pc.and_(pc.and_(group.column("value").is_null(), is_old), pc.invert(keyless))
                rank = pc.add(pc.multiply(offset, 2), goes.cast(pa.int64()))
                own = pc.if_else(keyless, offset, -1)
                yield pa.RecordBatch.from_arrays([key, own, rank], names=["key", "own", "rank"])

    return scan


def _placed(firsts: Sequence[int]) -> Batches:
    def placed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import numpy as np
        import pyarrow as pa

        begin = np.array(firsts, np.int64)
        for batch in batches:
            offsets = batch.column("rank").to_numpy() // 2
            found = begin[np.searchsorted(begin, offsets, "right") - 1]
            columns = [pa.array(found), pa.array(offsets), batch.column("keyless")]
            yield pa.RecordBatch.from_arrays(columns, names=["first", "offset", "keyless"])

    return placed


def _numbered(numbers_of: dict[int, int]) -> Batches:
    def numbered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            numbers = pa.array([numbers_of[first] for first in batch.column("first").to_pylist()], pa.int32())
            yield pa.RecordBatch.from_arrays([numbers, batch.column("offset")], names=["number", "offset"])

    return numbered


def _rewrite(home: str, topic_id: str, wanted: Sequence[Rewriting]) -> Callable[[Any], Any]:
    def rewrite(table: pa.Table) -> pa.Table:
        import pyarrow as pa

        number, offsets = table.column("number")[0].as_py(), table.column("offset").combine_chunks()
        segment = write(home, topic_id, wanted[number], offsets)
        return pa.table({name: [value] for name, value in asdict(segment).items()})

    return rewrite


def write(home: str, topic_id: str, wanted: Rewriting, offsets: pa.Array) -> Segment:
    """offsets: those to keep, in any order.  Verifies the file: raises OffloadedDamaged, OffloadedUnavailable."""
    import pyarrow.compute as pc

    opened = open_home(home)
    with SegmentWriter(opened, wanted.stretch, topic_id) as writer:
        for segment in wanted.segments:
            for group in read_groups(opened, segment, segment.first, segment.end):
                writer.add(group.filter(pc.is_in(group.column("offset"), value_set=offsets)))
        written = writer.finish()
    check_file(opened, written)
    return written
