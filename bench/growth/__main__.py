"""`python -m bench.growth`: measure what the cost grows with, write the figures, show them.

python -m bench.growth                  every bench, in under 10 minutes
python -m bench.growth workers          these
python -m bench.growth --scale 0.1      a tenth of the size, as a check; nothing is written
python -m bench.growth --markdown       measures nothing: the latest figures into RESULTS.md, and to stdout
"""

from __future__ import annotations

import sys

from bench import command, figures, runner
from bench.lab import Pace

TIMEOUT_S = 240


def main() -> int:
    given = command.scaled("bench.growth", __doc__, figures.GROWTH)
    if given.markdown:
        return command.show_markdown("bench.growth", figures.GROWTH_BEGIN)
    return runner.run(
        [runner.group_of("bench.growth", name) for name in figures.GROWTH],
        given.names or figures.GROWTH,
        Pace.of(given.scale),
        timeout_s=TIMEOUT_S,
        is_written=given.scale == 1,
    )


if __name__ == "__main__":
    sys.exit(main())
