"""`python -m bench`: measure, write the figures, show them.

python -m bench                          every bench
python -m bench execute_http append_raw  these
python -m bench --quick                  a moment each, to see that they work; nothing is written
python -m bench --markdown               measures nothing: the latest figures into RESULTS.md, and to stdout
"""

from __future__ import annotations

import asyncio
import sys
import time
from importlib import import_module

import uvloop
from rich.console import Console

from bench import command, figures
from bench.lab import QUICK, Lab, Pace
from bench.processes import BenchFailed

BENCHES = (
    "coordinator", "execute_http", "append_http", "append_raw", "read_raw", "commit_http", "memory", "acks", "records",
    "security", "quota",
)  # fmt: skip
TIMEOUT_S = 180


def main() -> int:
    parser = command.parser("bench", __doc__, BENCHES)
    parser.add_argument("--quick", action="store_true", help="short runs; nothing is written")
    asked = command.asked(parser, BENCHES)
    if asked.markdown:
        return command.show_markdown("bench")
    return measure(asked.names or list(BENCHES), quick=asked.quick)


def measure(names: list[str], *, quick: bool) -> int:
    # Without a terminal rich would squeeze the table into 80 columns.
    console = Console(width=None if sys.stdout.isatty() else 120)
    progress = Console(stderr=True)
    measured: list[figures.Figure] = []
    failed: list[str] = []
    for name in names:
        began_s = time.monotonic()
        lab = Lab(name, QUICK if quick else Pace())
        try:
            uvloop.run(_bounded(name, lab))
        except (BenchFailed, AssertionError, TimeoutError) as error:
            progress.print(f"[red]{name}[/]: {str(error) or 'it took too long'}")
            failed.append(name)
            continue
        measured += lab.figures
        if not quick:
            figures.replace(lab.figures)  # now: what was measured stays, also if a later bench is interrupted
        progress.print(f"{name}: {time.monotonic() - began_s:.0f} s")
    console.print(figures.table(measured))
    if quick:
        console.print("A quick run: these are no measurements, and nothing was written.")
    if missed := [f"{each.bench} {each.case}" for each in measured if each.is_met is False]:
        console.print(f"Goals missed: {', '.join(missed)}")
    return 1 if failed else 0


async def _bounded(name: str, lab: Lab) -> None:
    async with asyncio.timeout(TIMEOUT_S):
        await import_module(f"bench.{name}").measure(lab)


if __name__ == "__main__":
    sys.exit(main())
