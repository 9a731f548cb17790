"""Common arguments, errors and progress of pipelines."""

from __future__ import annotations

import argparse
import io
import subprocess
import sys

import pytest

from redis_ledger.errors import InvalidRequest, LedgerError
from redis_ledger.spark.pipelines import offload
from redis_ledger.spark.pipelines.arguments import (
    connection_of,
    duration_ms,
    ended,
    options_of,
    parser,
    sentence_of,
    started,
)
from redis_ledger.spark.pipelines.progress import Done, Progress, size
from redis_ledger.spark.read_options import connection
from tests.tidy.tree import ROOT


@pytest.mark.parametrize(
    ("text", "ms"), [("500ms", 500), ("30s", 30_000), ("5m", 300_000), ("12h", 43_200_000), ("1d", 86_400_000)]
)
def test_a_duration_is_a_number_and_a_unit(text, ms):
    assert duration_ms(text) == ms


@pytest.mark.parametrize("text", ["", "5", "m", "-1m", "1.5h", "1y"])
def test_an_invalid_duration_is_refused_with_an_example(text):
    with pytest.raises(argparse.ArgumentTypeError, match="write it as 30s, 5m, 12h or 1d"):
        duration_ms(text)


def test_tasks_are_handed_the_addresses_and_the_token_of_the_file_or_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("REDIS_LEDGER_TOKEN", "e")
    path = tmp_path / "token"
    path.write_text("t\n")
    words = ["--bootstrap", "http://a:1,http://b:2", "--timeout", "5s"]
    assert connection_of(parser("x", "").parse_args(words)).token == "e"
    with pytest.raises(InvalidRequest, match="nowhere cannot be read"):
        connection_of(parser("x", "").parse_args([*words, "--token-file", str(tmp_path / "nowhere")]))
    given = parser("x", "").parse_args([*words, "--token-file", str(path)])
    reached = connection_of(given)
    assert (reached.urls, reached.token, reached.timeout_ms) == (("http://a:1", "http://b:2"), "t", 5_000)
    # The options have the file, so that the source can read it again.
    asked = {"bootstrap": "http://a:1,http://b:2", "tokenFile": str(path), "timeoutMs": "5000"}
    assert options_of(reached) == asked
    assert connection(options_of(reached)) == reached


def test_an_address_comes_from_the_environment_unless_it_is_given(monkeypatch):
    monkeypatch.setenv("REDIS_LEDGER_URL", "http://c:3")
    assert parser("x", "").parse_args([]).bootstrap == "http://c:3"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "one of the arguments --topic --pattern is required"),
        (["--topic", "a", "--pattern", "b"], "not allowed with argument"),
        (["--pattern", "("], "'(' is not a regular expression"),
        (["--topic", "a", "--every", "soon"], "'soon' is not a duration"),
        (["--topic", "a", "--once", "--every", "5m"], "not allowed with argument"),
        (["--topic", "a", "--conf", "spark.x"], "'spark.x' is not NAME=VALUE"),
        (["--topic", "a", "--older", "1d"], "unrecognized arguments"),
    ],
)
def test_arguments_that_cannot_be_are_wrong_usage(capsys, arguments, said):
    with pytest.raises(SystemExit) as ended:
        offload.main(arguments)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_a_job_ends_with_0_or_with_a_sentence_and_1(capsys):
    def fail() -> None:
        raise InvalidRequest("It cannot be.")

    assert ended("x", lambda: None) == 0
    assert ended("x", fail) == 1
    assert capsys.readouterr().err == "x: It cannot be.\n"


def test_a_fault_of_our_own_keeps_its_trace():
    with pytest.raises(ZeroDivisionError):
        ended("x", lambda: print(1 / 0))


class Failed(Exception):
    """An error as Py4J formats it."""


Failed.__module__ = "py4j.protocol"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "An error occurred.\n: org.apache.spark.SparkException: Job aborted: PythonException: Traceback (most"
            ' recent call last):\n  File "a.py", line 1, in f\nredis_ledger.errors.requests.InvalidRequest: It cannot'
            " be.\n"
            " SQLSTATE: 38000\n\tat org.apache.spark.X.y(Z.scala:1)\nCaused by: org.apache.Y: no",
            "It cannot be.",
        ),
        ("Traceback (most recent call last):\nOSError: disk full\n\tat x", "A task failed: OSError: disk full"),
        (
            "[STREAM_FAILED] Query terminated with exception: Traceback (most recent call last):\n"
            "redis_ledger.errors.security.Unauthenticated: The token has expired.\n SQLSTATE: XXKST\n"
            "=== Streaming Query ===\nIdentifier: [id = 1, runId = 2]\nCurrent Committed Offsets: {}\n",
            "The token has expired.",
        ),
        ("Job cancelled\nmore of it", "Job cancelled"),
        ("An error occurred while calling o1.x.\n: java.lang.X: no room\n\tat y", "java.lang.X: no room"),
    ],
)
def test_an_error_of_a_task_is_told_by_what_python_said_last(text, sentence):
    assert sentence_of(Failed(text)) == sentence


def test_each_piece_is_a_line_with_how_far_and_how_fast():
    # Given a manual clock
    out, now = io.StringIO(), iter([0.0, 2.0, 4.0, 4.0])
    progress = Progress("offload", out=out, clock_s=lambda: next(now))
    progress.expect(2)
    # When two pieces are finished
    progress.done(Done("orders:0", records=1, bytes=2_000_000))
    progress.done(Done("orders:1", records=1_234, bytes=6_000_000))
    progress.end("offloaded")
    # Then each has a line
    assert out.getvalue().splitlines() == [
        "offload: orders:0: 1 record, 2.0 MB (1 of 2, 1.0 MB/s)",
        "offload: orders:1: 1,234 records, 6.0 MB (2 of 2, 2.0 MB/s)",
        "offload: offloaded 1,235 records, 8.0 MB, 2.0 MB/s.",
    ]


def test_a_piece_that_is_not_counted_in_bytes_has_a_rate_of_records():
    out, now = io.StringIO(), iter([0.0, 2.0])
    Progress("replay", out=out, clock_s=lambda: next(now)).done(Done("a", records=3_000))
    assert out.getvalue() == "replay: a: 3,000 records (1, 1,500 records/s)\n"


def test_sizes_are_in_powers_of_1000():
    assert [size(n) for n in (0, 999, 1_000, 12_345_678, 3_000_000_000_000_000)] == [
        "0 B", "999 B", "1.0 kB", "12.3 MB", "3,000.0 TB",
    ]  # fmt: skip


def test_a_machine_without_spark_is_told_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.setitem(sys.modules, "pyspark.errors", None)
    session = started(parser("x", "").parse_args([]))
    with pytest.raises(LedgerError, match="pip install '"):
        session.__enter__()


def test_the_command_passes_everything_on():
    command = [sys.executable, "-m", "redis_ledger.app.cli.main", "pipeline"]
    seen = subprocess.run([*command, "offload", "--help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "--older-than DURATION" in seen
    wrong = subprocess.run([*command, "offload"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (wrong.returncode, "--topic --pattern is required" in wrong.stderr) == (2, True)


def test_offload_leaves_out_a_batch_only_with_its_option():
    given = offload.arguments_of(["--topic", "orders"])
    assert (given.skip_too_large, given.batch_decoded_bytes_max) == (False, 1 << 30)
    given = offload.arguments_of(["--topic", "orders", "--skip-too-large", "--batch-decoded-bytes-max", "2147483647"])
    assert (given.skip_too_large, given.batch_decoded_bytes_max) == (True, (1 << 31) - 1)


@pytest.mark.parametrize("text", ["0", "2147483648", "1GiB", "-1", "²"])
def test_a_bound_that_no_array_can_hold_is_wrong_usage(text, capsys):
    with pytest.raises(SystemExit):
        offload.arguments_of(["--topic", "orders", "--batch-decoded-bytes-max", text])
    assert "is not a number of bytes from 1 to 2147483647" in capsys.readouterr().err
