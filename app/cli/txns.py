"""`redis-ledger txns`: list, show, commit, abort."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import Annotated

import typer

from redis_ledger.app.cli.output import URL, Json, Url, connected, document, group, reporting, table
from redis_ledger.app.http.times import duration_ms
from redis_ledger.app.process.command_error import CommandError
from redis_ledger.client.models import TransactionStatus

txns = group("List, show, commit and abort transactions.")

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
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 100,
    url: Url = URL,
    json: Json = False,
) -> None:
    """List transactions, oldest first."""
    with reporting(json):
        min_age_ms = duration_ms(min_age, "--min-age", CommandError)
    with connected(url, json) as client:
        found = client.transactions.list(None if status is None else status.value, min_age_ms, limit)
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
    """Show a transaction and its participants."""
    with connected(url, json) as client:
        txn = client.transactions.get(id)
        if json:
            document(txn)
            return
        typer.echo(f"{txn.id}  {txn.status}{'  (timed out)' if txn.timed_out else ''}  timeout {txn.timeout_ms} ms")
        rows = [("partition", p.topic, str(p.partition), "") for p in txn.partitions]
        rows += [("acknowledgement", s.topic, str(s.partition), s.subscription) for s in txn.subscriptions]
        if rows:
            table(["participant", "topic", "partition", "subscription"], rows)


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
