"""`python -m bench.delay`: measure delayed delivery, write the figures, show them.

python -m bench.delay                 every bench, in under 10 minutes
python -m bench.delay fire burst      these
python -m bench.delay --scale 0.01    a hundredth of the size, as a check; nothing is written
python -m bench.delay --markdown      measures nothing: the latest figures into RESULTS.md, and to stdout
"""

from __future__ import annotations

import sys

from bench import figures, runner

# Benches with a common preparation are measured together, by the module with the name of the first.
GROUPS = (("schedule",), ("fire",), ("burst",), ("lateness",), ("index", "restart"))
TIMEOUT_S = 420


def main() -> int:
    return runner.run_scaled("bench.delay", __doc__, GROUPS, figures.DELAY_BEGIN, timeout_s=TIMEOUT_S)


if __name__ == "__main__":
    sys.exit(main())
