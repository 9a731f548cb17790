"""The entry point of the command `redis-ledger`.

A container's health check runs `redis-ledger health` every few seconds, so `health` without options runs without
loading the command line parser.  All other commands run in `redis_ledger.app.cli.main`.
"""

from __future__ import annotations

import sys


def main() -> None:
    if sys.argv[1:] == ["health"]:
        from redis_ledger.app.process.health_check import look, tell

        sys.exit(tell(look()))
    from redis_ledger.app.cli.main import app

    app()


if __name__ == "__main__":
    main()
