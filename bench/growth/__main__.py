"""`python -m bench.growth`: measure what the cost grows with, write the figures, show them.

python -m bench.growth                  every bench, in under 10 minutes
python -m bench.growth workers          these
python -m bench.growth --scale 0.1      a tenth of the size, as a check; nothing is written
python -m bench.growth --markdown       measures nothing: the latest figures into RESULTS.md, and to stdout
"""

from __future__ import annotations

import sys

from bench import figures, runner

TIMEOUT_S = 240


def main() -> int:
    return runner.run_scaled(
        "bench.growth", __doc__, [[name] for name in figures.GROWTH], figures.GROWTH_BEGIN, timeout_s=TIMEOUT_S
    )


if __name__ == "__main__":
    sys.exit(main())
