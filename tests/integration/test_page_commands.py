"""The commands on pages run as printed, against a `serve` with authentication.

A page's blocks of commands are one script.  Only this differs from what a reader does: `serve` runs already, for all
pages, and an id that the page made up is replaced by one that is there.  `make test` runs commands that need no shell
in this process, and `make test-all` runs every line in bash.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support import cli
from tests.support.doc_pages import commands_of
from tests.support.processes import ROOT, Serve

HOWTO = ROOT / "docs" / "howto"
THIS = "tests/integration/test_page_commands.py"
PASSWORD = "secret-of-alice\nsecret-of-alice\n"  # typed twice
Run = Callable[[str], str]


def token_of_ada(run: Run) -> str:
    tokens = map(json.loads, run("redis-ledger tokens list --json").splitlines())
    return next(str(each["id"]) for each in tokens if each["principal"] == "User:ada")


def first_scheduled(run: Run) -> str:
    return str(json.loads(run("redis-ledger scheduled list reminders --json").splitlines()[0])["id"])


# page → what it made up, and how one that is there is found
MADE_UP: dict[str, dict[str, Callable[[Run], str]]] = {
    "README": {},
    "backup": {},
    "delay-records": {"0:17.0": first_scheduled},
    "secure": {"4f2a91c07be3": token_of_ada},
    "tls-and-quotas": {},
    "use-kafka": {},
}


def in_bash(line: str, folder: Path, environ: dict[str, str]) -> str:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("REDIS_LEDGER_")}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-ec", line], cwd=folder, env={**ours, **environ, "PATH": path}, input=PASSWORD,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout


def in_this_process(line: str, environ: dict[str, str]) -> str:
    """For a line that is one command, without anything that a shell expands."""
    done = cli.run(*shlex.split(line, comments=True)[1:], given=PASSWORD, **environ)
    assert done.code == 0, f"{line}\n{done.out}{done.err}"
    return done.out


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """How commands find the broker."""
    folder = tmp_path_factory.mktemp("served")
    serve = Serve("--data-dir", folder / "data", "--durability", "process", "--set", "auth_required=true")
    try:
        found = {"REDIS_LEDGER_DATA_DIR": str(folder / "data"), "REDIS_LEDGER_URL": serve.urls[0]}
        token = in_bash("redis-ledger tokens create tests --super", folder, found).split()[-1]
        yield {**found, "REDIS_LEDGER_TOKEN": token}
    finally:
        serve.clean_up()


@pytest.fixture(params=["in this process", pytest.param("in bash", marks=pytest.mark.full)])
def run(
    request: pytest.FixtureRequest, environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Run:
    (tmp_path / "lines").write_text("alice:pay\nbob:call\n")
    monkeypatch.chdir(tmp_path)

    def run(line: str) -> str:
        is_plain = line.startswith("redis-ledger ") and not set(line.partition(" #")[0]) & set("|<>$`;&()")
        if is_plain and request.param == "in this process":
            return in_this_process(line, environ)
        return in_bash(line, tmp_path, environ)

    return run


@pytest.mark.parametrize("page", MADE_UP)
def test_the_commands_of_a_page_run_as_printed(page, run):
    lines = commands_of((ROOT if page == "README" else HOWTO) / f"{page}.md", THIS)
    done = 0
    for line in (line for line in lines if not line.startswith("redis-ledger serve")):
        for made_up, found in MADE_UP[page].items():
            if made_up in line:
                line = line.replace(made_up, found(run))
        run(line)
        done += 1
    assert done >= 3
