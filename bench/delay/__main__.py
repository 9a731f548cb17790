"""`python -m bench.delay`: measure deliver later, write the figures, show them.

python -m bench.delay                 every bench, in under 10 minutes
python -m bench.delay fire burst      these
python -m bench.delay --scale 0.01    a hundredth of it all, to see that it works; nothing is written
python -m bench.delay --markdown      measures nothing: the latest figures into RESULTS.md, and to stdout
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from importlib import import_module

import uvloop
from rich.console import Console

from bench import command, figures
from bench.lab import Lab, Pace
from bench.processes import BenchFailed

# Benches that share what was prepared are measured together, by the module with the name of the first.
GROUPS = (("schedule",), ("fire",), ("burst",), ("lateness",), ("index", "restart"))
TIMEOUT_S = 420


def main() -> int:
    asked = command.scaled("bench.delay", __doc__, figures.DELAY)
    if asked.markdown:
        return command.show_markdown("bench.delay", figures.DELAY_BEGIN)
    return measure(asked.names or figures.DELAY, asked.scale)


def measure(names: Sequence[str], scale: float) -> int:
    # Without a terminal rich would squeeze the table into 80 columns.
    console = Console(width=None if sys.stdout.isatty() else 120)
    progress = Console(stderr=True)
    measured: list[figures.Figure] = []
    failed: list[str] = []
    for group in GROUPS:
        wanted = [name for name in group if name in names]
        if not wanted:
            continue
        began_s = time.monotonic()
        labs = [Lab(name, Pace.of(scale)) for name in group]
        try:
            uvloop.run(_bounded(labs))
        except (BenchFailed, AssertionError, TimeoutError) as error:
            progress.print(f"[red]{', '.join(wanted)}[/]: {str(error) or 'it took too long'}")
            failed += wanted
            continue
        found = [figure for lab in labs if lab.bench in wanted for figure in lab.figures]
        measured += found
        if scale == 1:
            figures.replace(found)  # now: what was measured stays, also if a later bench is interrupted
        progress.print(f"{', '.join(wanted)}: {time.monotonic() - began_s:.0f} s")
    command.say_scaled(console, measured, scale)
    return 1 if failed else 0


async def _bounded(labs: Sequence[Lab]) -> None:
    async with asyncio.timeout(TIMEOUT_S):
        await import_module(f"bench.delay.{labs[0].bench}").measure(*labs)


if __name__ == "__main__":
    sys.exit(main())
