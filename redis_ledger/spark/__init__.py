"""Spark reads and writes topics: `spark.read.format("redis-ledger")`, once a session has been told.

    from redis_ledger.spark import register, session

    register(spark)        a session of yours
    spark = session()      or one that needs nothing set up: Java is found, and this Python runs the workers

Needs the extra `spark`; importing this package loads none of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from redis_ledger.spark.session import bring_along, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register", "session"]

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def register(spark: SparkSession) -> None:
    """Makes the format known to this session, and lets filters on partition, offset and time reach it."""
    from redis_ledger.spark.source import RedisLedgerSource

    # Spark refuses a source that takes filters while this is off.
    spark.conf.set(PUSHDOWN, "true")
    bring_along(spark)  # a format is registered with the environment of that moment
    spark.dataSource.register(RedisLedgerSource)
