"""The Spark demo's driver: two streams over the same flights; it may be killed at any time.

    topic flights ─→ sums by hour and airport ─→ topic hours       exactly once, by the sink
                 └─→ the same once more       ─→ Parquet           exactly once, by Spark's file sink

Its progress is stored only in the checkpoints of the two streams.  Commands on stdin:

    drain    process all available records, then print {"drained": true}
"""

from __future__ import annotations

import argparse
import json
import select
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from redis_ledger.app.tools.demo_spark import hours
from redis_ledger.app.tools.demo_spark.pausing import OPTION, PausingSource
from redis_ledger.app.tools.demo_spark.start import start

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

LOOK_S = 0.2
EVERY = "250 milliseconds"
TOO_BUSY, BEGUN_MAX = "failed to connect back", 20


def summed(spark: SparkSession, given: argparse.Namespace) -> DataFrame:
    from pyspark.sql import functions as F

    read = {"bootstrap": given.url, "topics": hours.FLIGHTS, "startingOffsets": "earliest"}
    read |= {"maxOffsetsPerTrigger": str(given.offsets)}
    flights = (
        spark.readStream.format("redis-ledger")
        .options(**read)
        .load()
        .select(F.from_json(F.col("value").cast("string"), hours.COLUMNS).alias("f"))
        .select("f.*")
        .withColumn("time", F.to_timestamp("date", "yyyy/MM/dd HH:mm"))
    )
    return (
        flights.withWatermark("time", hours.WATERMARK)
        .groupBy(F.window("time", "1 hour"), "origin")
        .agg(
            F.count("*").alias("flights"),
            F.sum("delay").alias("delay"),
            F.count_if(F.col("delay") >= hours.LATE_MINUTES).alias("late"),
        )
        .select(F.date_format("window.start", "yyyy-MM-dd HH:mm").alias("hour"), "origin", "flights", "delay", "late")
    )


def sabotaged(frame: DataFrame, how: str, hour: str, origin: str) -> DataFrame:
    """Duplicates or drops one row."""
    from pyspark.sql import functions as F

    is_it = (F.col("hour") == hour) & (F.col("origin") == origin)
    if how == "duplicate":
        times = F.array_repeat(F.lit(1), F.when(is_it, 2).otherwise(1))
        return frame.withColumn("again", F.explode(times)).drop("again")
    return frame.where(~is_it) if how == "lose" else frame


def to_topic(frame: DataFrame, given: argparse.Namespace) -> StreamingQuery:
    records = frame.selectExpr("origin as key", "to_json(struct(hour, origin, flights, delay, late)) as value")
    kind, pause = ("redis-ledger-pausing", {OPTION: given.pause}) if given.pause else ("redis-ledger", {})
    options = {"bootstrap": given.url, "topic": hours.HOURS, "checkpointLocation": f"{given.home}/checkpoints/topic"}
    writer = records.writeStream.format(kind).options(**options, **pause).queryName("topic")
    return writer.outputMode("append").trigger(processingTime=EVERY).start()


def to_parquet(frame: DataFrame, given: argparse.Namespace) -> StreamingQuery:
    writer = frame.writeStream.format("parquet").option("path", f"{given.home}/parquet").queryName("parquet")
    checkpoint = f"{given.home}/checkpoints/parquet"
    return writer.option("checkpointLocation", checkpoint).trigger(processingTime=EVERY).start()


class Stream:
    """A streaming query that is restarted if Spark's offset reader process did not start within its ten seconds, which
    happens on a busy machine."""

    def __init__(self, begin: Callable[[], StreamingQuery]) -> None:
        self._begin = begin
        self._query = begin()
        self._begun = 1

    def look(self) -> None:
        """Raises StreamingQueryException for anything else."""
        reason = self._query.exception()
        if reason is None:
            return
        if TOO_BUSY not in str(reason) or self._begun == BEGUN_MAX:
            raise reason
        self._begun += 1
        self._query = self._begin()

    @property
    def has_begun(self) -> bool:
        return self._query.lastProgress is not None

    def drain(self) -> None:
        """Waits until all available records are processed."""
        from pyspark.errors import StreamingQueryException

        while True:
            try:
                self._query.processAllAvailable()
                return
            except StreamingQueryException:
                self.look()


def run(given: argparse.Namespace) -> int:
    """Runs until the end of stdin or of a stream."""
    from pyspark.errors import StreamingQueryException

    spark = start()
    spark.dataSource.register(PausingSource)
    first = hours.key({"date": given.first_date, "origin": given.first_origin})
    sums = summed(spark, given)
    streams = [Stream(lambda: to_parquet(sums, given))]
    try:
        # One after the other: starting takes the most CPU.
        while not streams[0].has_begun:
            streams[0].look()
            time.sleep(LOOK_S)
        streams.append(Stream(lambda: to_topic(sabotaged(sums, given.sabotage, *first), given)))
        while True:
            for stream in streams:
                stream.look()
            if select.select([sys.stdin], [], [], LOOK_S)[0]:
                if not sys.stdin.readline():
                    return 0
                for stream in streams:
                    stream.drain()
                print(json.dumps({"drained": True}), flush=True)
    except StreamingQueryException as reason:
        print(f"a stream ended: {reason}", file=sys.stderr, flush=True)
        return 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--offsets", type=int, required=True, help="maximum records of a batch")
    parser.add_argument("--first-date", required=True, help="the flight whose hour is sabotaged")
    parser.add_argument("--first-origin", required=True)
    parser.add_argument("--pause", default="", help="POINT BATCH FILE: pause at POINT from BATCH on and create FILE")
    parser.add_argument("--sabotage", choices=["none", "duplicate", "lose"], default="none")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(run(arguments()))
