"""Spark reads and writes topics: `spark.read.format("redis-ledger")`, once a session has been told.

    from redis_ledger.spark import register, session

    register(spark)        a session of yours
    spark = session()      or one that needs nothing set up: Java is found, and this Python runs the workers

Needs the extra `spark`; importing this package loads none of it.
"""

from __future__ import annotations

from redis_ledger.spark.session import register, session

__all__ = ["register", "session"]
