"""`redis-ledger subscriptions`: dead-letters, redelivery, put-back."""

from __future__ import annotations

from typing import Annotated, Literal, cast

import typer

from redis_ledger.app.cli.output import URL, Json, Url, connected, counted, document, moment, reporting
from redis_ledger.app.cli.subscription_stats import Name, Topic, show


def dead_letters(
    topic: Topic,
    name: Name,
    max_deliveries: Annotated[int, typer.Option(min=0, help="Deliveries before a message is moved; 0: never.")],
    to: Annotated[str | None, typer.Option(metavar="TOPIC", help="The dead-letter topic.")] = None,
    retry_topic: Annotated[
        str | None, typer.Option(metavar="TOPIC", help="Where messages wait that are reconsumed later.")
    ] = None,
    max_attempts: Annotated[int, typer.Option(min=0, help="In the retry topic; 0: without a limit.")] = 0,
    expire_ms: Annotated[int, typer.Option("--expire-ms", min=0, help="Age of a message that is moved; 0: never.")] = 0,
    url: Url = URL,
    json: Json = False,
) -> None:
    """Set or remove the dead-letter rule."""
    with connected(url, json) as client:
        found = client.subscriptions.set_dead_letters(
            topic, name, max_deliveries, to, retry_topic=retry_topic, max_attempts=max_attempts, expire_ms=expire_ms
        )
        show(found, json)


def redelivery(
    topic: Topic,
    name: Name,
    min_ms: Annotated[int, typer.Option("--min-ms", min=0, help="Wait before the first redelivery; 0: none.")],
    factor: Annotated[float, typer.Option(min=1, help="Each further wait is so many times as long.")] = 2.0,
    max_ms: Annotated[
        int | None, typer.Option("--max-ms", min=1, help="Longest wait; by default 64 times the first.")
    ] = None,
    url: Url = URL,
    json: Json = False,
) -> None:
    """Set or remove the back-off between deliveries of a message."""
    with connected(url, json) as client:
        show(client.subscriptions.set_redelivery(topic, name, min_ms, factor, max_ms), json)


def put_back(
    topic: Topic,
    name: Name,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of messages.")] = 100,
    reason: Annotated[
        str | None, typer.Option(metavar="REASON", help="max_deliveries, max_attempts, expired or explicit.")
    ] = None,
    origin: Annotated[str | None, typer.Option(metavar="TOPIC", help="Only those of this topic.")] = None,
    since: Annotated[str | None, typer.Option(metavar="TIME", help="Dead since; ISO 8601, or ms since 1970.")] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Dead before this time.")] = None,
    url: Url = URL,
    json: Json = False,
) -> None:
    """Return dead letters to their original topics."""
    with reporting(json):
        from_ms, until_ms = moment(since, "--since"), moment(until, "--until")
    with connected(url, json) as client:
        why = cast("Literal['max_deliveries', 'max_attempts', 'expired', 'explicit'] | None", reason)
        done = client.subscriptions.put_back(
            topic, name, limit, reason=why, origin_topic=origin, from_ms=from_ms, until_ms=until_ms
        )
        if json:
            document({"put_back": done})
        else:
            typer.echo(f"Put back {counted(done, 'dead letter')}.")
