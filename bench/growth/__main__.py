"""`python -m bench.growth`: measure what the cost grows with, write the figures, show them.

python -m bench.growth                  every bench, in under 10 minutes
python -m bench.growth workers          these
python -m bench.growth --scale 0.1      a tenth of it all, to see that it works; nothing is written
python -m bench.growth --markdown       measures nothing: the latest figures into RESULTS.md, and to stdout
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

TIMEOUT_S = 240


def main() -> int:
    asked = command.scaled("bench.growth", __doc__, figures.GROWTH)
    if asked.markdown:
        return command.show_markdown("bench.growth", figures.GROWTH_BEGIN)
    return measure(asked.names or figures.GROWTH, asked.scale)


def measure(names: Sequence[str], scale: float) -> int:
    # Without a terminal rich would squeeze the table into 80 columns.
    console = Console(width=None if sys.stdout.isatty() else 120)
    progress = Console(stderr=True)
    measured: list[figures.Figure] = []
    failed: list[str] = []
    for name in names:
        began_s = time.monotonic()
        lab = Lab(name, Pace.of(scale))
        try:
            uvloop.run(_bounded(lab))
        except (BenchFailed, AssertionError, TimeoutError) as error:
            progress.print(f"[red]{name}[/]: {str(error) or 'it took too long'}")
            failed.append(name)
            continue
        measured += lab.figures
        if scale == 1:
            figures.replace(lab.figures)  # now: what was measured stays, also if a later bench is interrupted
        progress.print(f"{name}: {time.monotonic() - began_s:.0f} s")
    command.say_scaled(console, measured, scale)
    return 1 if failed else 0


async def _bounded(lab: Lab) -> None:
    async with asyncio.timeout(TIMEOUT_S):
        await import_module(f"bench.growth.{lab.bench}").measure(lab)


if __name__ == "__main__":
    sys.exit(main())
