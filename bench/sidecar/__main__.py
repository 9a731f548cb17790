"""`python -m bench.sidecar`: measure the sidecar buffer, write the figures, show them.

python -m bench.sidecar                  all of it
python -m bench.sidecar --scale 0.05     short runs, as a check; nothing is written
python -m bench.sidecar --markdown       measures nothing: the latest figures into RESULTS.md, and to stdout
"""

from __future__ import annotations

import sys

from bench import figures, runner

TIMEOUT_S = 300


def main() -> int:
    groups = [[name] for name in figures.SIDECAR]
    return runner.run_scaled("bench.sidecar", __doc__, groups, figures.SIDECAR_BEGIN, timeout_s=TIMEOUT_S)


if __name__ == "__main__":
    sys.exit(main())
