"""`redis-ledger doctor`: checks a setup."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Annotated

import typer

from redis_ledger.app.cli import serve_options
from redis_ledger.app.cli.output import reporting, table
from redis_ledger.telemetry import logs


def doctor(
    data_dir: serve_options.DataDir = serve_options.DATA_DIR,
    http: serve_options.Http = serve_options.HTTP,
    kafka: serve_options.Kafka = serve_options.KAFKA,
    kafka_advertised: serve_options.KafkaAdvertised = None,
    redis: serve_options.Redis = None,
    durability: serve_options.Durability = "disk",
    offload_home: serve_options.OffloadHome = None,
    set_: serve_options.Set = None,
    allow_anonymous: serve_options.AllowAnonymous = False,
    json_: Annotated[bool, typer.Option("--json", help="Print findings as JSON.")] = False,
) -> None:
    """Check this setup and suggest fixes.

    Checks everything that serve needs; takes the same options as serve.

    Exit code 0: serve can run, possibly with warnings. 1: a problem was found. 2: usage error.
    """
    from rich.text import Text

    from redis_ledger.app.process.doctor import Finding, Setup, examine

    logs.configure("error")
    with reporting(json_):
        given = serve_options.overrides(serve_options.words(set_, offload_home))

    async def collect() -> list[Finding]:
        looked_at = Setup(
            data_dir, http, kafka, kafka_advertised, redis, durability, allow_anonymous, os.environ, given
        )
        return [finding async for finding in examine(looked_at)]

    findings = asyncio.run(collect())
    if json_:
        typer.echo(json.dumps([finding.as_json() for finding in findings]))
    else:
        colours = {"fine": "green", "warning": "yellow", "problem": "bold red"}
        rows = [(Text(each.level, colours[each.level]), each.subject, each.seen, each.cure) for each in findings]
        table(["", "checked", "found", "action"], rows, is_boxed=False)
    sys.exit(1 if any(finding.level == "problem" for finding in findings) else 0)
