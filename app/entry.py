"""What the command `redis-ledger` runs first.

A container's health check runs `redis-ledger health` every few seconds; it is answered without loading what reads
command lines.  Everything else goes on to `redis_ledger.app.cli.main`, and so does `health` with options.
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
