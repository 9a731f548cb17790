"""Suites that cannot run on this machine: skipped with a reason in the quick form, a failure in the full one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from redis_ledger.spark import java
from scripts import compat, left_out, spark
from scripts.compat import CLIENTS, FAILED, LEFT_OUT, OK, QUICK, Address, SuiteOptions, SuiteResult


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "notes"
    file.touch()
    monkeypatch.setenv(left_out.VARIABLE, str(file))
    return file


def suite(folder: Path, client: str, *, built: bool, passed: bool = True) -> None:
    (folder / client).mkdir(parents=True)
    run = folder / client / "run.sh"
    prepared = "exit 0" if built else f"echo '{client} needs mvn on PATH' >&2; exit 1"
    result = f"echo '{client}: 2 passed, {int(not passed)} failed, 0 skipped'; exit {int(not passed)}"
    run.write_text(f'#!/bin/sh\nif [ "$1" = prepare ]; then {prepared}; fi\n{result}\n')
    run.chmod(0o755)


@pytest.mark.parametrize(
    ("client", "built", "passed", "quick", "verdict", "summary"),
    [
        ("java", True, True, True, OK, "2 passed, 0 failed, 0 skipped"),
        ("java", True, False, True, FAILED, "2 passed, 1 failed, 0 skipped"),
        ("java", False, True, True, LEFT_OUT, "it cannot be built: java needs mvn on PATH"),
        ("java", False, True, False, FAILED, "it cannot be built: java needs mvn on PATH"),
        ("aiokafka", False, True, True, FAILED, "it cannot be built: aiokafka needs mvn on PATH"),
    ],
)
def test_only_a_quick_run_leaves_out_a_suite_whose_toolchain_is_missing(
    client, built, passed, quick, verdict, summary, tmp_path, monkeypatch
):
    monkeypatch.setattr(compat, "SUITES", tmp_path / "suites")
    suite(tmp_path / "suites", client, built=built, passed=passed)
    outcome = compat.run_suite(client, 1, SuiteOptions(quick, 10), Address("127.0.0.1:1", ""), tmp_path)
    assert outcome.verdict == verdict
    assert outcome.summary.startswith(summary)


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        ("building\ngo: lookup modules.example: no such host\n", "go: lookup modules.example: no such host"),
        ("\x1b[0m[\x1b[1mERROR\x1b[m] Could not transfer\n[ERROR] -> [Help 1]\n", "[ERROR] Could not transfer"),
        ("", "it printed nothing"),
    ],
)
def test_the_reason_of_a_failed_build_is_the_line_that_says_what_failed(printed, reason):
    assert compat.reason_of(printed) == reason


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ([OK, OK], 0),
        ([OK, LEFT_OUT], 0),
        ([LEFT_OUT, LEFT_OUT], left_out.EXIT_CODE),
        ([OK, FAILED], 1),
        ([LEFT_OUT, FAILED], 1),
    ],
)
def test_a_run_passes_when_something_ran_and_nothing_failed(verdicts, code, notes):
    outcomes = [SuiteResult(f"suite {n}", verdict, 1.0, "no Go") for n, verdict in enumerate(verdicts)]
    assert compat.conclude(outcomes) == code
    assert notes.read_text().count("no Go") == verdicts.count(LEFT_OUT)


def test_every_suite_runs_with_one_broker_and_with_three():
    assert compat.plan(CLIENTS, False, []) == {1: list(CLIENTS), 3: list(CLIENTS)}
    assert compat.plan(["java"], False, [1, 2, 3]) == {1: ["java"], 2: ["java"], 3: ["java"]}


def test_the_quick_run_has_every_suite_once_and_most_of_them_with_three_brokers():
    planned = compat.plan(CLIENTS, True, [])
    assert sorted(client for clients in planned.values() for client in clients) == sorted(CLIENTS)
    assert QUICK.keys() == set(CLIENTS)
    assert "librdkafka" in planned[3]
    assert compat.plan(CLIENTS, True, [2]) == {2: list(CLIENTS)}


def test_a_number_of_brokers_below_one_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["compat.py", "--brokers", "0,3"])
    with pytest.raises(SystemExit):
        compat.main()
    assert "--brokers" in capsys.readouterr().err


@pytest.mark.parametrize(("command", "code"), [("test", left_out.EXIT_CODE), ("setup", 1), ("run", 1)])
def test_without_java_the_tests_of_spark_are_left_out_and_nothing_else_passes(command, code, notes, monkeypatch):
    missing = java.JavaHome(None, ["JAVA_HOME is not set"])
    monkeypatch.setattr(spark, "prepare", lambda: 0)
    monkeypatch.setattr(spark, "find_java", lambda: missing)
    monkeypatch.setattr(sys, "argv", ["spark.py", command])
    assert spark.main() == code
    assert notes.read_text() == (f"spark: {missing.sentence}\n" if command == "test" else "")
