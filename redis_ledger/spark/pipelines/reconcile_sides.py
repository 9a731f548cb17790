"""Sides of a reconciliation: the places of records, and how each is read as a table.

    topic:orders          key, value, topic, partition, offset, timestamp; up to the current stable offset
    offloaded:orders           the offloaded records of a topic, read from the files of the manifest
    parquet:out/hours     a folder, a file or a glob, with its own columns
    jsonl:flights.jsonl   lines of JSON: members become columns; the line is `value` unless it has a member of that
                          name
    expect:facts.json     no records: expectations for the other side

The end of a topic is determined once, so all reads of it see the same records.
"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from redis_ledger.errors import InvalidRequest
from redis_ledger.spark.offset_options import PartitionEnds
from redis_ledger.spark.partition_metadata import partition_ends
from redis_ledger.spark.pipelines.arguments import client_of, options_of
from redis_ledger.spark.read_options import Connection, parse_read_options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Kind = Literal["topic", "offloaded", "parquet", "jsonl", "expect"]
NAMES: dict[Kind, str] = {
    "topic": "topic",
    "offloaded": "offloaded",
    "parquet": "Parquet",
    "jsonl": "JSON lines",
    "expect": "expectations",
}
LINE = "value"


class Side(NamedTuple):
    kind: Kind
    place: str

    @property
    def name(self) -> str:
        return f"{NAMES[self.kind]} {self.place}"


def side(text: str) -> Side:
    """For argparse."""
    kind, _, place = text.partition(":")
    for known in get_args(Kind):
        if kind == known and place:
            return Side(known, place)
    raise argparse.ArgumentTypeError(
        f"{text!r} is not a side: topic:NAME, offloaded:NAME, parquet:PATH, jsonl:PATH or expect:FILE.json"
    )


class Loaded(NamedTuple):
    """partition_ends: of a topic's partitions; empty for other sides."""

    side: Side
    frame: DataFrame
    partition_ends: dict[int, PartitionEnds]


def load(spark: SparkSession, side: Side, reached: Connection, isolation: str, *, headers: bool) -> Loaded:
    """Raises UnknownTopic, InvalidRequest; Spark's AnalysisException if a file does not exist."""
    if side.kind == "topic":
        return _topic(spark, side, reached, isolation, headers)
    if side.kind == "offloaded":
        return _offloaded(spark, side, reached)
    if side.kind == "parquet":
        return Loaded(side, spark.read.parquet(side.place), {})
    if side.kind == "jsonl":
        return Loaded(side, _lines(spark, side.place), {})
    raise InvalidRequest("Expectations are not records; give them as --right.")


def _topic(spark: SparkSession, side: Side, reached: Connection, isolation: str, headers: bool) -> Loaded:
    options = {**options_of(reached), "topics": side.place, "isolation": isolation}
    found = partition_ends(parse_read_options(options, "batch"), all_named=True)
    if len({partition.topic for partition in found}) != 1:
        raise InvalidRequest(f"{side.place!r} is more than one topic; compare one topic at a time.")
    options |= {
        "startingOffsets": _offsets(side.place, {at.partition: ends.start for at, ends in found.items()}),
        "endingOffsets": _offsets(side.place, {at.partition: ends.end for at, ends in found.items()}),
        "includeHeaders": str(headers).lower(),
    }
    frame = spark.read.format("redis-ledger").options(**options).load()
    return Loaded(side, frame, {at.partition: ends for at, ends in found.items()})


def _offsets(topic: str, at: dict[int, int]) -> str:
    return json.dumps({topic: {str(number): offset for number, offset in at.items()}})


def _offloaded(spark: SparkSession, side: Side, reached: Connection) -> Loaded:
    with client_of(reached) as client:
        found = client.offload.describe(side.place)
    home = f"file://{found.home}" if found.home.startswith("/") else found.home
    files = [f"{home}/{each.file}" for one in found.partitions for each in one.segments if each.file]
    if not files:
        raise InvalidRequest(f"{side.place} has no offloaded records.")
    partition_ends = {
        one.partition: PartitionEnds(one.segments[0].first, one.offloaded_offset, one.offloaded_offset)
        for one in found.partitions
        if one.segments
    }
    return Loaded(side, spark.read.parquet(*files), partition_ends)


def _lines(spark: SparkSession, place: str) -> DataFrame:
    from pyspark.sql import functions as F

    text = spark.read.text(place).where(F.length(F.trim(LINE)) > 0)
    shape = spark.read.json(place).schema
    if "_corrupt_record" in shape.names:
        raise InvalidRequest(f"{place} has lines that are not JSON; the first is {_first_bad(text)!r}.")
    members = [F.col("members")[name].alias(name) for name in shape.names]
    parsed = text.withColumn("members", F.from_json(LINE, shape))
    if LINE in shape.names:
        return parsed.select(*members)
    return parsed.select(*members, F.col(LINE))


def _first_bad(lines: DataFrame) -> str:
    from pyspark.sql import functions as F

    bad = lines.where(F.expr(f"try_parse_json({LINE})").isNull()).first()
    return "" if bad is None else str(bad[0])[:80]


def transformed(spark: SparkSession, frame: DataFrame, query: str | None, where: str | None) -> DataFrame:
    """query: SQL over the table `side`.  Raises Spark's AnalysisException for an error of the user's SQL."""
    if query:
        frame.createOrReplaceTempView("side")
        try:
            frame = spark.sql(query)
        finally:
            spark.catalog.dropTempView("side")
    return frame.where(where) if where else frame
