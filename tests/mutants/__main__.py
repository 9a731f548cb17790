"""Mutants: plausible bugs, planted one at a time, each of which named tests must catch.

    python -m tests.mutants                      all mutants; stops at the first that is not caught
    python -m tests.mutants --keep-going         all mutants
    python -m tests.mutants --only 'barrier_*'   those whose name matches
    python -m tests.mutants --json               one JSON object for each mutant, on a line

Every *.toml file beside this one is a table of mutants:

    [name]                  a few words for what is wrong
    effect = "..."          what a user would see, in one sentence
    file = "lua/..."        the file that is changed, from the root of the tree
    text = '...'            is replaced.  It occurs exactly once in the file
    replacement = '...'
    tests = ["..."]         node ids.  Each of them must fail

A mutant is a bug that could be written or was written here: a call that is missing, a comparison that is wrong, a
branch that is lost.  Bugs that were found and fixed are planted again.  A mutant whose tests pass has survived: a check
is missing.  A mutant whose text is not there exactly once does not apply: the code has changed, and its row has to
follow.

The work tree stays as it is: mutants are planted in scratch copies of it (scratch.py).  The tests of all mutants must
pass without any of them first.  Source: docs/decisions/0034.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from tests.mutants.runner import Outcome, Result, run
from tests.mutants.table import load, matching

ROOT = Path(__file__).resolve().parents[2]
JOBS = 2


def line_of(result: Result) -> str:
    text = f"{result.outcome:14} {result.seconds:5.1f} s  {result.mutant.name}"
    if result.outcome is Outcome.CAUGHT:
        return text
    indented = "\n".join(
        f"    {line}" for line in (result.mutant.effect, result.mutant.file, *result.note.splitlines())
    )
    return f"{text}\n{indented}"


def json_of(result: Result) -> str:
    mutant = result.mutant
    return json.dumps({
        "name": mutant.name, "file": mutant.file, "effect": mutant.effect, "tests": mutant.tests,
        "outcome": result.outcome, "seconds": round(result.seconds, 1), "note": result.note,
    })  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="a name, or a pattern with *")
    parser.add_argument("--keep-going", action="store_true", help="do not stop at a mutant that is not caught")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--jobs", type=int, default=JOBS, help="mutants at once, each in a copy of its own")
    asked = parser.parse_args()
    mutants = matching(load(Path(__file__).parent), asked.only)
    if not mutants:
        parser.error("no mutant has such a name")
    began_s = time.monotonic()
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="redis-ledger-mutants-") as folder:
        for result in run(ROOT, Path(folder), mutants, jobs=asked.jobs, keep_going=asked.keep_going):
            outcomes.append(result.outcome)
            print(json_of(result) if asked.json else line_of(result), flush=True)
    caught = outcomes.count(Outcome.CAUGHT)
    took_s = time.monotonic() - began_s
    print(f"{caught} of {len(mutants)} mutants are caught, in {took_s:.0f} s", file=sys.stderr)
    return 0 if caught == len(mutants) else 1


if __name__ == "__main__":
    sys.exit(main())
