"""`python -m bench.spark`: measure reading and writing with Spark, write the figures, show them.

python -m bench.spark                       every bench, in under 10 minutes
python -m bench.spark spark_write           this one
python -m bench.spark --scale 0.01          a hundredth of the size, as a check; nothing is written
python -m bench.spark --markdown            measures nothing: the latest figures into RESULTS.md, and to stdout
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from functools import partial

from bench import command, figures, runner
from bench.lab import Lab, Pace
from bench.processes import broker, folder
from bench.spark import offload, reading, writing
from bench.spark.engine import spark

# Benches on one broker, in this order; offload removes the records that spark_read has read.
GROUPS = (("spark_write",), ("spark_read", "offload", "offload_read"))
TIMEOUT_S = 270  # of a group


def main() -> int:
    given = command.scaled("bench.spark", __doc__, figures.SPARK)
    if given.markdown:
        return command.show_markdown("bench.spark", figures.SPARK_BEGIN)
    names = given.names or figures.SPARK
    return runner.run(
        [
            runner.Group(group, partial(_measured, selected=[name for name in group if name in names]))
            for group in GROUPS
        ],
        names,
        Pace() if given.scale == 1 else Pace(runs=1, scale=given.scale),
        timeout_s=TIMEOUT_S,
        is_written=given.scale == 1,
        keeps_partial=True,
        loop=asyncio.run,
    )


async def _measured(given: Sequence[Lab], *, selected: Sequence[str]) -> None:
    """Starts a new Spark: after an interrupted step, its result would answer the next request."""
    labs = {lab.bench: lab for lab in given}
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
            if selected != ["spark_read"]:
                held = offload.embedded(home)
                try:
                    await offload.measure(labs, served, engine, url, records, held)
                finally:
                    held.release()


if __name__ == "__main__":
    sys.exit(main())
