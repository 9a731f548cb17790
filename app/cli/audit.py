"""`redis-ledger audit`: the audit log, newest first.  Accesses Redis directly."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from redis_ledger.app.cli.output import Json, document, reporting, table
from redis_ledger.app.cli.redis_access import DataDir, Redis, Set, run
from redis_ledger.app.cli.serve_options import DATA_DIR


def audit(
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="Maximum number of entries.")] = 50,
    before: Annotated[str, typer.Option(metavar="ID", help="Only entries older than this one.")] = "",
    data_dir: DataDir = DATA_DIR,
    redis: Redis = None,
    set_: Set = None,
    json: Json = False,
) -> None:
    """Show the audit log, newest first."""
    with reporting(json):
        found = run(lambda desk: desk.audit.entries(limit, before), data_dir, redis, set_)
    if json:
        for entry in found:
            document(entry._asdict())
    else:
        rows = [
            (_time(entry.at_ms), entry.principal, entry.host, entry.act, entry.target, entry.outcome) for entry in found
        ]
        table(["time", "principal", "host", "action", "target", "outcome"], rows)


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
