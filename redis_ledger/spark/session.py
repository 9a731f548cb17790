"""Starts a Spark session: finds Java, runs workers on the driver's Python, and registers the format.

A session on this machine uses the settings of local_mode.py."""

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
    # The machine's own name may not resolve, or resolve to a foreign address.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.app.name": "redis-ledger",
}


def session(master: str | None = None, settings: Mapping[str, str] | None = None) -> SparkSession:
    """Returns the active session, or a new one.  Raises LedgerError if there is no Java.

    master: where tasks run; None: the master of spark-submit, else two threads of this process.
    settings: of Spark, {"spark.driver.memory": "2g"}.
    """
    is_submitted = "PYSPARK_GATEWAY_PORT" in os.environ  # the JVM is already running with its master
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
        local_mode.use_light_workers(os.environ, pyspark.__file__, local_mode.folder())
    for name, value in (*local.items(), *(settings or {}).items()):
        builder = builder.config(name, value)
    found = builder.getOrCreate()
    register(found)
    return found


def register(spark: SparkSession) -> None:
    """Registers the format with this session, and enables filter pushdown on partition, offset and time."""
    from redis_ledger.spark.source import RedisLedgerSource

    # Spark refuses a source with filter pushdown while this is off.
    spark.conf.set(PUSHDOWN, "true")
    ship_library(spark)  # registering a format captures the environment
    spark.dataSource.register(RedisLedgerSource)


def ship_library(spark: SparkSession) -> None:
    """Adds the zip that this library was loaded from (--py-files) to the path of all Python processes.

    Spark omits such files in the processes on the driver that read or commit a stream.  Executors have them in their
    working folder.
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
    """Sets the environment of the JVM."""
    found = java.find(os.environ, cache_folder())
    if found.home is None:
        raise LedgerError(found.sentence)
    os.environ["JAVA_HOME"] = str(found.home)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
