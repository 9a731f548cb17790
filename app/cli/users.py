"""`redis-ledger users`: add, list and remove SCRAM users.

Accesses Redis directly.  Passwords are read from a prompt or from the first line of stdin: other users of the machine
can see arguments.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from redis_ledger.app.cli.output import Json, document, group, reporting, table
from redis_ledger.app.cli.redis_access import DataDir, Redis, RedisAccess, Set, run
from redis_ledger.app.cli.serve_options import DATA_DIR

users = group("Add, list and remove SCRAM users.")

Name = Annotated[str, typer.Argument(metavar="NAME")]


@users.command()
def add(name: Name, data_dir: DataDir = DATA_DIR, redis: Redis = None, set_: Set = None, json: Json = False) -> None:
    """Add a user or change the password."""
    with reporting(json):
        password = _password(name)

        async def act(desk: RedisAccess) -> bool:
            is_new = await desk.users.add(name, password)
            await desk.note("user.add", name, new=is_new)
            return is_new

        is_new = run(act, data_dir, redis, set_)
    if json:
        document({"user": name, "new": is_new})
    else:
        typer.echo(f"Added user {name}." if is_new else f"Changed the password of {name}.")


@users.command("list")
def list_(data_dir: DataDir = DATA_DIR, redis: Redis = None, set_: Set = None, json: Json = False) -> None:
    """List all users."""
    with reporting(json):
        found = run(lambda desk: desk.users.all(), data_dir, redis, set_)
    if json:
        for name, verifiers in found.items():
            document({"user": name, "mechanisms": sorted(verifiers)})
    else:
        table(["user", "mechanisms"], [(name, ", ".join(sorted(verifiers))) for name, verifiers in found.items()])


@users.command()
def remove(name: Name, data_dir: DataDir = DATA_DIR, redis: Redis = None, set_: Set = None, json: Json = False) -> None:
    """Remove a user; brokers close its connections."""

    async def act(desk: RedisAccess) -> None:
        await desk.users.remove(name)
        await desk.note("user.remove", name)

    with reporting(json):
        run(act, data_dir, redis, set_)
    if json:
        document({"removed": name})
    else:
        typer.echo(f"Removed user {name}.")


def _password(name: str) -> str:
    if sys.stdin.isatty():
        return str(typer.prompt(f"Password of {name}", hide_input=True, confirmation_prompt=True, err=True))
    return sys.stdin.readline().rstrip("\r\n")
