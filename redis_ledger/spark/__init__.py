"""Spark data source: reads and writes topics with `spark.read.format("redis-ledger")`.

    from redis_ledger.spark import register, session

    register(spark)        registers the format with an existing session
    spark = session()      starts a session that needs no setup: it finds Java and runs workers on this Python

Needs the extra `spark`; importing this package loads none of it.
"""

from __future__ import annotations

from redis_ledger.spark.session import register, session

__all__ = ["register", "session"]
