"""`redis-ledger mirror`: copies topics and consumer group offsets from Kafka, exactly once."""

from __future__ import annotations

import asyncio
import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from redis_ledger.app.cli.output import counted, reporting
from redis_ledger.app.process.command_error import CommandError

if TYPE_CHECKING:
    from redis_ledger.app.tools.mirror.run import Progress

GROUPS_EVERY_S = 10.0
REPORT_EVERY_S = 2.0
NAME = re.compile(r"[a-zA-Z0-9._-]{1,100}\Z")


def mirror(
    source: Annotated[str, typer.Option("--from", metavar="kafka://HOST:PORT", help="The source Kafka cluster.")],
    target: Annotated[
        str, typer.Option("--to", metavar="kafka://HOST:PORT", help="The Kafka listener of a redis-ledger broker.")
    ] = "kafka://127.0.0.1:9092",
    topics: Annotated[str, typer.Option(metavar="REGEX", help="Topics to copy; matches the whole name.")] = ".*",
    groups: Annotated[str, typer.Option(metavar="REGEX", help="Groups whose offsets are copied; empty: none.")] = ".*",
    name: Annotated[
        str, typer.Option(help="Name of the mirror; it continues where a mirror of this name stopped.")
    ] = "kafka",
    once: Annotated[
        bool, typer.Option("--once", help="Exit when all records that exist at the start are copied.")
    ] = False,
    source_properties: Annotated[
        Path | None, typer.Option("--from-properties", help="File with security.protocol, sasl.username and so on.")
    ] = None,
    target_properties: Annotated[Path | None, typer.Option("--to-properties", help="The same for --to.")] = None,
) -> None:
    """Copy topics and groups from Kafka, exactly once.

    Run it until producers and consumers have moved. An interrupted mirror continues where it stopped, without
    duplicates.
    """
    with reporting(False):
        from redis_ledger.app.tools.mirror.endpoint import connection
        from redis_ledger.app.tools.mirror.run import MirrorOptions

        if not NAME.match(name):
            raise CommandError(f"--name {name!r} contains characters that are not allowed in topic names.")
        options = MirrorOptions(
            name,
            connection(source, "--from", source_properties),
            connection(target, "--to", target_properties),
            _pattern(topics, "--topics"),
            once,
        )
        asyncio.run(_run(options, _pattern(groups, "--groups")))


def _pattern(text: str, option: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise CommandError(f"{option} {text!r} is not a regular expression: {error}.") from None


async def _run(options: object, groups: re.Pattern[str]) -> None:
    from aiokafka.errors import KafkaError, ProducerFenced

    from redis_ledger.app.tools.mirror.groups import carry
    from redis_ledger.app.tools.mirror.run import Mirror, MirrorOptions, Pace

    assert isinstance(options, MirrorOptions)
    logging.getLogger("aiokafka").propagate = False  # errors are printed below
    logging.getLogger("aiokafka").addHandler(logging.NullHandler())
    reports, due = Pace(REPORT_EVERY_S), Pace(GROUPS_EVERY_S)

    def carried(progress: Progress) -> str:
        return f"{counted(progress.records, 'record')} in {counted(progress.transactions, 'transaction')}"

    def tell(progress: Progress) -> None:
        if reports.is_due():
            typer.echo(carried(progress), err=True)

    async def between(progress: Progress) -> None:
        if groups.pattern and due.is_due():
            await follow(progress)

    async def follow(progress: Progress) -> None:
        for group, outcome in (await carry(options.source, options.target, groups, progress.places)).items():
            if isinstance(outcome, int):
                typer.echo(f"group {group}: offsets of {counted(outcome, 'partition')} copied", err=True)
            else:
                typer.echo(f"group {group}: not copied ({outcome})", err=True)

    runner = Mirror(options, tell)
    try:
        progress = await runner.run(between)
        if groups.pattern:
            await follow(progress)
    except ProducerFenced:
        raise CommandError(f"Another mirror named {options.name!r} fenced this one.") from None
    except KafkaError as error:
        raise CommandError(
            f"The mirror stopped ({error}). Copied records are kept; run it again to continue."
        ) from None
    if progress.missed:
        typer.echo(f"{counted(progress.missed, 'offset')} of the source were trimmed before they were copied", err=True)
    typer.echo(f"copied {carried(progress)}")
