from __future__ import annotations

import os
import sys

import pytest

from redis_ledger.errors import LedgerError
from redis_ledger.spark import java, session


def test_a_machine_without_java_is_told_so_before_spark_is_even_loaded(monkeypatch, tmp_path):
    monkeypatch.setattr(java, "find", lambda environ, wrappers: java.JavaHome(None, ["It rained."]))
    with pytest.raises(LedgerError, match=r"Spark needs Java 17 or newer, and none was found: .* It rained\."):
        session()


def test_the_java_that_was_found_and_this_python_are_what_spark_will_use(monkeypatch, tmp_path):
    # Given a machine with a Java, but without Spark
    monkeypatch.setattr(java, "find", lambda environ, wrappers: java.JavaHome(tmp_path, []))
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.setenv("JAVA_HOME", "elsewhere")
    monkeypatch.setitem(sys.modules, "pyspark", None)
    # When a session is requested
    with pytest.raises(ImportError):
        session()
    # Then everything before it is set up
    assert os.environ["JAVA_HOME"] == str(tmp_path)
    assert os.environ.pop("PYSPARK_PYTHON") == sys.executable
