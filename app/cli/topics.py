"""`redis-ledger topics`: create, list, describe, alter, delete; offsets, offloaded records and transactions."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

import typer

from redis_ledger.app.cli.output import (
    URL,
    Json,
    Url,
    confirm,
    connected,
    counted,
    document,
    group,
    moment,
    reporting,
    table,
)
from redis_ledger.app.process.command_error import CommandError
from redis_ledger.client.models import Isolation, PartitionState, Topic

topics = group("Create, list, describe, alter and delete topics.")

Name = Annotated[str, typer.Argument(metavar="TOPIC")]
Retention = Annotated[int | None, typer.Option(min=-1, help="Retention time; -1: no limit.")]
Bytes = Annotated[int | None, typer.Option(min=-1, help="Retained bytes per partition; -1: no limit.")]


class TxnBuffer(StrEnum):
    MARKER = "marker"
    SIDECAR = "sidecar"


Buffer = Annotated[
    TxnBuffer | None,
    typer.Option(help="Records of open transactions are in the log, up to a marker; or in a sidecar until the commit."),
]
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
    txn_buffer: Buffer = None,
    url: Url = URL,
    json: Json = False,
) -> None:
    """Create a topic."""
    with connected(url, json) as client:
        settings = _settings(retention_ms, retention_bytes, retention_acknowledged, txn_buffer)
        _show(client.topics.create(name, partitions, settings), json)


@topics.command("list")
def list_(
    internal: Annotated[
        bool, typer.Option("--internal", help="Include the internal topic __consumer_offsets.")
    ] = False,
    url: Url = URL,
    json: Json = False,
) -> None:
    """List all topics."""
    with connected(url, json) as client:
        found = client.topics.list(internal=internal)
        if json:
            for topic in found:
                document(topic)
        else:
            table(["topic", "partitions", "created"], [(t.name, t.partitions, _time(t.created_ms)) for t in found])


@topics.command()
def describe(
    name: Name,
    subscriptions: Annotated[
        bool, typer.Option("--subscriptions", help="Include subscriptions with their unacknowledged records.")
    ] = False,
    url: Url = URL,
    json: Json = False,
) -> None:
    """Show a topic and its partitions."""
    with connected(url, json) as client:
        found = client.topics.describe(name, subscriptions=subscriptions)
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
        rows = [
            (p.partition, p.committed_transactions, p.aborted_transactions, p.scheduled) for p in found.partition_states
        ]
        heads = ["partition", "committed transactions", "aborted transactions", "scheduled records"]
        table(heads, rows, is_boxed=False)
        if subscriptions:
            unacked = [(s.name, s.kind, s.unacknowledged, s.pending) for s in found.subscriptions]
            table(["subscription", "kind", "unacknowledged", "pending"], unacked, is_boxed=False)
            if not found.subscriptions_complete:
                typer.echo("There are more subscriptions.", err=True)


@topics.command()
def transactions(
    name: Name,
    partition: Annotated[int, typer.Argument(min=0, metavar="PARTITION")] = 0,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="Of open and of aborted transactions.")] = 100,
    open_from: Annotated[int, typer.Option(help="Where the page before ended.")] = 0,
    aborted_from: Annotated[int, typer.Option(min=0, help="Marker offset of the first aborted one.")] = 0,
    low_watermarks: Annotated[bool, typer.Option("--low-watermarks", help="Include the low watermarks.")] = False,
    url: Url = URL,
    json: Json = False,
) -> None:
    """Show the transaction buffer of a partition."""
    with connected(url, json) as client:
        found = client.topics.transactions(
            name, partition, limit=limit, open_from=open_from, aborted_from=aborted_from, low_watermarks=low_watermarks
        )
        if json:
            document(found)
            return
        typer.echo(f"{found.topic}:{found.partition}  stable offset {found.stable_offset} of {found.end_offset}")
        if found.held_by is not None:
            typer.echo(f"held by transaction {found.held_by.transaction}, open since {_time(found.held_by.started_ms)}")
        snapshot = (
            "none" if found.snapshot is None else f"{_time(found.snapshot.taken_ms)} up to {found.snapshot.position}"
        )
        typer.echo(
            f"open {found.open_transactions:,}  committed {found.committed_transactions:,}  aborted "
            f"{found.aborted_transactions:,}  aborted set {found.aborted_set:,}  tombstones {found.tombstones:,}  "
            f"snapshot {snapshot}"
        )
        rows = [("open", each.transaction, each.first_offset, each.buffer) for each in found.open]
        rows += [("aborted", f"producer {each.producer_id}", each.first_offset, str(each.last_offset))
                 for each in found.aborted]  # fmt: skip
        if rows:
            table(["state", "transaction", "first offset", "marker or buffer"], rows)
        if found.open_next is not None or found.aborted_next is not None:
            more = {"--open-from": found.open_next, "--aborted-from": found.aborted_next}
            typer.echo("More: " + " ".join(f"{option} {at}" for option, at in more.items() if at is not None), err=True)
        if low_watermarks:
            table(["coordinator", "low watermark"], [(each.coordinator, each.serial) for each in found.low_watermarks])


@topics.command("offset-at")
def offset_at(
    name: Name,
    partition: Annotated[int, typer.Argument(min=0, metavar="PARTITION")],
    time: Annotated[str, typer.Argument(metavar="TIME", help="ISO 8601, or ms since 1970.")],
    uncommitted: Annotated[bool, typer.Option("--uncommitted", help="Also above the stable offset.")] = False,
    url: Url = URL,
    json: Json = False,
) -> None:
    """Find the first record that is as late as a time."""
    with reporting(json):
        at_ms = moment(time, "TIME")
        assert at_ms is not None, "the argument is required"
    with connected(url, json) as client:
        isolation: Isolation = "read_uncommitted" if uncommitted else "read_committed"
        found = client.topics.offset_at(name, partition, at_ms, isolation)
        if json:
            document(found)
        elif found.timestamp_ms is None:
            typer.echo(f"No record is as late; the end is at offset {found.offset}.")
        else:
            typer.echo(f"offset {found.offset}, of {_time(found.timestamp_ms)}")


@topics.command()
def offloaded(name: Name, url: Url = URL, json: Json = False) -> None:
    """Show which records are in Parquet files."""
    with connected(url, json) as client:
        found = client.offload.describe(name)
        if json:
            document(found)
            return
        rows = [
            (p.partition, p.start_offset, p.offloaded_offset, p.stable_offset, len(p.segments), p.version)
            for p in found.partitions
        ]
        table(["partition", "start", "offloaded", "stable", "segments", "version"], rows, is_boxed=False)


@topics.command()
def transaction(
    name: Name,
    partition: Annotated[int, typer.Argument(min=0, metavar="PARTITION")],
    id: Annotated[str, typer.Argument(metavar="ID", help="For example 3-3821040230400.")],
    url: Url = URL,
    json: Json = False,
) -> None:
    """Show one transaction in a partition."""
    with connected(url, json) as client:
        found = client.topics.transaction(name, partition, id)
        if json:
            document(found)
            return
        offsets = "" if found.first_offset is None else f"  first offset {found.first_offset}"
        marker = "" if found.last_offset is None else f"  marker {found.last_offset}"
        typer.echo(f"{found.transaction}: {found.state}{offsets}{marker}")


@topics.command()
def grow(
    name: Name,
    partitions: Annotated[int | None, typer.Option(min=1, help="New number of partitions; it can only grow.")] = None,
    retention_ms: Retention = None,
    retention_bytes: Bytes = None,
    retention_acknowledged: Acknowledged = None,
    txn_buffer: Buffer = None,
    url: Url = URL,
    json: Json = False,
) -> None:
    """Increase the partitions or change the settings of a topic."""
    with reporting(json):
        settings = _settings(retention_ms, retention_bytes, retention_acknowledged, txn_buffer)
        if partitions is None and settings is None:
            raise CommandError("Give --partitions, --txn-buffer or a retention option.")
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
    confirm(yes, f"Deleting {name!r}", f"Delete {name!r}, its records and subscriptions?", json)
    with connected(url, json) as client:
        client.topics.delete(name)
        if json:
            document({"deleted": name})
        else:
            typer.echo(f"Deleted {name}.")


def _settings(
    ms: int | None, size: int | None, acknowledged: bool | None, buffer: TxnBuffer | None
) -> dict[str, int | str] | None:
    given: dict[str, int | str | None] = {
        "retention_ms": ms, "retention_bytes": size, "retention_acknowledged": acknowledged,
        "txn_buffer": None if buffer is None else buffer.value,
    }  # fmt: skip
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
