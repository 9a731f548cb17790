"""`redis-ledger health`: whether the broker of this machine is ready; `app/entry.py` takes a short way to it."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from redis_ledger.app.process import health_check as own


def health(
    http: Annotated[
        str,
        typer.Option(
            metavar="HOST:PORT|URL",
            envvar="REDIS_LEDGER_HTTP",
            help="The --http of serve; https:// before it asks with TLS only.",
        ),
    ] = own.HTTP,
    timeout_ms: Annotated[int, typer.Option(min=1, help="How long an answer may take.")] = own.TIMEOUT_MS,
) -> None:
    """Ask the broker of this machine whether it is ready.

    Made for health checks: one sentence, and exit code 0 when GET /readyz says yes, else 1.
    """
    sys.exit(own.tell(own.look(http, timeout_ms=timeout_ms)))
