"""Commands of the README and the how-to pages run as printed, each page against a broker without data.

For the README it is a `serve`; the others use a broker in a thread of this process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.doc_pages import HERE, KAFKA_HERE, blocks, calls, differences, names, program, renamed
from tests.support.processes import ROOT, Serve
from tests.support.threaded_broker import threaded_broker

README = ROOT / "README.md"
TUTORIAL = ROOT / "docs" / "tutorial.md"
HOWTO = ROOT / "docs" / "howto"
WITH_PYTHON = [
    README,
    TUTORIAL,
    HOWTO / "use-python.md",
    HOWTO / "use-kafka.md",
    HOWTO / "delay-records.md",
    HOWTO / "large-messages.md",
]
WITH_CURL = [README, HOWTO / "use-http.md", HOWTO / "delay-records.md", HOWTO / "retention.md"]


class RunningBroker(NamedTuple):
    """Where a broker listens."""

    url: str
    kafka: str


@pytest.fixture
def served(redis_url: str, prefix: str) -> Iterator[RunningBroker]:
    with threaded_broker(redis_url, prefix, kafka=True) as broker:
        yield RunningBroker(broker.urls[0], "{}:{}".format(*broker.kafka))


def check_python(page: Path, served: RunningBroker) -> None:
    code, expected = program(page, *served)
    assert expected, "a program that prints nothing shows nothing"
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=30, check=False
    )
    assert (ran.stdout.splitlines(), ran.stderr, ran.returncode) == (expected, "", 0)


def check_calls(page: Path, url: str) -> None:
    ids: dict[str, str] = {}
    for call in calls(page, url):
        call.url, call.body = renamed(call.url, ids), call.body and renamed(call.body, ids)
        status, answer = call.send()
        ids = names(call.answer, answer) | ids
        shown = json.loads(renamed(json.dumps(call.answer or {}), ids))
        # A problem shows its status; whatever shows none is expected to work.
        is_problem = isinstance(shown.get("status"), int)
        assert status == shown["status"] if is_problem else 200 <= status < 300, f"{call.url}: {status} {answer}"
        assert call.answer is None or differences(shown, answer) == [], f"{call.method} {call.url}: {answer}"


def test_the_readme_runs_as_printed(tmp_path):
    serve = Serve("--data-dir", tmp_path / "data", "--durability", "process")
    try:
        check_calls(README, serve.urls[0])
        check_python(README, RunningBroker(serve.urls[0], serve.field("kafka")))
        assert serve.terminate() == 0
    finally:
        serve.clean_up()


@pytest.mark.parametrize("number", range(len(blocks(README, "python"))))
def test_a_program_of_the_readme_runs_alone(number, served):
    code = blocks(README, "python")[number].replace(HERE, served.url).replace(KAFKA_HERE, served.kafka)
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=30, check=False
    )
    assert (ran.stderr, ran.returncode) == ("", 0)


@pytest.mark.parametrize("page", WITH_PYTHON[1:], ids=lambda page: page.stem)
def test_the_python_of_a_page_prints_what_the_page_says(page, served):
    check_python(page, served)


@pytest.mark.parametrize("page", WITH_CURL[1:], ids=lambda page: page.stem)
def test_the_calls_of_a_page_are_answered_as_the_page_says(page, served):
    check_calls(page, served.url)


def test_the_pages_have_something_to_run():
    assert all(blocks(page, "python") for page in WITH_PYTHON)
    assert all(len(calls(page, "")) >= 4 for page in WITH_CURL)


@pytest.mark.parametrize(
    ("shown", "seen", "where"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, []),
        ({"a": 1}, {"b": 2}, ["$.a is not there"]),
        ({"a": [{"b": 1}]}, {"a": [{"b": 2}]}, ["$.a[0].b: shown 1, seen 2"]),
        ([1], [1, 2], ["$: shown [1], seen [1, 2]"]),
    ],
)
def test_an_answer_is_compared_by_what_the_page_shows_of_it(shown, seen, where):
    assert differences(shown, seen) == where
