"""Local mode: settings that make Python workers of a Spark on this machine start faster and answer without delays.

Spark puts an archive of itself first on the workers' path.  An archive has no compiled modules, so every worker
compiles Spark's Python again, which takes a second of CPU.  Some workers must start within ten seconds, which no
setting changes, and on a busy machine they fail.  Where the same Spark is installed, a wrapper script removes the
archive.

A task's description and its first rows are two small writes of the JVM to a socket.  Over TCP the second one waits up
to 40 ms in every task (Nagle's algorithm and delayed acknowledgements); over Unix domain sockets it does not.  The
sockets are in a folder that only this user can enter, since Spark does not authenticate their clients.
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
FOLDER_BYTES_MAX = 60  # a socket's path is limited to 104 bytes on some systems; Spark's names take 42
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
    """One folder a process, deleted when the process ends."""
    made = Path(tempfile.mkdtemp(prefix="redis-ledger-spark-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def sockets(place: Path) -> dict[str, str]:
    """Returns Spark settings for Unix domain sockets in this folder; none where they are not supported."""
    if os.name != "posix" or len(os.fsencode(place)) > FOLDER_BYTES_MAX:
        return {}
    return {_ENABLED: "true", _FOLDER: str(place)}


def use_light_workers(environ: MutableMapping[str, str], spark_file: str | None, place: Path) -> None:
    """Starts workers by the script, if they run this Python and Spark itself was not loaded from its archive.

    spark_file: of the module pyspark.
    """
    wanted = environ.get("PYSPARK_PYTHON", sys.executable)
    if os.name != "posix" or wanted != sys.executable or spark_file is None or not Path(spark_file).is_file():
        return
    environ["PYSPARK_PYTHON"] = environ["PYSPARK_DRIVER_PYTHON"] = str(write_wrapper(sys.executable, place))


def write_wrapper(python: str, place: Path) -> Path:
    script = place / SCRIPT
    script.write_text(_TEXT.format(python=shlex.quote(python)))
    script.chmod(0o700)
    return script
