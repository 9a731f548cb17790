"""`redis-ledger topics`: create, list, describe, alter, delete."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from redis_ledger.app.cli.output import URL, Json, Url, connected, counted, document, group, reporting, table
from redis_ledger.app.process.command_error import CommandError
from redis_ledger.client.models import PartitionState, Topic

topics = group("Create, list, describe, alter and delete topics.")

Name = Annotated[str, typer.Argument(metavar="TOPIC")]
Retention = Annotated[int | None, typer.Option(min=-1, help="Retention time; -1: no limit.")]
Bytes = Annotated[int | None, typer.Option(min=-1, help="Retained bytes per partition; -1: no limit.")]
Acknowledged = Annotated[
    bool | None,
    typer.Option(
        "--retention-acknowledged/--no-retention-acknowledged",
        help="Trim only records that every subscription has acknowledged.",
    ),
]


@topics.command()
def create(
    name: Name,
    partitions: Annotated[int | None, typer.Option(min=1, help="Default: the broker setting num_partitions.")] = None,
    retention_ms: Retention = None,
    retention_bytes: Bytes = None,
    retention_acknowledged: Acknowledged = None,
    url: Url = URL,
    json: Json = False,
) -> None:
    """Create a topic."""
    with connected(url, json) as client:
        settings = _settings(retention_ms, retention_bytes, retention_acknowledged)
        _show(client.topics.create(name, partitions, settings), json)


@topics.command("list")
def list_(url: Url = URL, json: Json = False) -> None:
    """List all topics."""
    with connected(url, json) as client:
        found = client.topics.list()
        if json:
            for topic in found:
                document(topic)
        else:
            table(["topic", "partitions", "created"], [(t.name, t.partitions, _time(t.created_ms)) for t in found])


@topics.command()
def describe(name: Name, url: Url = URL, json: Json = False) -> None:
    """Show a topic and its partitions."""
    with connected(url, json) as client:
        found = client.topics.describe(name)
        if json:
            document(found)
            return
        settings = ", ".join(f"{key} {value}" for key, value in sorted(found.settings.items())) or "none"
        typer.echo(
            f"{found.name}  {counted(found.partitions, 'partition')}  created {_time(found.created_ms)}  "
            f"settings: {settings}"
        )
        heads = ["partition", "start", "offloaded", "stable", "end", "bytes", "ledgers", "open transactions"]
        table(heads, [_row(p) for p in found.partition_states], is_boxed=False)


@topics.command()
def grow(
    name: Name,
    partitions: Annotated[int | None, typer.Option(min=1, help="New number of partitions; it can only grow.")] = None,
    retention_ms: Retention = None,
    retention_bytes: Bytes = None,
    retention_acknowledged: Acknowledged = None,
    url: Url = URL,
    json: Json = False,
) -> None:
    """Increase the partitions or change the settings of a topic."""
    with reporting(json):
        settings = _settings(retention_ms, retention_bytes, retention_acknowledged)
        if partitions is None and settings is None:
            raise CommandError("Give --partitions or a retention option.")
    with connected(url, json) as client:
        _show(client.topics.grow(name, partitions, settings), json)


@topics.command()
def delete(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    url: Url = URL,
    json: Json = False,
) -> None:
    """Delete a topic, its records and subscriptions."""
    with reporting(json):
        if not yes and not typer.get_text_stream("stdin").isatty():
            raise CommandError(f"Deleting {name!r} cannot be undone; use --yes if stdin is not a terminal.")
    if not yes and not typer.confirm(f"Delete {name!r}, its records and subscriptions?", err=True):
        raise typer.Exit(1)
    with connected(url, json) as client:
        client.topics.delete(name)
        if json:
            document({"deleted": name})
        else:
            typer.echo(f"Deleted {name}.")


def _settings(ms: int | None, size: int | None, acknowledged: bool | None) -> dict[str, int] | None:
    given = {"retention_ms": ms, "retention_bytes": size, "retention_acknowledged": acknowledged}
    return {name: value for name, value in given.items() if value is not None} or None


def _show(topic: Topic, as_json: bool) -> None:
    if as_json:
        document(topic)
    else:
        typer.echo(f"{topic.name}: {counted(topic.partitions, 'partition')}")


def _row(p: PartitionState) -> tuple[int, ...]:
    return (
        p.partition, p.start_offset, p.offloaded_offset, p.stable_offset, p.end_offset, p.bytes, p.ledgers,
        p.open_transactions,
    )  # fmt: skip


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
