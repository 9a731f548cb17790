"""`python -m bench.survive`: measure how long clients wait when something dies, write the figures, show them.

python -m bench.survive                  every bench, in under 10 minutes
python -m bench.survive unavailable      these
python -m bench.survive --scale 0.2      a fifth of it all, to see that it works; nothing is written
python -m bench.survive --markdown       measures nothing: the latest figures into RESULTS.md, and to stdout
"""

from __future__ import annotations

import sys

from bench import figures, runner

TIMEOUT_S = 900


def main() -> int:
    return runner.run_scaled(
        "bench.survive", __doc__, [[name] for name in figures.SURVIVE], figures.SURVIVE_BEGIN, timeout_s=TIMEOUT_S
    )


if __name__ == "__main__":
    sys.exit(main())
