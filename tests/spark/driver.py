"""A driver in a process of its own, to be killed: queries that write lines of files, one file a batch, into topics.

python -m tests.spark.driver '{"pid": ..., "queries": [{"folder": ..., "checkpoint": ..., "options": {...}}, ...]}'
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from redis_ledger.spark import register
from tests.spark.failing import FailingSource


def begin(
    spark: SparkSession, folder: str, checkpoint: str, options: dict[str, str], name: str = "redis-ledger"
) -> StreamingQuery:
    """It ends when all there is has been written."""
    lines = spark.readStream.option("maxFilesPerTrigger", 1).text(folder).repartition(2)
    writer = lines.writeStream.format(name).options(**options).option("checkpointLocation", checkpoint)
    return writer.trigger(availableNow=True).start()


def main() -> None:
    given = json.loads(sys.argv[1])
    # More threads than tasks: those that wait to be killed are in nobody's way.
    builder = SparkSession.builder.master("local[8]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.log.level", "OFF").getOrCreate()
    register(spark)
    spark.dataSource.register(FailingSource)
    assert spark._jvm is not None
    Path(given["pid"]).write_text(str(spark._jvm.java.lang.ProcessHandle.current().pid()))
    for query in [begin(spark, **each, name="redis-ledger-failing") for each in given["queries"]]:
        query.awaitTermination()


if __name__ == "__main__":
    main()
