"""Runs histories by seed.  A failure is made small, printed as a program, and ends the run.

python -m tests.model --seed 7
python -m tests.model --minutes 5 [--seed FIRST] [--keep-going]
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import sys
import time
from collections.abc import Sequence

from redis_ledger.telemetry import logs
from tests.model.checker import Failure
from tests.model.driver import STEPS, Outcome, counted, history
from tests.model.operations import ROWS
from tests.model.pairs import Pairs
from tests.model.shrink import shrunk
from tests.model.steps import Step
from tests.support.redis_servers import redis_server

TRIES = 2  # of a smaller program, since processes differ a little in time


def described(failure: Failure, program: Sequence[Step]) -> str:
    steps = "\n".join(f"    {step}" for step in program)
    return f"{failure.reason}:\n    {failure.call}\nThe program:\n{steps}"


async def smaller(url: str, outcome: Outcome) -> tuple[Failure, list[Step]]:
    assert outcome.failure is not None
    found = [outcome.failure]

    async def fails(program: Sequence[Step]) -> list[Step] | None:
        for _ in range(TRIES):
            again = await history(url, outcome.seed, program)
            if again.failure is not None and again.failure.kind == found[0].kind:
                found.append(again.failure)
                return again.until_failure()
        return None

    program = await shrunk(outcome.until_failure(), fails)
    return found[-1], program


async def run(url: str, first: int, seconds: float, steps: int, *, keep_going: bool, shrink: bool) -> int:
    until, seed, pairs, failures = time.monotonic() + seconds, first, Pairs(), 0
    outcomes: list[Outcome] = []
    while True:
        began = time.monotonic()
        pairs.forget_last()
        outcome = await history(url, seed, pairs=pairs, steps=steps)
        outcomes.append(outcome)
        if outcome.unchecked:
            print(f"seed {seed}: too many orders to check", flush=True)
        if outcome.failure is not None:
            failures += 1
            print(f"seed {seed}, after {time.monotonic() - until + seconds:.0f} s: {outcome.failure.call}", flush=True)
            if shrink:
                print(described(*await smaller(url, outcome)), flush=True)
            else:
                print("\n".join(f"    {event.kind:6} {event.call}" for event in outcome.events), flush=True)
            if not keep_going:
                break
        seed += 1
        if time.monotonic() + (time.monotonic() - began) > until:
            break
    print(pairs.table(list(ROWS.values())))
    print("\n".join(f"{count:7} {what}" for what, count in sorted(counted(outcomes).items())))
    unchecked = sum(outcome.unchecked for outcome in outcomes)
    print(f"{len(outcomes)} histories, seeds {first} to {seed}; {failures} failed, {unchecked} not checked")
    return int(failures > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--minutes", type=float, default=0.0)
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--keep-going", action="store_true", help="do not stop at a history that fails")
    parser.add_argument("--whole", action="store_true", help="do not make failing histories small")
    asked = parser.parse_args()
    logs.configure("error")
    first = secrets.randbelow(1 << 30) if asked.seed is None else asked.seed
    seconds = asked.minutes * 60 + asked.seconds
    with redis_server(unix=True) as server:
        return asyncio.run(
            run(server.url, first, seconds, asked.steps, keep_going=asked.keep_going, shrink=not asked.whole)
        )


if __name__ == "__main__":
    sys.exit(main())
