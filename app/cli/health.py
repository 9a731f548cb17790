"""`redis-ledger health`: readiness check; `app/entry.py` has a fast path for it."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from redis_ledger.app.process import health_check


def health(
    http: Annotated[
        str,
        typer.Option(
            metavar="HOST:PORT|URL",
            envvar="REDIS_LEDGER_HTTP",
            help="The --http of serve; with https:// only TLS is tried.",
        ),
    ] = health_check.HTTP,
    timeout_ms: Annotated[int, typer.Option(min=1, help="Timeout.")] = health_check.TIMEOUT_MS,
) -> None:
    """Check whether the local broker is ready.

    For container health checks: exit code 0 if GET /readyz succeeds, else 1.
    """
    sys.exit(health_check.tell(health_check.look(http, timeout_ms=timeout_ms)))
