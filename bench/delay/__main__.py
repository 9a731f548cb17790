"""`python -m bench.delay`: measure delayed delivery, write the figures, show them.

python -m bench.delay                 every bench, in under 10 minutes
python -m bench.delay fire burst      these
python -m bench.delay --scale 0.01    a hundredth of the size, as a check; nothing is written
python -m bench.delay --markdown      measures nothing: the latest figures into RESULTS.md, and to stdout
"""

from __future__ import annotations

import sys

from bench import command, figures, runner
from bench.lab import Pace

# Benches with a common preparation are measured together, by the module with the name of the first.
GROUPS = (("schedule",), ("fire",), ("burst",), ("lateness",), ("index", "restart"))
TIMEOUT_S = 420


def main() -> int:
    given = command.scaled("bench.delay", __doc__, figures.DELAY)
    if given.markdown:
        return command.show_markdown("bench.delay", figures.DELAY_BEGIN)
    return runner.run(
        [runner.group_of("bench.delay", *names) for names in GROUPS],
        given.names or figures.DELAY,
        Pace.of(given.scale),
        timeout_s=TIMEOUT_S,
        is_written=given.scale == 1,
    )


if __name__ == "__main__":
    sys.exit(main())
