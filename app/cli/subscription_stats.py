"""Prints a subscription: its rules, and its position and backlog on each partition."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from redis_ledger.app.cli.output import counted, document, table
from redis_ledger.client.subscription_models import SubscriptionStats

Topic = Annotated[str, typer.Argument(metavar="TOPIC")]
Name = Annotated[str, typer.Argument(metavar="SUBSCRIPTION")]


def show(found: SubscriptionStats, as_json: bool) -> None:
    if as_json:
        document(found)
        return
    is_bound = "" if found.backlog_is_exact else "at most "
    typer.echo(f"{found.name}  {found.kind}  backlog {is_bound}{found.backlog:,}  scheduled {found.delayed:,}")
    if found.dead_letters is not None:
        after = counted(found.dead_letters.max_deliveries, "delivery")
        typer.echo(f"dead letters: after {after} to {found.dead_letters.topic}")
        if found.dead_letters.retry_topic:
            most = found.dead_letters.max_attempts or "any number of"
            typer.echo(f"retries: {most} attempts in {found.dead_letters.retry_topic}")
        if found.dead_letters.expire_ms:
            typer.echo(f"expiry: dead letters after {found.dead_letters.expire_ms} ms")
    if found.redelivery is not None:
        each = found.redelivery
        typer.echo(f"redelivery: after {each.min_ms} ms, then {each.factor:g} times as long, at most {each.max_ms} ms")
    heads = ["partition", "mark-delete", "read", "end", "leased", "waiting", "pending", "backlog", "redelivered"]
    table(heads, [
        (c.partition, c.mark_delete, c.read, c.end, c.leased, c.waiting, c.pending, c.backlog, c.redelivered)
        for c in found.cursors
    ], is_boxed=False)  # fmt: skip
    if found.consumers:
        typer.echo("")
        table(["consumer", "slots", "unacknowledged", "waiting", "returned", "session ends"], [
            (each.consumer, each.slots, each.unacknowledged, each.waiting, each.returned, _time(each.session_ends_ms))
            for each in found.consumers
        ], is_boxed=False)  # fmt: skip


def _time(ms: int) -> str:
    """0: the consumer was closed."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if ms else "closed"
