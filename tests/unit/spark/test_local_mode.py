from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from redis_ledger.spark import local_mode

SPARKS = "/s p/pyspark/python/lib"


@pytest.fixture
def spark_file(tmp_path: Path) -> str:
    """The folder of an installed Spark."""
    file = tmp_path / "pyspark.py"
    file.touch()
    return str(file)


def test_a_worker_finds_all_it_was_told_but_sparks_archives(tmp_path):
    script = local_mode.write_wrapper(sys.executable, tmp_path)
    output = f"{SPARKS}/pyspark.zip:{SPARKS}/py4j-0.10.9.9-src.zip:/a b:/tmp/*:/jobs/pyspark.zip:job.zip"
    asked = [str(script), "-c", "import os, sys; print(os.environ['PYTHONPATH'], *sys.argv[1:], sep='\\n')", "x  y"]
    said = subprocess.run(asked, env={"PYTHONPATH": output}, capture_output=True, text=True, check=True).stdout
    assert said.split("\n") == ["/a b:/tmp/*:/jobs/pyspark.zip:job.zip", "x  y", ""]


def test_workers_that_would_run_this_python_are_started_by_the_script(tmp_path, spark_file):
    environ: dict[str, str] = {}
    local_mode.use_light_workers(environ, spark_file, tmp_path)
    assert environ == dict.fromkeys(("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"), str(tmp_path / local_mode.SCRIPT))


def test_another_python_and_a_spark_that_is_an_archive_are_left_alone(tmp_path, spark_file):
    for environ, file in (({"PYSPARK_PYTHON": "/other"}, spark_file), ({}, "/s/pyspark.zip/pyspark/__init__.py")):
        before = dict(environ)
        local_mode.use_light_workers(environ, file, tmp_path)
        assert environ == before


def test_sockets_lie_where_this_user_alone_may_look_and_their_paths_are_short_enough():
    assert local_mode.folder().stat().st_mode & 0o777 == 0o700
    assert local_mode.folder() == local_mode.folder()
    assert local_mode.sockets(Path("/tmp/here")) == {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": "/tmp/here",
    }
    assert local_mode.sockets(Path("/tmp") / ("x" * local_mode.FOLDER_BYTES_MAX)) == {}
