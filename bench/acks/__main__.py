"""`python -m bench.acks`: measure acknowledgements, write the figures, show them.

python -m bench.acks                     every bench
python -m bench.acks ack_batch holes     these
python -m bench.acks --scale 0.05        short runs, as a check; nothing is written
python -m bench.acks --markdown          measures nothing: the latest figures into RESULTS.md, and to stdout
"""

from __future__ import annotations

import sys

from bench import figures, runner

TIMEOUT_S = 300


def main() -> int:
    groups = [[name] for name in figures.ACKS]
    return runner.run_scaled("bench.acks", __doc__, groups, figures.ACKS_BEGIN, timeout_s=TIMEOUT_S)


if __name__ == "__main__":
    sys.exit(main())
