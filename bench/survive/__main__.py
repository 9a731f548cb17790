"""`python -m bench.survive`: measure how long clients wait when something dies, write the figures, show them.

python -m bench.survive                  every bench, in under 10 minutes
python -m bench.survive unavailable      these
python -m bench.survive --scale 0.2      a fifth of it all, to see that it works; nothing is written
python -m bench.survive --markdown       measures nothing: the latest figures into RESULTS.md, and to stdout
"""

from __future__ import annotations

import sys

from bench import command, figures, runner
from bench.lab import Pace

TIMEOUT_S = 900


def main() -> int:
    given = command.scaled("bench.survive", __doc__, figures.SURVIVE)
    if given.markdown:
        return command.show_markdown("bench.survive", figures.SURVIVE_BEGIN)
    return runner.run(
        [runner.group_of("bench.survive", name) for name in figures.SURVIVE],
        given.names or figures.SURVIVE,
        Pace.of(given.scale),
        timeout_s=TIMEOUT_S,
        is_written=given.scale == 1,
    )


if __name__ == "__main__":
    sys.exit(main())
