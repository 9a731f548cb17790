"""`redis-ledger tokens`: create, list and revoke API tokens.  Accesses Redis directly, so it can create the first
one."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Annotated

import typer

from redis_ledger.app.cli.output import Json, document, group, reporting, table
from redis_ledger.app.cli.redis_access import DataDir, Redis, RedisAccess, Set, principal_of, run
from redis_ledger.app.cli.serve_options import DATA_DIR
from redis_ledger.app.http.times import duration_ms
from redis_ledger.app.process.command_error import CommandError
from redis_ledger.auth.acl import everything
from redis_ledger.auth.tokens import Stored

tokens = group("Create, list and revoke API tokens.")

Principal = Annotated[str, typer.Argument(metavar="PRINCIPAL", help="User:ada, or ada.")]


@tokens.command()
def create(
    principal: Principal,
    super_: Annotated[bool, typer.Option("--super", help="Add ACLs that allow the principal everything.")] = False,
    expires_after: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="Lifetime: 90d, P90D, or ms; default: until revoked."),
    ] = None,
    note: Annotated[str, typer.Option(help="Purpose of the token.")] = "",
    data_dir: DataDir = DATA_DIR,
    redis: Redis = None,
    set_: Set = None,
    json: Json = False,
) -> None:
    """Create a token and print it once; only its SHA-256 is stored."""

    async def act(desk: RedisAccess) -> tuple[str, str]:
        id, text = await desk.security.create_token(whose, expires_ms=expires_ms, note=note)
        if super_:
            await desk.security.add_rules(everything(whose))
        await desk.note("token.create", whose, id=id, expires_ms=expires_ms, super=super_)
        return id, text

    with reporting(json):
        whose = principal_of(principal)
        after_ms = 0 if expires_after is None else duration_ms(expires_after, "--expires-after", CommandError)
        expires_ms = 0 if expires_after is None else time.time_ns() // 1_000_000 + after_ms
        id, text = run(act, data_dir, redis, set_)
    if json:
        document({"id": id, "principal": whose, "expires_ms": expires_ms, "note": note, "token": text})
    else:
        typer.echo(text)  # alone on stdout, so that it can go into a file
        typer.echo(f"Token of {whose}. Store it: it cannot be shown again.", err=True)


@tokens.command("list")
def list_(data_dir: DataDir = DATA_DIR, redis: Redis = None, set_: Set = None, json: Json = False) -> None:
    """List all tokens, without their secrets."""
    with reporting(json):
        found = run(lambda desk: desk.security.list_tokens(), data_dir, redis, set_)
    if json:
        for id, row in found.items():
            document(_to_json(id, row))
    else:
        rows = [
            (id, row.principal, _time(row.created_ms), _time(row.expires_ms), row.note) for id, row in found.items()
        ]
        table(["id", "principal", "created", "expires", "note"], rows)


@tokens.command()
def revoke(
    id: Annotated[str, typer.Argument(metavar="ID", help="Id from `tokens list`.")],
    data_dir: DataDir = DATA_DIR,
    redis: Redis = None,
    set_: Set = None,
    json: Json = False,
) -> None:
    """Revoke a token; brokers reject it within two seconds."""

    async def act(desk: RedisAccess) -> Stored:
        row = await desk.security.revoke_token(id)
        await desk.note("token.revoke", id, principal=row.principal)
        return row

    with reporting(json):
        row = run(act, data_dir, redis, set_)
    if json:
        document({"revoked": id, "principal": row.principal})
    else:
        typer.echo(f"Revoked {id} of {row.principal}.")


def _to_json(id: str, row: Stored) -> dict[str, object]:
    return {
        "id": id, "principal": row.principal, "created_ms": row.created_ms, "expires_ms": row.expires_ms,
        "note": row.note,
    }  # fmt: skip


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%SZ") if ms else "never"
