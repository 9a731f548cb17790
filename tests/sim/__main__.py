"""Runs the simulation, one seed after another, and explains what the rules find.

    python -m tests.sim                        one random seed
    python -m tests.sim --seed 7               replays the schedule of seed 7
    python -m tests.sim --minutes 5            random seeds for five minutes; the first is --seed, if it is given
    python -m tests.sim --topology sentinel --durability replicas      else the seed chooses them
    python -m tests.sim --transactions 100000 --kills 200              a long run, until both numbers are reached
    python -m tests.sim --topology each --transactions 100000 --kills 200      a long run in each world of WORLDS
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
from typing import NamedTuple

from scripts import left_out
from tests.sim.checker import check, explain
from tests.sim.history import History
from tests.sim.librdkafka_processes import SILENT_IN
from tests.sim.long_run import Goal, LongRun, totals
from tests.sim.rules.finding import Finding
from tests.sim.run import Run
from tests.sim.schedule import DURABILITIES, SHARDS, TOPOLOGIES, schedule

SECONDS, LONG_SECONDS = 20.0, 120.0  # how long faults happen: in a run, in a chapter of a long run
SEEDS = 1_000_000


class World(NamedTuple):
    """What the seed chooses if it is empty."""

    topology: str = ""
    durability: str = ""

    @property
    def flags(self) -> str:
        return "".join(f" --{name} {value}" for name, value in self._asdict().items() if value)


ANY = World()
EACH = "each"
WORLDS = (
    World("single", "process"),
    World("cluster", "process"),
    World("sentinel", "replicas"),
    World("cluster-replicas", "replicas"),
)


def simulate(
    seed: int, seconds: float, folder: Path, world: World = ANY, *, bug: str = "", with_retention: bool = False
) -> list[Finding]:
    """Runs one seed, prints what happened, and returns the findings."""
    plan = schedule(seed, seconds, topology=world.topology, durability=world.durability)
    folder.mkdir(parents=True)
    began_s = time.monotonic()
    run = Run(plan, folder, bug, with_retention=with_retention)
    history = asyncio.run(run.go())
    findings = check(history)
    done = sum(each.is_ok for each in history.operations)
    counts = f"{plan.world}, {totals(history)}, {done} of {len(history.operations)} operations ok"
    if hung := sum(note["why"].startswith(SILENT_IN) for note in history.notes("restarted")):
        counts += f", librdkafka hung and was started again {hung} times"
    took_s = time.monotonic() - began_s
    print(f"seed {seed}: {counts}, {took_s:.0f} s, {len(findings) or 'no'} findings", flush=True)
    for line in explain(findings, history):
        print(line)
    if findings:
        print(f"    replay: .venv/bin/python -m tests.sim --seed {seed} --seconds {seconds:g}{world.flags}")
        print(f"    history: {folder / 'history.jsonl'}", flush=True)
    for part, why in run.left_out.items():
        left_out.note(part, why)
    return findings


def run_seeds(asked: argparse.Namespace, folder: Path, world: World) -> int:
    """Returns the number of seeds with findings."""
    until_s, failed = time.monotonic() + 60 * asked.minutes, 0
    seed = secrets.randbelow(SEEDS) if asked.seed is None else asked.seed
    while True:
        place, seconds = folder / str(seed), asked.seconds or SECONDS
        if simulate(seed, seconds, place, world, bug=asked.bug, with_retention=asked.retention):
            failed += 1
        else:
            shutil.rmtree(place)
        if time.monotonic() >= until_s:
            return failed
        seed = secrets.randbelow(SEEDS)


def run_long(asked: argparse.Namespace, folder: Path, world: World) -> int:
    """Returns the number of findings."""
    seconds, goal, found = asked.seconds or LONG_SECONDS, Goal(asked.transactions, asked.kills), 0
    for number, each in enumerate(WORLDS if world.topology == EACH else [world]):
        seed = secrets.randbelow(SEEDS) if asked.seed is None else asked.seed
        place = folder / str(number)
        place.mkdir()
        run = LongRun(seed, seconds, *each, goal, place)
        asyncio.run(run.go())
        found += len(run.findings)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--seconds", type=float, help="how long faults happen in each run, or chapter of a long run")
    parser.add_argument("--minutes", type=float, default=0.0)
    parser.add_argument("--topology", choices=[*TOPOLOGIES, EACH], default="", help="of Redis")
    parser.add_argument("--durability", choices=DURABILITIES, default="")
    parser.add_argument("--transactions", type=int, default=0, help="a long run, until so many are over")
    parser.add_argument("--kills", type=int, default=0, help="a long run, until there were so many")
    parser.add_argument("--retention", action="store_true", help="also wait until retention has removed everything")
    parser.add_argument("--bug", default="", help="plant a bug in the brokers (planted.py)")
    parser.add_argument("--check", type=Path, metavar="FILE")
    asked = parser.parse_args()
    world = World(asked.topology, asked.durability)
    if world.durability == "replicas" and world.topology not in SHARDS:
        parser.error("--durability replicas needs --topology sentinel or cluster-replicas")
    if world.topology == EACH and not (asked.transactions or asked.kills):
        parser.error(f"--topology {EACH} needs --transactions or --kills")
    if asked.check:
        history = History.load(asked.check)
        lines = explain(check(history), history)
        print("\n".join(lines))
        return 1 if lines else 0
    folder = Path(tempfile.mkdtemp(prefix="redis-ledger-sim-"))
    act = run_long if asked.transactions or asked.kills else run_seeds
    failed = act(asked, folder, world)
    if not failed:
        shutil.rmtree(folder)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
