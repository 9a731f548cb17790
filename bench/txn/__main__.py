"""`python -m bench.txn`: measure transactions, write the figures, show them.

python -m bench.txn                     every bench, in under 10 minutes
python -m bench.txn sends_acks start    these
python -m bench.txn --quick             short runs, in a minute, as a check; nothing is written
python -m bench.txn --markdown          measures nothing: the latest figures into RESULTS.md, and to stdout
"""

from __future__ import annotations

import sys

from bench import command, figures, runner
from bench.lab import QUICK, Pace

TIMEOUT_S = 180


def main() -> int:
    parser = command.parser("bench.txn", __doc__, figures.TXN)
    parser.add_argument("--quick", action="store_true", help="short runs; nothing is written")
    given = command.parse(parser, figures.TXN)
    if given.markdown:
        return command.show_markdown("bench.txn", figures.TXN_BEGIN)
    return runner.run(
        [runner.group_of("bench.txn", name) for name in figures.TXN],
        given.names or figures.TXN,
        QUICK if given.quick else Pace(),
        timeout_s=TIMEOUT_S,
        is_written=not given.quick,
    )


if __name__ == "__main__":
    sys.exit(main())
