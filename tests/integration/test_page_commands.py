"""The commands on pages run as printed, in bash, against a `serve` with authentication.

A page's blocks of commands are one script.  Only this differs from what a reader does: `serve` runs already, and an id
that the page made up is replaced by one that is there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.doc_pages import commands_of
from tests.support.processes import ROOT, Serve

HOWTO = ROOT / "docs" / "howto"
THIS = "tests/integration/test_page_commands.py"
Run = Callable[[str], str]


def last_token(run: Run) -> str:
    return str(json.loads(run("redis-ledger tokens list --json").splitlines()[-1])["id"])


def first_scheduled(run: Run) -> str:
    return str(json.loads(run("redis-ledger scheduled list reminders --json").splitlines()[0])["id"])


# page → what it made up, and how one that is there is found
MADE_UP: dict[str, dict[str, Callable[[Run], str]]] = {
    "README": {},
    "backup": {},
    "delay-records": {"0:17.0": first_scheduled},
    "secure": {"4f2a91c07be3": last_token},
    "tls-and-quotas": {},
    "use-kafka": {},
}


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    (tmp_path / "lines").write_text("alice:pay\nbob:call\n")
    settings = ("--durability", "process", "--set", "auth_required=true")
    serve = Serve("--data-dir", tmp_path / "data", *settings)
    environ = {name: held for name, held in os.environ.items() if not name.startswith("REDIS_LEDGER_")} | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "REDIS_LEDGER_DATA_DIR": str(tmp_path / "data"),
        "REDIS_LEDGER_URL": serve.urls[0],
    }

    def run(line: str) -> str:
        done = subprocess.run(
            ["bash", "-ec", line], cwd=tmp_path, env=environ, input="secret-of-alice\nsecret-of-alice\n",
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout

    try:
        environ["REDIS_LEDGER_TOKEN"] = run("redis-ledger tokens create tests --super").split()[-1]
        yield run
    finally:
        serve.terminate()


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
