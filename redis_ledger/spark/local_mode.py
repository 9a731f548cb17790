"""Spark on this machine alone: its Python workers start with less work, and are spoken to without pauses.

Spark puts an archive of itself first on its workers' path, and an archive keeps no compiled modules: each worker
compiles Spark's Python anew, a second of CPU.  Some have ten seconds to start, which no setting of Spark raises, and on
a busy machine they miss them.  So they are started by a script that leaves the archive out, where the same Spark is
installed.

A task's description and its first rows are two small writes of the JVM into a socket.  By TCP the second one waits
until the first is acknowledged, which the other side puts off for 40 ms (Nagle's algorithm; delayed acknowledgements),
in every task.  Unix domain sockets know no such thing.  They lie in a folder that only this user may enter, since Spark
asks nobody for a password there.
"""

from __future__ import annotations

import atexit
import functools
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import MutableMapping
from pathlib import Path

SCRIPT = "worker-python"
FOLDER_BYTES_MAX = 60  # a socket's path has 104 at most on some systems; Spark's names take 42
_ENABLED, _FOLDER = "spark.python.unix.domain.socket.enabled", "spark.python.unix.domain.socket.dir"
_TEXT = """#!/bin/sh
set -f
IFS=:
kept=
for place in $PYTHONPATH; do
  case $place in
    */python/lib/pyspark.zip | */python/lib/py4j-*-src.zip) ;;
    *) kept=$kept${{kept:+:}}$place ;;
  esac
done
PYTHONPATH=$kept exec {python} "$@"
"""


@functools.cache
def folder() -> Path:
    """One for each process, gone with it."""
    made = Path(tempfile.mkdtemp(prefix="redis-ledger-spark-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def sockets(place: Path) -> dict[str, str]:
    """Settings of Spark: its processes speak through sockets in this folder; none where they cannot."""
    if os.name != "posix" or len(os.fsencode(place)) > FOLDER_BYTES_MAX:
        return {}
    return {_ENABLED: "true", _FOLDER: str(place)}


def lighten(environ: MutableMapping[str, str], spark_file: str | None, place: Path) -> None:
    """Has workers started by the script, if they would run this Python and Spark does not come from its archive itself.

    spark_file: where the module pyspark was found."""
    wanted = environ.get("PYSPARK_PYTHON", sys.executable)
    if os.name != "posix" or wanted != sys.executable or spark_file is None or not Path(spark_file).is_file():
        return
    environ["PYSPARK_PYTHON"] = environ["PYSPARK_DRIVER_PYTHON"] = str(written(sys.executable, place))


def written(python: str, place: Path) -> Path:
    script = place / SCRIPT
    script.write_text(_TEXT.format(python=shlex.quote(python)))
    script.chmod(0o700)
    return script
