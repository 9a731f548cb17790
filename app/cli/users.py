"""`redis-ledger users`: add, list and remove the users of Kafka clients (brokers with auth_required).

Talks to Redis itself, so it works before the first broker runs and needs no right at one.  Passwords come from a prompt
or, where nobody can be asked, from the first line of stdin: an argument could be read by everybody on the machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from app.cli.output import Json, document, reporting, table
from app.refusal import Refusal
from redis_ledger import log

if TYPE_CHECKING:
    from app.embedded import Embedded
    from redis_ledger.broker.users import Users

users = typer.Typer(no_args_is_help=True, help="Add, list and remove users of Kafka clients.")

Name = Annotated[str, typer.Argument(metavar="NAME")]
DataDir = Annotated[
    Path, typer.Option(envvar="REDIS_LEDGER_DATA_DIR", help="Whose embedded server to use; started if it does not run.")
]
Redis = Annotated[
    str | None, typer.Option(metavar="URL", envvar="REDIS_LEDGER_REDIS_URL", help="The Redis that serve is given.")
]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting that serve is given, such as prefix.")
]
DATA_DIR = Path("redis-ledger-data")
T = TypeVar("T")


@users.command()
def add(name: Name, data_dir: DataDir = DATA_DIR, redis: Redis = None, set_: Set = None, json: Json = False) -> None:
    """Add a user, or give one another password."""
    with reporting(json):
        password = _password(name)
        is_new = _run(lambda found: found.add(name, password), data_dir, redis, set_)
    if json:
        document({"user": name, "new": is_new})
    else:
        typer.echo(f"Added {name}." if is_new else f"Changed the password of {name}.")


@users.command("list")
def list_(data_dir: DataDir = DATA_DIR, redis: Redis = None, set_: Set = None, json: Json = False) -> None:
    """List all users."""
    with reporting(json):
        found = _run(lambda each: each.all(), data_dir, redis, set_)
    if json:
        for name, verifiers in found.items():
            document({"user": name, "mechanisms": sorted(verifiers)})
    else:
        table(["user", "mechanisms"], [(name, ", ".join(sorted(verifiers))) for name, verifiers in found.items()])


@users.command()
def remove(name: Name, data_dir: DataDir = DATA_DIR, redis: Redis = None, set_: Set = None, json: Json = False) -> None:
    """Remove a user; connections it has stay open."""
    with reporting(json):
        _run(lambda found: found.remove(name), data_dir, redis, set_)
    if json:
        document({"removed": name})
    else:
        typer.echo(f"Removed {name}.")


def _password(name: str) -> str:
    if sys.stdin.isatty():
        return str(typer.prompt(f"Password of {name}", hide_input=True, confirmation_prompt=True, err=True))
    return sys.stdin.readline().rstrip("\r\n")


def _run(act: Callable[[Users], Awaitable[T]], data_dir: Path, redis: str | None, settings: list[str] | None) -> T:
    log.configure("error")

    async def work() -> T:
        async with _users(data_dir, redis, settings or []) as found:
            return await act(found)

    return asyncio.run(work())


@contextlib.asynccontextmanager
async def _users(data_dir: Path, redis: str | None, settings: list[str]) -> AsyncIterator[Users]:
    """Raises Refusal, StoreUnavailable."""
    from app import redis_url
    from app import settings as environment
    from app.cli.serve import overrides
    from redis_ledger.broker.users import Users
    from redis_ledger.store.store import Store

    async with contextlib.AsyncExitStack() as stack:
        try:
            config = environment.config_from(os.environ, overrides(settings))
        except environment.BadSetting as error:
            raise Refusal(str(error)) from error
        url = redis_url.given(redis, os.environ)
        if url is None:
            held = await asyncio.to_thread(_attach, data_dir)
            stack.push_async_callback(asyncio.to_thread, held.release)
            url = held.url
        try:
            store = await Store.open(url, prefix=config.prefix, timeout_ms=config.redis_timeout_ms, retry_ms=1_000)
        except ValueError as error:
            raise Refusal(f"--redis cannot be used: {error}") from error
        stack.push_async_callback(store.close)
        yield Users(store)


def _attach(data_dir: Path) -> Embedded:
    """As the directory's server is set up already, if it is: this must not change what its brokers promise."""
    from app.embedded import Embedded, configured_durability

    place = data_dir.expanduser()
    return Embedded.attach(place, configured_durability(place) if (place / "redis.conf").exists() else "disk")
