"""Runs the simulation, one seed after another, and explains what the rules find.

    python -m tests.sim                        one random seed
    python -m tests.sim --seed 7               replays the schedule of seed 7
    python -m tests.sim --minutes 5            random seeds for five minutes; the first is --seed, if it is given
    python -m tests.sim --check history.jsonl  runs the rules over a history that was recorded

The folder of a run with findings is kept: history.jsonl, the logs of brokers and Redis, and Redis's data.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import shutil
import sys
import tempfile
import time
from pathlib import Path

from scripts import left_out
from tests.sim.checker import check, explain
from tests.sim.history import History
from tests.sim.rules.finding import Finding
from tests.sim.run import Run
from tests.sim.schedule import schedule

SECONDS = 20.0
SEEDS = 1_000_000


def simulate(seed: int, seconds: float, folder: Path, *, bug: str = "", with_retention: bool = False) -> list[Finding]:
    """Runs one seed, prints what happened, and returns the findings."""
    plan = schedule(seed, seconds)
    folder.mkdir(parents=True)
    began_s = time.monotonic()
    run = Run(plan, folder, bug, with_retention=with_retention)
    history = asyncio.run(run.go())
    findings = check(history)
    done = sum(each.is_ok for each in history.operations)
    world = f"{plan.brokers} brokers, Redis {plan.redis}, {len(plan.faults)} faults"
    counts = f"{world}, {done} of {len(history.operations)} operations ok"
    took_s = time.monotonic() - began_s
    print(f"seed {seed}: {counts}, {took_s:.0f} s, {len(findings) or 'no'} findings", flush=True)
    for line in explain(findings, history):
        print(line)
    if run.left_out:
        left_out.note("simulation with librdkafka", run.left_out)
    return findings


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long faults happen in each run")
    parser.add_argument("--minutes", type=float, default=0.0)
    parser.add_argument("--retention", action="store_true", help="also wait until retention has removed everything")
    parser.add_argument("--bug", default="", help="plant a bug in the brokers (planted.py)")
    parser.add_argument("--check", type=Path, metavar="FILE")
    asked = parser.parse_args()
    if asked.check:
        history = History.load(asked.check)
        lines = explain(check(history), history)
        print("\n".join(lines))
        return 1 if lines else 0
    folder = Path(tempfile.mkdtemp(prefix="redis-ledger-sim-"))
    until_s, failed = time.monotonic() + 60 * asked.minutes, []
    seed = secrets.randbelow(SEEDS) if asked.seed is None else asked.seed
    while True:
        findings = simulate(
            seed, asked.seconds, folder / str(seed), bug=asked.bug, with_retention=asked.retention
        )  # fmt: skip
        if findings:
            failed.append(seed)
            print(f"    replay: .venv/bin/python -m tests.sim --seed {seed} --seconds {asked.seconds:g}")
            print(f"    history: {folder / str(seed) / 'history.jsonl'}", flush=True)
        else:
            shutil.rmtree(folder / str(seed))
        if time.monotonic() >= until_s:
            break
        seed = secrets.randbelow(SEEDS)
    if not failed:
        folder.rmdir()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
