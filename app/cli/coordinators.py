"""`redis-ledger coordinators`: list, show, raise."""

from __future__ import annotations

from typing import Annotated

import typer

from redis_ledger.app.cli.output import URL, Json, Url, connected, document, group, table
from redis_ledger.client.transaction_models import Coordinator

coordinators = group("List, show and add transaction coordinators.")


@coordinators.command("list")
def list_(url: Url = URL, json: Json = False) -> None:
    """List all coordinators with their open transactions."""
    with connected(url, json) as client:
        found = client.coordinators.list()
        if json:
            for each in found:
                document(each)
            return
        heads = ["coordinator", "open", "oldest s", "committed", "aborted", "timed out", "log entries", "takeovers"]
        table(
            heads,
            [
                (c.number, c.open, _seconds(c), c.committed, c.aborted, c.timed_out, c.log.entries, c.takeovers)
                for c in found
            ],
        )


@coordinators.command()
def show(
    number: Annotated[int, typer.Argument(metavar="COORDINATOR", min=0, help="Its number.")],
    url: Url = URL,
    json: Json = False,
) -> None:
    """Show the statistics of a coordinator."""
    with connected(url, json) as client:
        found = client.coordinators.get(number)
        if json:
            document(found)
            return
        log = found.log
        rows: list[tuple[str, object]] = [
            ("owner", "none: every broker serves it"),
            ("last serial", found.last_serial),
            ("low watermark", found.low_watermark),
            ("open transactions", found.open),
            ("oldest, seconds", _seconds(found)),
            ("created", found.created),
            ("committed", found.committed),
            ("aborted", found.aborted),
            ("of these timed out", found.timed_out),
            ("takeovers", found.takeovers),
            ("log", log.key),
            ("log entries", log.entries),
            ("first entry", "" if log.first_entry is None else log.first_entry),
            ("last entry", "" if log.last_entry is None else log.last_entry),
            ("log bytes", "unknown" if log.bytes is None else log.bytes),
        ]
        table(["coordinator", str(number)], rows)


@coordinators.command("raise")
def raise_(
    count: Annotated[int, typer.Argument(min=1, max=32_768, help="New number of coordinators; it is never lowered.")],
    url: Url = URL,
    json: Json = False,
) -> None:
    """Raise the number of coordinators; brokers use them within a second."""
    with connected(url, json) as client:
        now = client.coordinators.raise_count(count)
        if json:
            document({"count": now})
        else:
            typer.echo(f"There are {now} coordinators.")


def _seconds(found: Coordinator) -> str:
    return "" if found.oldest_age_ms is None else f"{found.oldest_age_ms / 1000:.1f}"
