"""`redis-ledger import`: a plain Redis stream into a topic, each entry once, with its groups."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from redis_ledger.app.cli.output import URL, Url, counted, reporting
from redis_ledger.app.process.startup_error import Refusal

WAIT_S = 0.5


def import_(
    stream: Annotated[str, typer.Argument(metavar="STREAM", help="The key of the stream.")],
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="Where its entries go; made if it is not there.")],
    redis: Annotated[
        str | None,
        typer.Option(
            metavar="URL", envvar="REDIS_LEDGER_IMPORT_REDIS_URL", show_envvar=True,
            help="The Redis that has the stream.",
        ),
    ] = None,
    key_field: Annotated[str | None, typer.Option(help="The field that is the record's key.")] = None,
    value_field: Annotated[
        str | None, typer.Option(help="The field that is the value, as it is; without it all fields as JSON.")
    ] = None,
    groups: Annotated[bool, typer.Option(help="Make a subscription for each group, where that stands.")] = True,
    follow: Annotated[bool, typer.Option("--follow", help="Go on with what is added to the stream.")] = False,
    url: Url = URL,
) -> None:  # fmt: skip
    """Carry a plain Redis stream and its groups over, exactly once.

    Killed and run again it goes on; nothing is doubled. A password of Redis belongs into the environment.
    """
    with reporting(False, url):
        if not redis:
            raise Refusal("Say where the stream is: --redis redis://HOST:PORT, or REDIS_LEDGER_IMPORT_REDIS_URL.")
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
                raise Refusal(f"{name!r} is no stream of that Redis; check its key.")
            lacking = missing_field(await stream.after(NEVER), shape)
            if lacking is not None:
                raise Refusal(f"The entries of {name!r} have no field {lacking!r}.")
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
                    raise Refusal(
                        f"An entry has no field {error.args[0].decode()!r}; those before it are imported."
                    ) from None
                if groups:
                    found, groups = await stream.groups(), False  # once: from here on they are the topic's
                    await carry_groups(client, topic, name, found)
                    for group in found:
                        typer.echo(f"group {group}: a subscription of that name", err=True)
                if not follow:
                    break
                await asyncio.sleep(WAIT_S)
    finally:
        await store.close()
    typer.echo(f"imported {counted(total, 'entry')} of {name} into {topic}")
