"""`redis-ledger raise-format`: lets brokers use what only newer releases can read."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from redis_ledger.app.cli import serve_options
from redis_ledger.app.cli.output import document, reporting
from redis_ledger.app.cli.redis_access import DataDir, Redis, Set, opened_store
from redis_ledger.telemetry import logs


def raise_format(
    data_dir: DataDir = serve_options.DATA_DIR,
    redis: Redis = None,
    set_: Set = None,
    json_: Annotated[bool, typer.Option("--json", help="Print the formats as JSON.")] = False,
) -> None:
    """Raise the stored format after an upgrade of all brokers.

    Older releases do not start on it any more, so do this when you will not go back. It is refused while a live broker
    cannot read the newer format. Data that is stored already is not changed.
    """
    logs.configure("error")
    with reporting(json_):
        before, now = asyncio.run(_run(data_dir, redis, set_ or []))
    if json_:
        document({"before": before, "format": now})
    elif before == now:
        typer.echo(f"The stored format is {now}, the newest that this release knows.")
    else:
        typer.echo(f"The stored format was {before} and is now {now}.")


async def _run(data_dir: Path, redis: str | None, settings: list[str]) -> tuple[int, int]:
    from redis_ledger.broker.cluster.raise_format import raise_format

    async with opened_store(data_dir, redis, settings) as (store, _):
        return await raise_format(store)
