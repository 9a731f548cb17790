"""The job of these tests, which copies a topic's values to another; and a driver process that can be killed.

    python -m tests.spark.driver '{"home": "/tmp/x", "jobs": [{"mode": "stream", "source": "in", ...}, ...]}'

It starts its jobs two by two, the next two when these have reached their points.  In its home it writes `pid`, that of
the JVM, and for each job that has ended `<sink>.end`: empty, or the error.
"""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import SparkSession

from redis_ledger.spark import register, session
from tests.spark.failing import FailingSource, Point

SUBSCRIPTION = "copy"
BATCHES, ROWS_OF_ARROW = 3, 5  # of a stream, with 20 records each; of an Arrow batch
AT_ONCE = 2
# Spark waits only ten seconds for the process of a stream's reader to start, even on a busy machine.
STARTS_MAX, TOO_BUSY = 5, "Python worker failed to connect back"
SETTINGS = {"spark.sql.execution.arrow.maxRecordsPerBatch": str(ROWS_OF_ARROW)}


@dataclass(frozen=True)
class Copy:
    """mode: batch, stream.  ends: ending offsets for a batch job, {"in": {"0": 30}}.  point: where it stops, or empty;
    see failing.py.  home: of a stream's checkpoint."""

    mode: str
    source: str
    sink: str
    bootstrap: str
    ends: str
    home: str
    point: str = ""

    def run(self, spark: SparkSession) -> None:
        """Copies all available records, from any thread.  Raises the errors of the job."""
        assert spark._jvm is not None
        # A batch job looks up its format in the session of the thread, and a new thread has none.
        SparkSession._get_j_spark_session_class(spark._jvm).setActiveSession(spark._jsparkSession)
        kind = "redis-ledger-failing" if self.point else "redis-ledger"
        point = {"point": self.point} if self.point else {}
        read = {"bootstrap": self.bootstrap, "topics": self.source, "startingOffsets": "earliest", **point}
        read |= {"fetchBytes": "250000"}
        write = {"bootstrap": self.bootstrap, "topic": self.sink, "commitSubscription": SUBSCRIPTION, **point}
        write |= {"batchBytes": "100"}
        if self.mode == "batch":
            frame = spark.read.format(kind).options(**read, endingOffsets=self.ends).load().select("value")
            once = {"onceName": self.sink, "onceNumber": "7", "commitOffsets": self.ends}
            frame.write.format(kind).options(**write, **once).mode("append").save()
            return
        frame = spark.readStream.format(kind).options(**read, maxOffsetsPerTrigger="20").load().select("value")
        writer = frame.writeStream.format(kind).options(**write, checkpointLocation=self.checkpoint)
        for start in range(1, STARTS_MAX + 1):
            try:
                writer.trigger(availableNow=True).start().awaitTermination()
                return
            except StreamingQueryException as error:
                if TOO_BUSY not in str(error) or start == STARTS_MAX:
                    raise

    @property
    def checkpoint(self) -> str:
        return f"{self.home}/{self.sink}.checkpoint"


def prepared(spark: SparkSession) -> SparkSession:
    """Registers both formats, and makes Arrow batches so small that a task has several."""
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    register(spark)
    spark.dataSource.register(FailingSource)
    return spark


def main() -> None:
    given = json.loads(sys.argv[1])
    home, jobs = Path(given["home"]), [Copy(**job) for job in given["jobs"]]
    # More threads than tasks, so that jobs waiting to be killed block no others.
    spark = prepared(session(f"local[{2 * len(jobs) + 2}]", {"spark.ui.enabled": "false", "spark.log.level": "OFF"}))
    assert spark._jvm is not None
    (home / "pid").write_text(str(spark._jvm.java.lang.ProcessHandle.current().pid()))

    def run(job: Copy) -> None:
        error_text = ""
        try:
            job.run(spark)
        except (PySparkException, Py4JError) as error:
            error_text = str(error)
        (home / f"{job.sink}.ending").write_text(error_text)
        (home / f"{job.sink}.ending").rename(home / f"{job.sink}.end")

    with ThreadPoolExecutor(len(jobs)) as threads:
        for first in range(0, len(jobs), AT_ONCE):
            begun = {job: threads.submit(run, job) for job in jobs[first : first + AT_ONCE]}
            while not all(running.done() or Point(job.point).notes() for job, running in begun.items()):
                time.sleep(0.05)  # jobs signal by files that they have stopped


if __name__ == "__main__":
    main()
