"""`redis-ledger subscriptions`: create, list, describe, lag, lags, seek, snapshot, extend, delete, dead-letters,
put-back, note-offsets, and what a subscription holds: pending, record, analyze-backlog.

`redis-ledger groups` is for Kafka groups.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, cast

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
from redis_ledger.app.cli.redelivery import dead_letters, put_back, redelivery
from redis_ledger.app.cli.subscription_stats import Name, Topic, show
from redis_ledger.app.process.command_error import CommandError
from redis_ledger.client.inspection_models import (
    BacklogAnalysis,
    OffsetRange,
    PartitionLag,
    PendingPartition,
    RecordState,
    TotalLag,
)
from redis_ledger.client.snapshots import Snapshot

subscriptions = group("Create, list, describe, seek and delete subscriptions.")
subscriptions.command("dead-letters")(dead_letters)
subscriptions.command("redelivery")(redelivery)
subscriptions.command("put-back")(put_back)

Partition = Annotated[int | None, typer.Option(min=0, help="Only this partition.")]
RANGES_SHOWN = 3
_SUMS = (
    "entries", "batches", "records", "acknowledged", "markers", "aborted_batches", "aborted_records", "undecided",
    "scheduled",
)  # fmt: skip


@subscriptions.command()
def create(
    topic: Topic,
    name: Name,
    kind: Annotated[str, typer.Option(metavar="KIND", help="shared, key_shared, exclusive or failover.")] = "shared",
    start: Annotated[str, typer.Option(metavar="WHERE", help="earliest or latest.")] = "earliest",
    url: Url = URL,
    json: Json = False,
) -> None:
    """Create a subscription; it may exist already."""
    with connected(url, json) as client:
        wanted = cast("Literal['shared', 'exclusive', 'failover']", kind)
        where = cast("Literal['earliest', 'latest']", start)
        show(client.subscriptions.create(topic, name, wanted, where), json)


@subscriptions.command("list")
def list_(topic: Topic, url: Url = URL, json: Json = False) -> None:
    """List the subscriptions and Kafka groups of a topic."""
    with connected(url, json) as client:
        found = client.subscriptions.list(topic)
        if json:
            for each in found:
                document(each)
        else:
            table(["subscription", "kind"], [(each.name, each.kind) for each in found])


@subscriptions.command()
def describe(topic: Topic, name: Name, url: Url = URL, json: Json = False) -> None:
    """Show the position and the backlog on each partition."""
    with connected(url, json) as client:
        show(client.subscriptions.stats(topic, name), json)


@subscriptions.command()
def lag(topic: Topic, name: Name, url: Url = URL, json: Json = False) -> None:
    """Show how far a subscription or group is behind."""
    with connected(url, json) as client:
        found, at = list[PartitionLag](), 0
        while True:
            page = client.subscriptions.lag(topic, name, from_partition=at)
            found += page.partitions
            if page.next_partition is None:
                break
            at = page.next_partition
        if json:
            for each in found:
                document(each)
            return
        is_bound = "" if all(each.lag_is_exact for each in found) else "at most "
        typer.echo(f"{page.name}  {page.kind}  lag {is_bound}{sum(each.lag for each in found):,}")
        heads = ["partition", "position", "stable", "end", "lag", "leased", "pending", "undecided", "oldest, ms"]
        table(heads, [
            (c.partition, c.position, c.stable_offset, c.end_offset, c.lag, c.leased, c.pending, c.undecided,
             _or_dash(c.oldest_ms))
            for c in found
        ], is_boxed=False)  # fmt: skip


@subscriptions.command()
def lags(
    topic: Annotated[str | None, typer.Option(metavar="TOPIC", help="Only of this topic.")] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Only of this subscription or group.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of lines.")] = 1_000,
    url: Url = URL,
    json: Json = False,
) -> None:
    """Show how far subscriptions and groups are behind."""
    with connected(url, json) as client:
        found, after = list[TotalLag](), None
        while len(found) < limit:
            page = client.subscriptions.lags(topic, name, limit=min(limit - len(found), 1_000), after=after)
            found += page.lags
            after = page.next
            if after is None:
                break
        if json:
            for each in found:
                document(each)
            return
        rows = [(c.topic, c.name, c.kind, f"{'' if c.lag_is_exact else '<= '}{c.lag:,}") for c in found]
        table(["topic", "name", "kind", "lag"], rows)


@subscriptions.command()
def seek(
    topic: Topic,
    name: Name,
    to: Annotated[str | None, typer.Option(metavar="WHERE", help="earliest or latest.")] = None,
    time: Annotated[str | None, typer.Option(metavar="TIME", help="ISO 8601, or ms since 1970.")] = None,
    offset: Annotated[
        list[str] | None, typer.Option(metavar="PARTITION:OFFSET", help="May be repeated: 0:1200.")
    ] = None,
    snapshot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A file that `subscriptions snapshot` has printed.")
    ] = None,
    url: Url = URL,
    json: Json = False,
) -> None:
    """Move a subscription or an empty group; give one option."""
    with reporting(json):
        at_ms = moment(time, "--time")
        offsets = parse_offsets(offset)
        if sum(given is not None for given in (to, at_ms, offsets, snapshot)) != 1:
            raise CommandError("Give exactly one of --to, --time, --offset and --snapshot.")
        state = None if snapshot is None else _read_snapshot(snapshot)
    with connected(url, json) as client:
        where = cast("Literal['earliest', 'latest'] | None", to)
        found = client.subscriptions.seek(topic, name, where, offsets=offsets, timestamp_ms=at_ms, snapshot=state)
        show(found, json)


@subscriptions.command()
def snapshot(topic: Topic, name: Name, url: Url = URL, json: Json = False) -> None:
    """Print what is acknowledged, for `seek --snapshot`."""
    with connected(url, json) as client:
        document(client.subscriptions.snapshot(topic, name))


@subscriptions.command()
def extend(
    topic: Topic,
    name: Name,
    consumer: Annotated[str, typer.Argument(metavar="CONSUMER", help="The name of the consumer.")],
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="partition:offset; without any, all that it has.")
    ] = None,
    ack_timeout_ms: Annotated[
        int | None, typer.Option(min=1, metavar="MS", help="From now on; a longer lease stays as it is.")
    ] = None,
    url: Url = URL,
    json: Json = False,
) -> None:
    """Extend the leases of a consumer that needs more time."""
    with connected(url, json) as client:
        found = client.subscriptions.extend(topic, name, consumer, ids or None, ack_timeout_ms=ack_timeout_ms)
        if json:
            document(found)
        else:
            typer.echo(f"Extended {counted(found.extended, 'lease')}.")
            for each in found.lost:
                typer.echo(f"{each} is not leased to {consumer}.")


@subscriptions.command()
def delete(
    topic: Topic,
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    url: Url = URL,
    json: Json = False,
) -> None:
    """Delete a subscription, or the offsets of an empty group."""
    confirm(yes, f"Deleting {name!r}", f"Delete subscription {name!r} of {topic!r}?", json)
    with connected(url, json) as client:
        client.subscriptions.delete(topic, name)
        if json:
            document({"deleted": name})
        else:
            typer.echo(f"Deleted {name}.")


@subscriptions.command("note-offsets")
def note_offsets(
    topic: Topic,
    name: Name,
    offset: Annotated[list[str], typer.Option(metavar="PARTITION:OFFSET", help="May be repeated: 0:1200.")],
    url: Url = URL,
    json: Json = False,
) -> None:
    """Set the offsets of a Kafka group, or of another reader."""
    with reporting(json):
        offsets = parse_offsets(offset)
        if offsets is None:
            raise CommandError("Give --offset.")
    with connected(url, json) as client:
        show(client.subscriptions.note_offsets(topic, name, offsets), json)


@subscriptions.command()
def pending(
    topic: Topic,
    name: Name,
    partition: Partition = None,
    transaction: Annotated[str | None, typer.Option(metavar="ID", help="Only this transaction.")] = None,
    low_watermarks: Annotated[bool, typer.Option("--low-watermarks", help="Include the low watermarks.")] = False,
    url: Url = URL,
    json: Json = False,
) -> None:
    """Show what open transactions have acknowledged."""
    with connected(url, json) as client:
        found, at = list[PendingPartition](), 0
        while True:
            page = client.subscriptions.pending(
                topic, name, partition=partition, from_partition=at, transaction=transaction,
                low_watermarks=low_watermarks,
            )  # fmt: skip
            found += page.partitions
            if page.next_partition is None:
                break
            at = page.next_partition
        if json:
            for each in found:
                document(each)
            return
        rows = [
            (
                each.partition,
                txn.transaction,
                txn.records,
                _ranges(txn.ranges, txn.more_ranges),
                _or_dash(txn.cumulative),
                txn.transactional_id or "-",
                txn.since_ms,
            )
            for each in found
            for txn in each.transactions
        ]
        table(["partition", "transaction", "records", "offsets", "up to", "producer", "since, ms"], rows)
        if any(not each.complete for each in found):
            typer.echo("Some transactions are missing: there are too many.", err=True)
        if low_watermarks:
            marks = [(each.partition, mark.coordinator, mark.serial) for each in found for mark in each.low_watermarks]
            table(["partition", "coordinator", "low watermark"], marks)


@subscriptions.command()
def record(
    topic: Topic,
    name: Name,
    id: Annotated[str, typer.Argument(metavar="ID", help="partition:offset, for example 0:17.")],
    batch_index: Annotated[int | None, typer.Option(min=0, help="Place in the record's batch, from 0.")] = None,
    url: Url = URL,
    json: Json = False,
) -> None:
    """Show whether a record was delivered and acknowledged."""
    with connected(url, json) as client:
        found = client.subscriptions.record_state(topic, name, id, batch_index)
        if json:
            document(found)
            return
        typer.echo(f"{found.id}: {found.state}{f' ({found.reason})' if found.reason else ''}")
        rows = [(words, value) for words, value in _facts(found) if value is not None]
        table(["member", "content"], rows, is_boxed=False)


@subscriptions.command("analyze-backlog")
def analyze_backlog(
    topic: Topic,
    name: Name,
    partition: Partition = None,
    from_offset: Annotated[int, typer.Option(min=0, help="Go on at this offset; needs --partition.")] = 0,
    max_entries: Annotated[int, typer.Option(min=1, help="Maximum log entries to read on each partition.")] = 10_000,
    url: Url = URL,
    json: Json = False,
) -> None:
    """Count records, markers and aborted records of a backlog.

    Acknowledged records are those beyond the mark-delete position. Exit code 0 also if the limit was reached; the
    last column then shows where to go on.
    """
    with reporting(json):
        if from_offset and partition is None:
            raise CommandError("--from-offset needs --partition.")
    with connected(url, json) as client:
        numbers = range(client.topics.describe(topic).partitions) if partition is None else (partition,)
        found = [
            client.subscriptions.analyze_backlog(topic, name, each, from_offset=from_offset, max_entries=max_entries)
            for each in numbers
        ]
        if json:
            for each in found:
                document(each)
            return
        rows = [_counts(str(each.partition), each) for each in found]
        if len(found) > 1:
            rows.append(("total", *(f"{sum(getattr(each, sum_) for each in found):,}" for sum_ in _SUMS), ""))
        table(["partition", *(sum_.replace("_", " ") for sum_ in _SUMS), "go on at"], rows, is_boxed=False)


groups = group("List, show, seek and delete Kafka groups.")
for _command in (describe, lag, lags, seek, delete, pending, record, analyze_backlog, note_offsets):
    groups.command(_command.__name__.replace("_", "-"))(_command)


def parse_offsets(given: list[str] | None) -> dict[int, int] | None:
    """["0:1200"] as {0: 1200}; None without any.  Raises CommandError."""
    if not given:
        return None
    found = dict[int, int]()
    for text in given:
        partition, _, offset = text.partition(":")
        if not (partition.isdecimal() and offset.isdecimal()):
            raise CommandError(f"--offset is {text!r}; give PARTITION:OFFSET, for example 0:1200.")
        found[int(partition)] = int(offset)
    return found


def _read_snapshot(file: Path) -> Snapshot:
    """Raises CommandError."""
    try:
        return Snapshot.decode(file.read_bytes())
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        raise CommandError(f"{file} is no snapshot: {error}.") from None


def _counts(name: str, found: BacklogAnalysis) -> tuple[Any, ...]:
    return name, *(f"{getattr(found, each):,}" for each in _SUMS), _or_dash(found.next_offset)


def _facts(found: RecordState) -> list[tuple[str, Any]]:
    return [
        ("transaction", found.transaction), ("consumer", found.consumer), ("deliveries", found.deliveries or None),
        ("redelivery at, ms", found.redelivery_at_ms), ("first offset of its batch", found.batch_base_offset),
        ("records of its batch", found.batch_records or None), ("mark-delete position", found.mark_delete),
        ("stable offset", found.stable_offset), ("end offset", found.end_offset),
    ]  # fmt: skip


def _ranges(ranges: list[OffsetRange], has_more: bool) -> str:
    shown = [str(each.first) if each.first == each.last else f"{each.first}-{each.last}" for each in ranges]
    rest = len(shown) > RANGES_SHOWN or has_more
    return ", ".join(shown[:RANGES_SHOWN]) + (" ..." if rest else "")


def _or_dash(number: int | None) -> str:
    return "-" if number is None else str(number)
