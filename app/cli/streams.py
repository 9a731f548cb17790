"""`redis-ledger import`: copies a Redis stream and its consumer groups to a topic, exactly once."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from redis_ledger.app.cli.output import URL, Url, counted, reporting
from redis_ledger.app.process.command_error import CommandError

WAIT_S = 0.5


def import_(
    stream: Annotated[str, typer.Argument(metavar="STREAM", help="Key of the stream.")],
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="Target topic; created if it does not exist.")],
    redis: Annotated[
        str | None,
        typer.Option(
            metavar="URL", envvar="REDIS_LEDGER_IMPORT_REDIS_URL", show_envvar=True,
            help="Redis with the stream.",
        ),
    ] = None,
    key_field: Annotated[str | None, typer.Option(help="Field with the record key.")] = None,
    value_field: Annotated[
        str | None, typer.Option(help="Field with the value; default: all fields as JSON.")
    ] = None,
    groups: Annotated[bool, typer.Option(help="Create a subscription for each group, at its position.")] = True,
    follow: Annotated[bool, typer.Option("--follow", help="Continue with new entries.")] = False,
    url: Url = URL,
) -> None:  # fmt: skip
    """Copy a Redis stream and its consumer groups, exactly once.

    An interrupted import continues where it stopped, without duplicates. Put a Redis password into the environment.
    """
    with reporting(False, url):
        if not redis:
            raise CommandError(
                "Give the Redis of the stream: --redis redis://HOST:PORT, or REDIS_LEDGER_IMPORT_REDIS_URL."
            )
        asyncio.run(_import(stream, topic, redis, key_field, value_field, groups, follow, url))


async def _import(
    name: str, topic: str, redis: str, key: str | None, value: str | None, groups: bool, follow: bool, url: str
) -> None:
    from redis_ledger.app.cli import token
    from redis_ledger.app.process import redis_url
    from redis_ledger.app.tools.stream_import import NEVER, Shape, Stream, carry, carry_groups, missing_field
    from redis_ledger.client import AsyncClient
    from redis_ledger.errors import UnknownTopic

    store = await redis_url.opened(redis, prefix="rl", timeout_ms=10_000, retry_ms=2_000)
    shape, total = Shape(name, key, value), 0
    try:
        async with AsyncClient(url.split(","), token_file=token.file()) as client:
            stream = Stream(store, name)
            if not await stream.exists():
                raise CommandError(f"{name!r} is not a stream in that Redis; check the key.")
            lacking = missing_field(await stream.after(NEVER), shape)
            if lacking is not None:
                raise CommandError(f"The entries of {name!r} have no field {lacking!r}.")
            try:
                await client.topics.describe(topic)
            except UnknownTopic:
                await client.topics.create(topic)
            while True:
                try:
                    async for count in carry(client, stream, topic, shape):
                        total += count
                        typer.echo(f"{total:,} of {counted(await stream.length(), 'entry')}", err=True)
                except KeyError as error:
                    raise CommandError(
                        f"An entry has no field {error.args[0].decode()!r}; those before it are imported."
                    ) from None
                if groups:
                    found, groups = await stream.groups(), False  # only once
                    await carry_groups(client, topic, name, found)
                    for group in found:
                        typer.echo(f"group {group}: a subscription of that name", err=True)
                if not follow:
                    break
                await asyncio.sleep(WAIT_S)
    finally:
        await store.close()
    typer.echo(f"imported {counted(total, 'entry')} of {name} into {topic}")
