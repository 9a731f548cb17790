"""A Spark session that can start: Java is found, workers run the driver's Python, and the format is registered.

One on this machine starts its workers quickly and speaks with them without pauses; see local_mode.py."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from redis_ledger.errors import LedgerError
from redis_ledger.spark import java, local_mode

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[2]"
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
_HERE: Mapping[str, str] = {
    # A machine's own name may not resolve, or to an address that is not its.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.app.name": "redis-ledger",
}


def session(master: str | None = None, settings: Mapping[str, str] | None = None) -> SparkSession:
    """The session there is, or a new one.  Raises LedgerError where there is no Java.

    master: where tasks run; None is what spark-submit was told, else two threads of this process.
    settings: of Spark, {"spark.driver.memory": "2g"}.
    """
    is_submitted = "PYSPARK_GATEWAY_PORT" in os.environ  # the JVM runs already, and knows what it was told
    if not is_submitted:
        _prepare()
        master = master or LOCAL
    import pyspark
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    if master is not None:
        builder = builder.master(master)
    local: Mapping[str, str] = {}
    if master is not None and master.startswith("local") and SparkSession.getActiveSession() is None:
        local = {**_HERE, **local_mode.sockets(local_mode.folder())}
        local_mode.lighten(os.environ, pyspark.__file__, local_mode.folder())
    for name, value in (*local.items(), *(settings or {}).items()):
        builder = builder.config(name, value)
    found = builder.getOrCreate()
    register(found)
    return found


def register(spark: SparkSession) -> None:
    """Makes the format known to this session, and lets filters on partition, offset and time reach it."""
    from redis_ledger.spark.source import RedisLedgerSource

    # Spark refuses a source that takes filters while this is off.
    spark.conf.set(PUSHDOWN, "true")
    bring_along(spark)  # a format is registered with the environment of that moment
    spark.dataSource.register(RedisLedgerSource)


def bring_along(spark: SparkSession) -> None:
    """When this library came as a zip (--py-files), has every process of Python find it there.

    Spark forgets such files where it starts the reader and the committer of a stream, on the driver.  Executors keep
    them in the folder they run in.
    """
    place = Path(__file__).parents[2]
    if place.is_file():
        found = spark.sparkContext.environment
        found["PYTHONPATH"] = os.pathsep.join(
            filter(None, [str(place.absolute()), place.name, found.get("PYTHONPATH")])
        )


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "redis-ledger"


def _prepare() -> None:
    """What the JVM will find in its environment."""
    found = java.find(os.environ, cache_folder())
    if found.home is None:
        raise LedgerError(found.sentence)
    os.environ["JAVA_HOME"] = str(found.home)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
