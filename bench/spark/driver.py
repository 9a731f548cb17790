"""Driver of the measured Spark: reads one step of work as a line of JSON, writes one line with the result.

Runs in Spark's own environment, as `scripts/spark.py run -m bench.spark.driver`, until its input ends.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as of

from redis_ledger.spark import session

FORMAT = "redis-ledger"
CORES = 2
Step = Callable[..., dict[str, Any]]


def started() -> SparkSession:
    settings = {
        "spark.driver.memory": "2g",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(CORES),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    spark = session(f"local[{CORES}]", settings)
    spark.sparkContext.setLogLevel("OFF")  # errors are raised
    return spark


def _topic(spark: SparkSession, url: str, topic: str, options: dict[str, str]) -> DataFrame:
    return spark.read.format(FORMAT).options(bootstrap=url, topics=topic, **options).load()


def check(spark: SparkSession, url: str, topic: str, options: dict[str, str]) -> dict[str, Any]:
    """Reads every record; returns their number, and the bytes of their values."""
    began_s = time.perf_counter()
    row = _topic(spark, url, topic, options).agg(of.count("*"), of.sum(of.length("value")), of.max("offset")).first()
    assert row is not None, "an aggregate has a row"
    return {"rows": row[0], "bytes": row[1], "last": row[2], "seconds": time.perf_counter() - began_s}


def read(spark: SparkSession, url: str, topic: str, options: dict[str, str]) -> dict[str, Any]:
    """Reads all rows with all columns into the JVM, and drops them there."""
    frame = _topic(spark, url, topic, options)
    began_s = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return {"seconds": time.perf_counter() - began_s}


def offload(spark: SparkSession, url: str, topic: str) -> dict[str, Any]:
    """Runs `redis-ledger pipeline offload --seal` inside this session: write, read back, publish."""
    from redis_ledger.client import Client
    from redis_ledger.spark.offloading import OffloadOptions
    from redis_ledger.spark.pipelines.offload import round_of
    from redis_ledger.spark.read_options import connection

    began_s = time.perf_counter()
    with Client(url) as client:
        round_of(client, connection({"bootstrap": url}), [topic], OffloadOptions(seal=True), spark.sparkContext)
    return {"seconds": time.perf_counter() - began_s}


def prepare(spark: SparkSession, records: int, bytes_each: int, home: str) -> dict[str, Any]:
    """Writes rows to Parquet, so that generating them is not measured."""
    value = f"repeat(sha2(cast(id as string), 512), {-(-bytes_each // 128)})"
    rows = spark.range(0, records, 1, CORES).selectExpr(
        "cast(cast(id as string) as binary) key", f"cast(substr({value}, 1, {bytes_each}) as binary) value"
    )
    rows.write.mode("overwrite").parquet(home)
    return {}


def scan(spark: SparkSession, home: str) -> dict[str, Any]:
    """Reads those rows without redis-ledger."""
    began_s = time.perf_counter()
    spark.read.parquet(home).write.format("noop").mode("overwrite").save()
    return {"seconds": time.perf_counter() - began_s}


def write(spark: SparkSession, url: str, topic: str, home: str, options: dict[str, str]) -> dict[str, Any]:
    rows = spark.read.parquet(home)
    began_s = time.perf_counter()
    rows.write.format(FORMAT).options(bootstrap=url, topic=topic, **options).mode("append").save()
    return {"seconds": time.perf_counter() - began_s}


def stream(spark: SparkSession, url: str, topic: str, batches: int) -> dict[str, Any]:
    """Writes micro-batches of one record each to a topic; topic "": to the sink noop, for Spark's own time.

    Returns the duration of each as Spark reports it, in ms; the first ones compile code and are left out.
    """
    warm = max(2, batches // 4)
    with tempfile.TemporaryDirectory(prefix="redis-ledger-bench-") as home:
        lines = Path(home) / "lines"
        lines.mkdir()
        for number in range(warm + batches):
            (lines / f"{number}.txt").write_text(f"line {number}\n")
        rows = spark.readStream.format("text").option("maxFilesPerTrigger", 1).load(str(lines))
        sink = rows.writeStream.option("checkpointLocation", f"{home}/checkpoint").trigger(availableNow=True)
        if topic:
            sink = sink.format(FORMAT).options(bootstrap=url, topic=topic)
        else:
            sink = sink.format("noop")
        query = sink.start()
        query.awaitTermination()
        taken = {each["batchId"]: each["durationMs"] for each in query.recentProgress if each["numInputRows"]}
    return {"batches": [taken[number] for number in sorted(taken)[warm:]]}


STEPS: dict[str, Step] = {each.__name__: each for each in (check, read, offload, prepare, scan, write, stream)}


def main() -> int:
    # The JVM writes to stdout, too, so responses use another file descriptor.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    spark = started()
    answers.write(json.dumps({"ready": spark.version}) + "\n")
    for line in sys.stdin:
        request = json.loads(line)
        step = STEPS[request.pop("step")]
        try:
            answer = step(spark, **request)
        except Exception as error:  # noqa: BLE001 - the bench reports any error
            answer = {"failed": f"{type(error).__name__}: {str(error)[:2000]}"}
        answers.write(json.dumps(answer) + "\n")
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
