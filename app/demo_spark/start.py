"""Spark for the demo: two threads, few words, and workers that start quickly.

Spark puts an archive of itself first on its workers' path, and an archive has no compiled modules: each worker compiles
Spark's Python anew, a second of CPU.  Some of them have ten seconds to start, which on a busy machine they miss.  So
they are started by a script that leaves the archive out; the same Spark is installed beside this Python anyway.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import MutableMapping
from pathlib import Path
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
SCRIPT = "worker-python"


def start(home: Path) -> SparkSession:
    """home: where the script is written."""
    use(script(home, os.environ.get("PYTHONPATH", "")), os.environ)
    return session("local[2]", SETTINGS)


def script(home: Path, path: str) -> Path:
    """path: what Python is to find its modules in, besides what is installed."""
    file = home / SCRIPT
    unfinished = file.with_suffix(f".{os.getpid()}")  # another process may be starting the one there is
    unfinished.write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(path)} exec {shlex.quote(sys.executable)} "$@"\n')
    unfinished.chmod(0o700)
    return unfinished.replace(file)


def use(python: Path, environ: MutableMapping[str, str]) -> None:
    environ["PYSPARK_PYTHON"] = environ["PYSPARK_DRIVER_PYTHON"] = str(python)
