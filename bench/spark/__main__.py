"""`python -m bench.spark`: measure reading and writing with Spark, write the figures, show them.

python -m bench.spark                       every bench, in under 10 minutes
python -m bench.spark spark_write           this one
python -m bench.spark --scale 0.01          a hundredth of it all, to see that it works; nothing is written
python -m bench.spark --markdown            measures nothing: the latest figures into RESULTS.md, and to stdout
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence

from rich.console import Console

from bench import command, figures
from bench.lab import Lab, Pace
from bench.processes import BenchFailed, broker, folder
from bench.spark import offload, reading, writing
from bench.spark.engine import spark

# What is measured on one broker, in this order; offload takes away what spark_read has read.
GROUPS = (("spark_write",), ("spark_read", "offload", "offload_read"))
TIMEOUT_S = 270  # of a group


def main() -> int:
    asked = command.scaled("bench.spark", __doc__, figures.SPARK)
    if asked.markdown:
        return command.show_markdown("bench.spark", figures.SPARK_BEGIN)
    return asyncio.run(measure(asked.names or figures.SPARK, asked.scale))


async def measure(names: Sequence[str], scale: float) -> int:
    # Without a terminal rich would squeeze the table into 80 columns.
    console = Console(width=None if sys.stdout.isatty() else 120)
    progress = Console(stderr=True)
    measured: list[figures.Figure] = []
    failed: list[str] = []
    pace = Pace() if scale == 1 else Pace(runs=1, scale=scale)
    for group in GROUPS:
        wanted = [name for name in group if name in names]
        if not wanted:
            continue
        began_s = time.monotonic()
        labs = {name: Lab(name, pace) for name in group}
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await _measured(labs, wanted)
        except (BenchFailed, AssertionError, TimeoutError) as error:
            progress.print(f"[red]{', '.join(wanted)}[/]: {str(error) or 'it took too long'}")
            failed += wanted
        found = [figure for name in wanted for figure in labs[name].figures]
        measured += found
        if scale == 1:
            figures.replace(found)  # now: what was measured stays, also if a later bench is interrupted
        progress.print(f"{', '.join(wanted)}: {time.monotonic() - began_s:.0f} s")
    command.say_scaled(console, measured, scale)
    return 1 if failed else 0


async def _measured(labs: dict[str, Lab], wanted: Sequence[str]) -> None:
    """With a Spark of its own: one that was left in the middle of a step would answer the next question with it."""
    with folder() as home:
        options = ("--offload-home", str(home / "offloaded"))
        async with (
            broker(reading.DURABILITY, kafka=True, home=home, options=options) as served,
            spark() as engine,
        ):
            url = f"http://{served.host}:{served.port}"
            if "spark_write" in labs:
                await writing.measure(labs["spark_write"], served, engine, url)
                return
            records = await reading.measure(labs["spark_read"], served, engine, url)
            if wanted != ["spark_read"]:
                held = offload.embedded(home)
                try:
                    await offload.measure(labs, served, engine, url, records, held)
                finally:
                    held.release()


if __name__ == "__main__":
    sys.exit(main())
