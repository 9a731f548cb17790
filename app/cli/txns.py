"""`redis-ledger txns`: list, show, commit, abort; why readers wait, and the log of a coordinator."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

import msgspec
import typer

from redis_ledger.app.cli.output import URL, Json, Url, connected, counted, document, group, reporting, table
from redis_ledger.app.http.times import duration_ms
from redis_ledger.app.process.command_error import CommandError
from redis_ledger.client.models import TransactionStatus
from redis_ledger.client.transaction_models import (
    HeldPartition,
    LogRecord,
    PendingSubscription,
    TransactionStep,
    WrittenPartition,
)
from redis_ledger.terminal import one_line

txns = group("List, show, commit and abort transactions.")
RANGES_SHOWN = 5

Id = Annotated[str, typer.Argument(metavar="ID", help="For example 3-17.")]


class Status(StrEnum):
    open = "open"
    committing = "committing"
    committed = "committed"
    aborting = "aborting"
    aborted = "aborted"


@txns.command("list")
def list_(
    status: Annotated[Status | None, typer.Option(help="Only transactions with this status.")] = None,
    min_age: Annotated[
        str, typer.Option(metavar="DURATION", help="Only transactions at least this old: 30s, 5m, PT1H, or ms.")
    ] = "0",
    min_timeout: Annotated[
        str, typer.Option(metavar="DURATION", help="Only transactions with at least this timeout.")
    ] = "0",
    coordinator: Annotated[int | None, typer.Option(min=0, help="Only those of this coordinator.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 100,
    url: Url = URL,
    json: Json = False,
) -> None:
    """List transactions, oldest first."""
    with reporting(json):
        min_age_ms = duration_ms(min_age, "--min-age", CommandError)
        min_timeout_ms = duration_ms(min_timeout, "--min-timeout", CommandError)
    with connected(url, json) as client:
        found = client.transactions.list(
            None if status is None else status.value, min_age_ms, limit, min_timeout_ms=min_timeout_ms,
            coordinator=coordinator,
        )  # fmt: skip
        if json:
            for txn in found:
                document(txn)
            return
        now_ms = time.time_ns() // 1_000_000
        table(
            ["id", "status", "age s", "timeout s", "partitions", "subscriptions"],
            [
                (
                    txn.id,
                    txn.status,
                    f"{(now_ms - txn.started_ms) / 1000:.1f}",
                    f"{txn.timeout_ms / 1000:g}",
                    len(txn.partitions),
                    len({(s.topic, s.subscription) for s in txn.subscriptions}),
                )
                for txn in found
            ],
        )


@txns.command()
def show(id: Id, url: Url = URL, json: Json = False) -> None:
    """Show a transaction, its steps, and what it did on its participants."""
    with connected(url, json) as client:
        txn = client.transactions.get(id)
        page = client.transactions.participants(id)
        partitions, subscriptions = list(page.partitions), list(page.subscriptions)
        while page.next is not None:
            page = client.transactions.participants(id, page.next, 1_000)
            partitions += page.partitions
            subscriptions += page.subscriptions
        if json:
            participants = {"partitions": partitions, "subscriptions": subscriptions}
            document({**msgspec.to_builtins(txn), "participants": participants})
            return
        typer.echo(f"{txn.id}  {txn.status}{'  (timed out)' if txn.timed_out else ''}  timeout {txn.timeout_ms} ms")
        table(["step", "participant", "time"], [_step(each) for each in txn.steps])
        if txn.steps_cut:
            typer.echo("Steps of further participants are left out.")
        if partitions:
            heads = ["topic", "partition", "first offset", "last offset", "records", "batches", "bytes", "marker"]
            table(heads, [_partition(each) for each in partitions])
        if subscriptions:
            heads = ["topic", "partition", "subscription", "pending", "offsets"]
            table(heads, [_subscription(each) for each in subscriptions])


@txns.command()
def why(topic: Annotated[str, typer.Argument(metavar="TOPIC")], url: Url = URL, json: Json = False) -> None:
    """Show why readers of committed records of a topic do not advance."""
    with connected(url, json) as client:
        found = client.transactions.why(topic)
        if json:
            document(found)
            return
        if not found.partitions:
            typer.echo(f"No transaction holds up the readers of {topic}: they can read to its end.")
        for each in found.partitions:
            for line in _reasons(topic, each):
                typer.echo(line)
        if found.cut:
            typer.echo("Further partitions are held.")


@txns.command()
def log(
    coordinator: Annotated[int, typer.Argument(metavar="COORDINATOR", min=0, help="Its number.")],
    transaction: Annotated[str | None, typer.Option(metavar="ID", help="Only records of this transaction.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of records, rounded up to whole entries.")] = 1_000,
    url: Url = URL,
    json: Json = False,
) -> None:
    """Show the transaction log of a coordinator, decoded, oldest first."""
    with connected(url, json) as client:
        found, first = list[LogRecord](), 0
        while len(found) < limit:
            some = min(limit - len(found), 1_000)
            page = client.coordinators.log(coordinator, transaction=transaction, first=first, limit=some)
            found += page.records
            if page.next is None:
                break
            first = page.next
        if json:
            for record in found:
                document(record)
            return
        heads = ["entry", "record", "kind", "transaction", "status", "participants", "timeout s", "time", "live"]
        table(heads, [_logged(each) for each in found])


@txns.command()
def commit(id: Id, url: Url = URL, json: Json = False) -> None:
    """Commit an open transaction; idempotent."""
    with connected(url, json) as client:
        _ended(client.transactions.commit(id), json)


@txns.command()
def abort(id: Id, url: Url = URL, json: Json = False) -> None:
    """Abort an open transaction; idempotent."""
    with connected(url, json) as client:
        _ended(client.transactions.abort(id), json)


def _ended(txn: TransactionStatus, as_json: bool) -> None:
    if as_json:
        document({"id": txn.id, "status": txn.status})
    else:
        typer.echo(f"{txn.id}: {txn.status}")


def _step(step: TransactionStep) -> tuple[object, ...]:
    where = "" if step.topic is None else f"{step.topic}:{step.partition} {step.subscription or ''}".rstrip()
    return (step.name, where, "unknown" if step.at_ms is None else _time(step.at_ms))


def _partition(found: WrittenPartition) -> tuple[object, ...]:
    if found.gone:
        return (found.topic, found.partition, "deleted", "", "", "", "", "")
    more = "+" if found.cut else ""
    marker = "" if found.marker is None else f"{found.marker} at {found.marker_offset}"
    first, last = ("" if offset is None else offset for offset in (found.first_offset, found.last_offset))
    return (found.topic, found.partition, first, f"{last}{more}", f"{found.records}{more}", f"{found.batches}{more}",
            f"{found.bytes}{more}", marker)  # fmt: skip


def _subscription(found: PendingSubscription) -> tuple[object, ...]:
    more = "+" if found.cut else ""
    if found.group_offset is not None:
        offsets = f"commits offset {found.group_offset}"
    else:
        shown = [f"{r.first}-{r.last}" if r.first < r.last else str(r.first) for r in found.ranges[:RANGES_SHOWN]]
        offsets = ", ".join(shown) + (", ..." if found.cut or len(found.ranges) > RANGES_SHOWN else "")
    return (found.topic, found.partition, found.subscription, f"{found.pending}{more}", offsets)


def _reasons(topic: str, held: HeldPartition) -> list[str]:
    txn = held.transaction
    owner = txn.transactional_id or txn.principal or txn.owner
    age = "" if txn.age_ms is None else f", begun {txn.age_ms / 1000:.1f} s ago"
    whose = f" of {one_line(owner)}" if owner else ""
    waiting = ", ".join(one_line(each.name) for each in held.waiting) or "none"
    return [
        f"{topic}:{held.partition}  {counted(held.held_records, 'record')} from offset {held.stable_offset} on held by "
        f"transaction {txn.id}{whose} ({txn.status}{age})",
        f"    waiting: {waiting}{' and others' if held.waiting_cut else ''}",
        f"    {held.advice}",
    ]


def _logged(record: LogRecord) -> tuple[object, ...]:
    status = " to ".join(each for each in (record.from_status, record.to_status) if each)
    participants = ", ".join(
        f"{p.topic}:{p.partition}{f' {p.subscription}' if p.subscription else ''}" for p in record.participants
    )
    timeout = "" if record.timeout_ms is None else f"{record.timeout_ms / 1000:g}"
    time_ms = "" if record.time_ms is None else _time(record.time_ms)
    return (record.entry, f"{record.index + 1} of {record.size}", record.kind, record.transaction or "", status,
            participants, timeout, time_ms, "yes" if record.live else "no")  # fmt: skip


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(sep=" ", timespec="milliseconds").replace("+00:00", "Z")
