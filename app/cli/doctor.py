"""`redis-ledger doctor`: what is wrong with this set-up, and what to do."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from app.cli.output import table
from redis_ledger import log


def doctor(
    data_dir: Annotated[
        Path, typer.Option(envvar="REDIS_LEDGER_DATA_DIR", help="The data directory that serve would use.")
    ] = Path("redis-ledger-data"),
    http: Annotated[str, typer.Option(metavar="HOST:PORT", envvar="REDIS_LEDGER_HTTP")] = "127.0.0.1:8080",
    kafka: Annotated[
        str,
        typer.Option(metavar="HOST:PORT|NAME://HOST:PORT,...", envvar="REDIS_LEDGER_KAFKA", help="off: no listener."),
    ] = "127.0.0.1:9092",
    redis: Annotated[str | None, typer.Option(metavar="URL", envvar="REDIS_LEDGER_REDIS_URL")] = None,
    durability: Annotated[Literal["process", "disk", "lossy"], typer.Option()] = "disk",
    cold_home: Annotated[str | None, typer.Option(metavar="FOLDER|URI", help="Where history in Parquet is.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Findings as JSON.")] = False,
) -> None:
    """Say what is wrong with this set-up, and what to do.

    Looks at everything serve needs; give it serve's own options.  Exit code 0: serve will run, warnings or not.
    1: there is a problem.
    """
    from rich.text import Text

    from app import redis_url
    from app.cold_home import absolute
    from app.doctor import Finding, Setup, examine
    from app.refusal import Refusal

    log.configure("error")
    try:
        url = redis_url.given(redis, os.environ)
    except Refusal as refusal:
        typer.echo(f"redis-ledger: {refusal}", err=True)
        sys.exit(1)

    async def collect() -> list[Finding]:
        home = None if cold_home is None else absolute(cold_home)
        setup = Setup(data_dir, http, kafka, url, durability, os.environ, home)
        return [finding async for finding in examine(setup)]

    findings = asyncio.run(collect())
    if json_:
        typer.echo(json.dumps([finding.as_json() for finding in findings]))
    else:
        colours = {"fine": "green", "warning": "yellow", "problem": "bold red"}
        rows = [(Text(each.level, colours[each.level]), each.subject, each.seen, each.cure) for each in findings]
        table(["", "looked at", "seen", "what to do"], rows, is_boxed=False)
    sys.exit(1 if any(finding.level == "problem" for finding in findings) else 0)
