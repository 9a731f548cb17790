"""Suites that cannot run on this machine: skipped with a reason in the quick form, a failure in the full one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from redis_ledger.spark import java
from scripts import compat, left_out, spark
from scripts.compat import (
    BUILDS,
    CLIENTS,
    FAILED,
    LANES,
    LEFT_OUT,
    OK,
    RECORDS,
    Address,
    SuiteOptions,
    SuiteResult,
)


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


@pytest.fixture
def planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[tuple[int, list[str], int]]]:
    """planned("--quick"): the servers of a run as (brokers, clients, records of kgo's tests); none of them starts."""

    def plan(*arguments: str) -> list[tuple[int, list[str], int]]:
        servers: list[tuple[int, list[str], int]] = []

        def run_on(brokers: int, clients: list[str], options: SuiteOptions, _: Path) -> list[SuiteResult]:
            servers.append((brokers, clients, options.records))
            return [SuiteResult(client, OK, 0.0, "") for client in clients]

        monkeypatch.setattr(compat, "run_on", run_on)
        monkeypatch.setattr("tempfile.mkdtemp", lambda prefix: str(tmp_path))
        monkeypatch.setattr("signal.signal", lambda *_: None)
        monkeypatch.setattr(sys, "argv", ["compat.py", *arguments])
        assert compat.main() == 0
        return servers

    return plan


def test_every_suite_runs_with_one_broker_and_with_three(planned):
    assert planned() == [(1, list(CLIENTS), RECORDS), (3, list(CLIENTS), RECORDS)]
    assert planned("--clients", "java", "--brokers", "1,2") == [(1, ["java"], RECORDS), (2, ["java"], RECORDS)]


def test_the_quick_run_has_every_suite_on_one_server_of_three_brokers(planned):
    assert planned("--quick") == [(3, list(CLIENTS), RECORDS)]
    assert planned("--quick", "--brokers", "2", "--records", "9") == [(2, list(CLIENTS), 9)]


@pytest.mark.parametrize("lanes", [LANES, BUILDS])
def test_every_suite_is_in_one_lane(lanes):
    assert sorted(client for lane in lanes for client in lane) == sorted(CLIENTS)
    assert compat.lanes_of(["java"], lanes) == [["java"]]


@pytest.mark.parametrize(("quick", "code"), [(True, 0), (False, 1)])
def test_prepare_passes_without_a_toolchain_only_if_the_quick_run_leaves_it_out(
    quick, code, tmp_path, monkeypatch, capsys, notes
):
    monkeypatch.setattr(compat, "SUITES", tmp_path / "suites")
    suite(tmp_path / "suites", "java", built=False)
    suite(tmp_path / "suites", "aiokafka", built=True)
    assert compat.prepare(["aiokafka", "java"], quick=quick, logs=tmp_path) == code
    assert "it cannot be built: java needs mvn on PATH" in capsys.readouterr().out
    assert notes.read_text() == ""  # the run itself notes what it leaves out


@pytest.mark.timeout(60)
def test_a_broker_that_does_not_start_fails_its_suites_at_once_with_its_last_line(tmp_path, monkeypatch, capsys):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho starting >&2\necho 'the port is taken' >&2\nexit 1\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setattr(compat, "READY_S_MAX", 600.0)
    outcomes = compat.run_on(3, ["aiokafka", "java"], SuiteOptions(True, 10), tmp_path / "logs")
    assert [each.verdict for each in outcomes] == [FAILED, FAILED]
    assert outcomes[0].summary.startswith("The broker did not start: the port is taken (")
    assert outcomes[0].summary in capsys.readouterr().out


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
