"""`redis-ledger batching`: list, set, check.

redis-ledger batching set transaction_log --disabled
redis-ledger batching check --redis redis://127.0.0.1:6379
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from redis_ledger.app.cli.output import URL, Json, Url, connected, counted, document, group, reporting, table
from redis_ledger.app.cli.redis_access import DataDir, Redis, Set, opened_store
from redis_ledger.app.cli.serve_options import DATA_DIR
from redis_ledger.app.process.command_error import CommandError
from redis_ledger.client.models import BatchedWrite

if TYPE_CHECKING:
    from redis_ledger.txn.log import BatchedEntries

batched_writes = group("List, set and check the batching of transactions.")

NOT_SAFE = 1  # the exit code
THRESHOLDS = ("enabled", "max_records", "max_size", "max_delay_ms")


class Log(StrEnum):
    transaction_log = "transaction_log"
    pending_acks = "pending_acks"


@batched_writes.command("list")
def list_(url: Url = URL, json: Json = False) -> None:
    """List the thresholds in force."""
    with connected(url, json) as client:
        found = client.batched_writes.list()
        if json:
            for each in found:
                document(each)
            return
        rows = [
            (
                each.log,
                "yes" if each.batched else "no",
                each.max_records,
                each.max_size,
                each.max_delay_ms,
                _unlike(each),
            )
            for each in found
        ]
        table(["log", "batched", "max records", "max size", "max delay ms", "coordinators that differ"], rows)


@batched_writes.command("set")
def set_(
    log: Annotated[Log, typer.Argument(metavar="LOG", help="transaction_log or pending_acks.")],
    enabled: Annotated[
        bool | None, typer.Option("--enabled/--disabled", help="Whether operations share writes.", show_default=False)
    ] = None,
    max_records: Annotated[int | None, typer.Option(min=1, help="Maximum of one write; 1: off.")] = None,
    max_size: Annotated[int | None, typer.Option(min=1, metavar="BYTES", help="Maximum size of one write.")] = None,
    max_delay_ms: Annotated[
        int | None, typer.Option(min=0, help="How long an operation without a waiting caller waits for others.")
    ] = None,
    reset: Annotated[bool, typer.Option("--reset", help="Return to the settings of the brokers.")] = False,
    url: Url = URL,
    json: Json = False,
) -> None:
    """Set thresholds of a log on all brokers.

    Thresholds that are not given stay.
    """
    given = dict(zip(THRESHOLDS, (enabled, max_records, max_size, max_delay_ms), strict=True))
    wanted: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    with reporting(json):
        if bool(wanted) == reset:
            raise CommandError("Give either thresholds, as in --disabled or --max-records 128, or --reset.")
    with connected(url, json) as client:
        batched = client.batched_writes.set(log.value, **(dict.fromkeys(THRESHOLDS) if reset else wanted))
        if json:
            document(batched)
        else:
            state = "batched" if batched.batched else "not batched"
            typer.echo(f"{batched.log}: {state}. All running brokers follow within a second.")


@batched_writes.command()
def check(data_dir: DataDir = DATA_DIR, redis: Redis = None, set_: Set = None, json: Json = False) -> None:
    """Check whether batched entries are left, before a downgrade.

    A release that cannot read them may serve if batching of the transaction log is disabled and no batched entry is
    left. Then the exit code is 0, else 1. Accesses Redis directly.
    """
    import asyncio

    from redis_ledger.telemetry import logs

    logs.configure("error")
    with reporting(json):
        is_batched, found = asyncio.run(_left(data_dir, redis, set_ or []))
    left = sum(each.batched for each in found)
    if json:
        coordinators = [{"coordinator": n, **each._asdict()} for n, each in enumerate(found)]
        document({"safe": not is_batched and not left, "batched": is_batched, "coordinators": coordinators})
    elif left:
        rows = [(n, each.entries, each.batched, each.last) for n, each in enumerate(found) if each.batched]
        table(["coordinator", "entries", "batched", "last batched"], rows)
    if not json:
        typer.echo(_sentence(is_batched, left))
    if is_batched or left:
        raise typer.Exit(NOT_SAFE)


def _sentence(is_batched: bool, left: int) -> str:
    if is_batched:
        return (
            "Not safe: batching of the transaction log is enabled. Disable it with "
            "`redis-ledger batching set transaction_log --disabled`."
        )
    if left:
        return f"Not safe: {counted(left, 'batched entry')} left. They are deleted when their transactions have ended."
    return "Safe: no batched entry is left in the transaction log."


async def _left(data_dir: Path, redis: str | None, settings: list[str]) -> tuple[bool, list[BatchedEntries]]:
    """Whether the log is batched, and the entries of each coordinator."""
    from redis_ledger.broker.transactions.batched_writes import BatchedWrites
    from redis_ledger.store.keys import CatalogKeys, CoordinatorKeys
    from redis_ledger.txn.log import batched_entries

    async with opened_store(data_dir, redis, settings) as (store, config):
        in_force = await BatchedWrites(store, config).all()
        state = CatalogKeys(store.prefix).state
        count = int(await store.command("HGET", state, "coordinators", key=state) or 0)
        keys = [CoordinatorKeys(store.prefix, number) for number in range(count)]
        return in_force["transaction_log"].is_batched, [await batched_entries(store, each) for each in keys]


def _unlike(batched: BatchedWrite) -> str:
    """The coordinators whose state is not that of the log."""
    return " ".join(number for number, is_batched in batched.coordinators.items() if is_batched != batched.batched)
