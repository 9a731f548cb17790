"""`python -m bench`: measure, write the figures, show them.

python -m bench                          every bench
python -m bench execute_http append_raw  these
python -m bench --quick                  short runs, as a check; nothing is written
python -m bench --markdown               measures nothing: the latest figures into RESULTS.md, and to stdout
"""

from __future__ import annotations

import sys

from bench import command, runner
from bench.lab import QUICK, Pace

BENCHES = (
    "coordinator", "execute_http", "append_http", "append_raw", "read_raw", "commit_http", "memory", "records",
    "security", "metered", "quota", "replicas", "fsck", "cores", "startup",
)  # fmt: skip
TIMEOUT_S = 180


def main() -> int:
    parser = command.parser("bench", __doc__, BENCHES)
    parser.add_argument("--quick", action="store_true", help="short runs; nothing is written")
    given = command.parse(parser, BENCHES)
    if given.markdown:
        return command.show_markdown("bench")
    return runner.run(
        [runner.group_of("bench", name) for name in BENCHES],
        given.names or BENCHES,
        QUICK if given.quick else Pace(),
        timeout_s=TIMEOUT_S,
        is_written=not given.quick,
    )


if __name__ == "__main__":
    sys.exit(main())
