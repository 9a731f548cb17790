"""Reports of steps of scripts/check.py about parts that did not run.

    left_out.note("java", "mvn is not on PATH")   a line under the step in the table of check.py
    sys.exit(left_out.EXIT_CODE)                  if nothing ran

check.py passes a file in the environment of each step and reads the notes from it.  A step that is run directly only
prints them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

VARIABLE = "REDIS_LEDGER_LEFT_OUT"
EXIT_CODE = 77  # Automake's exit code of a test that was skipped


def note(what: str, why: str) -> None:
    line = f"{what}: {why}"
    print(f"left out: {line}", file=sys.stderr, flush=True)
    if name := os.environ.get(VARIABLE):
        with Path(name).open("a") as file:
            file.write(f"{line}\n")
