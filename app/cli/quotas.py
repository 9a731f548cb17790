"""`redis-ledger quotas`: list, set and remove quotas.  Accesses Redis directly.

redis-ledger quotas set User:ada --bytes-in-per-s 1000000 --requests-per-s 500
redis-ledger quotas set '*' --open-transactions 100
"""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from redis_ledger.app.cli.output import Json, document, group, reporting, table
from redis_ledger.app.cli.redis_access import DataDir, Redis, RedisAccess, Set, principal_of, run
from redis_ledger.app.cli.serve_options import DATA_DIR
from redis_ledger.app.process.command_error import CommandError
from redis_ledger.auth.quota import Quota

quotas = group("List, set and remove the quotas of principals.")

Principal = Annotated[str, typer.Argument(metavar="PRINCIPAL", help="User:ada, or ada; '*': the default.")]
Limit = Annotated[int | None, typer.Option(min=-1, help="Limit on each broker; 0: no limit; -1: use the default.")]
_NAMES = Quota.__struct_fields__


@quotas.command("set")
def set_quota(
    principal: Principal,
    bytes_in_per_s: Limit = None,
    bytes_out_per_s: Limit = None,
    requests_per_s: Limit = None,
    open_transactions: Limit = None,
    data_dir: DataDir = DATA_DIR,
    redis: Redis = None,
    set_: Set = None,
    json: Json = False,
) -> None:
    """Set limits of a principal; limits that are not given stay.

    Limits apply on each broker: with three brokers a principal has three times the quota.
    """

    async def act(desk: RedisAccess) -> Quota:
        quota = await desk.quotas.change(whose, wanted)
        await desk.note("quota.set", whose, **wanted)
        return quota

    given = dict(zip(_NAMES, (bytes_in_per_s, bytes_out_per_s, requests_per_s, open_transactions), strict=True))
    wanted = {name: None if value == -1 else value for name, value in given.items() if value is not None}
    with reporting(json):
        whose = principal_of(principal)
        if not wanted:
            raise CommandError("Give at least one limit, as in --requests-per-s 500.")
        quota = run(act, data_dir, redis, set_)
    if json:
        document({"principal": whose, **msgspec.structs.asdict(quota)})
    else:
        typer.echo(f"Set the quota of {whose}. Running brokers apply it within two seconds.")


@quotas.command("list")
def list_(data_dir: DataDir = DATA_DIR, redis: Redis = None, set_: Set = None, json: Json = False) -> None:
    """List all quotas."""

    async def act(desk: RedisAccess) -> dict[str, Quota]:
        return await desk.quotas.all()

    with reporting(json):
        found = run(act, data_dir, redis, set_)
    if json:
        for principal, quota in found.items():
            document({"principal": principal, **msgspec.structs.asdict(quota)})
    else:
        rows = [(who, *(_cell(getattr(quota, name)) for name in _NAMES)) for who, quota in found.items()]
        table(["principal", "bytes in/s", "bytes out/s", "requests/s", "open transactions"], rows)


@quotas.command()
def remove(
    principal: Principal, data_dir: DataDir = DATA_DIR, redis: Redis = None, set_: Set = None, json: Json = False
) -> None:
    """Remove a quota; the default ('*', or the settings) applies then."""

    async def act(desk: RedisAccess) -> bool:
        was_there = await desk.quotas.remove(whose)
        await desk.note("quota.remove", whose)
        return was_there

    with reporting(json):
        whose = principal_of(principal)
        was_there = run(act, data_dir, redis, set_)
    if json:
        document({"principal": whose, "removed": was_there})
    else:
        typer.echo(f"Removed the quota of {whose}." if was_there else f"{whose} has no quota.")


def _cell(value: int | None) -> str:
    return "" if value is None else str(value)
