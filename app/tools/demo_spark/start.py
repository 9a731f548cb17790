"""The Spark session of the demo: two threads and little logging."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redis_ledger.spark import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}


def start() -> SparkSession:
    return session("local[2]", SETTINGS)
