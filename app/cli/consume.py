"""`redis-ledger consume`: prints records, with acknowledgements (--subscription) or without.

text  the value; bytes that are not UTF-8 are escaped      raw  the bytes of the value
json  one object per line, the input of produce --json-lines
"""

from __future__ import annotations

import sys
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import typer

from redis_ledger.app.cli.output import URL, Json, Url, connected, reporting
from redis_ledger.app.process.command_error import CommandError
from redis_ledger.client.bodies import headers_body
from redis_ledger.client.models import Message

if TYPE_CHECKING:
    from redis_ledger import Client

IDLE_MS = 1_000  # without --follow: stop if nothing is received for this time
POLL_MS = 500
ACK_RECORDS = 500


def consume(
    topic: Annotated[str, typer.Argument(metavar="TOPIC")],
    subscription: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Receive from this subscription and acknowledge the printed messages."),
    ] = None,
    kind: Annotated[
        Literal["shared", "key_shared", "exclusive", "failover"] | None,
        typer.Option(help="Kind of a new subscription; default: shared."),
    ] = None,
    partition: Annotated[int | None, typer.Option(min=0, help="Read only this partition.")] = None,
    offset: Annotated[str, typer.Option(help="earliest, latest, or a number; without --subscription.")] = "earliest",
    max_: Annotated[int | None, typer.Option("--max", min=1, metavar="N", help="Stop after N records.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Wait for new records until interrupted.")] = False,
    format_: Annotated[
        Literal["text", "json", "raw"], typer.Option("--format", help="Output format; --json implies json.")
    ] = "text",
    key_separator: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Print the key and this separator before the value (text format)."),
    ] = None,
    isolation: Annotated[
        Literal["read_committed", "read_uncommitted"], typer.Option(help="Isolation level; without --subscription.")
    ] = "read_committed",
    large_to: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", file_okay=False, help="Write values of large messages to files in this folder."),
    ] = None,
    url: Url = URL,
    json: Json = False,
) -> None:
    """Print the records of a topic.

    redis-ledger consume orders --subscription billing --follow
    """
    form = "json" if json else format_
    with reporting(json):
        if subscription is not None and (
            partition is not None or offset != "earliest" or isolation != "read_committed"
        ):
            raise CommandError(
                "--partition, --offset and --isolation cannot be combined with --subscription: it has a position."
            )
        if subscription is None and kind is not None:
            raise CommandError("--kind requires --subscription.")
        if key_separator is not None and form != "text":
            raise CommandError(f"--key-separator requires the text format, not {form}.")
        if offset not in ("earliest", "latest") and not offset.isdigit():
            raise CommandError(f"{offset!r} is not an offset; use earliest, latest or a number.")
        if offset.isdigit() and partition is None:
            raise CommandError("A numeric --offset requires --partition.")
        if large_to is not None and not large_to.is_dir():
            raise CommandError(f"The folder {str(large_to)!r} does not exist; create it.")
    with connected(url, json) as client:
        show = _printer(form, key_separator)
        if large_to is not None:
            show = _saving(client, large_to, show)
        if subscription is not None:
            _receive(client, topic, subscription, kind or "shared", max_, follow, show)
            return
        start: Any = int(offset) if offset.isdigit() else offset
        wanted = [partition] if partition is not None else range(client.topics.describe(topic).partitions)
        for message in islice(_read(client, topic, wanted, start, isolation, follow), max_):
            show(message)
            if follow:
                sys.stdout.buffer.flush()
        sys.stdout.buffer.flush()


def _receive(
    client: Client,
    topic: str,
    subscription: str,
    kind: Literal["shared", "key_shared", "exclusive", "failover"],
    max_: int | None,
    follow: bool,
    show: Callable[[Message], None],
) -> None:
    """Acknowledges after printing: a message that could not be printed is redelivered."""
    left = sys.maxsize if max_ is None else max_
    with client.consumer(topic, subscription, kind=kind, prefetch=min(ACK_RECORDS, left)) as consumer:
        while left > 0:
            messages = consumer.receive(min(ACK_RECORDS, left), wait_ms=IDLE_MS)
            if not messages and not follow:
                return
            for message in messages:
                show(message)
            sys.stdout.buffer.flush()
            if messages:
                consumer.ack(messages)
            left -= len(messages)


def _read(
    client: Client,
    topic: str,
    partitions: Any,
    start: Any,
    isolation: Literal["read_committed", "read_uncommitted"],
    follow: bool,
) -> Iterator[Message]:
    """Reads one partition after the other; with follow in turns, waiting only after an empty round."""
    following: dict[int, Any] = dict.fromkeys(partitions, start)
    if follow and start == "latest":
        states = {state.partition: state for state in client.topics.describe(topic).partition_states}
        for number in following:
            following[number] = states[number].stable_offset if number in states else start
    is_idle = False
    while True:
        was_idle, is_idle = is_idle, True
        wait_ms = POLL_MS // len(following) if follow and was_idle else 0
        for number, position in list(following.items()):
            for message in client.read(topic, number, position, isolation=isolation, wait_ms=wait_ms):
                following[number] = message.offset + 1
                is_idle = False
                yield message
        if not follow:
            return


def _saving(client: Client, folder: Path, show: Callable[[Message], None]) -> Callable[[Message], None]:
    """Writes the value of a large message to TOPIC-PARTITION-OFFSET before the message is shown.  A file that is not
    complete has the suffix .part."""

    def save(message: Message) -> None:
        if message.large_size is not None:
            path = folder / f"{message.topic}-{message.partition}-{message.offset}"
            part = path.with_name(path.name + ".part")
            with client.open_large(message) as value, part.open("wb") as file:
                for piece in value:
                    file.write(piece)
            part.replace(path)
        show(message)

    return save


def _printer(form: str, key_separator: str | None) -> Callable[[Message], None]:
    out = sys.stdout.buffer
    if form == "json":
        return lambda message: (out.write(msgspec.json.encode(to_json(message)) + b"\n"), None)[1]
    if form == "raw":
        return lambda message: (out.write((message.value or b"") + b"\n"), None)[1]

    def text(message: Message) -> None:
        line = readable(message.value)
        if key_separator is not None:
            line = readable(message.key) + key_separator + line
        out.write(line.encode() + b"\n")

    return text


def readable(held: bytes | None) -> str:
    return (held or b"").decode("utf-8", "backslashreplace")


def to_json(message: Message) -> dict[str, Any]:
    """A record as JSON: `value` if its bytes are JSON, else `text`, else `base64`; null for a tombstone."""
    record: dict[str, Any] = {
        "topic": message.topic,
        "partition": message.partition,
        "offset": message.offset,
        "timestamp_ms": message.timestamp_ms,
    }
    if message.redelivery_count:
        record["redelivery_count"] = message.redelivery_count
    return {**record, **to_members(message.key, message.value, message.all_headers)}


def to_members(key: bytes | None, value: bytes | None, headers: Sequence[tuple[str, bytes | None]]) -> dict[str, Any]:
    """Key, value and headers, as the REST interface shows them."""
    record: dict[str, Any] = {} if key is None else dict(_named("key", "key_base64", key))
    record.update({"value": None} if value is None else _value(value))
    if len(dict(headers)) != len(headers):
        return {**record, "headers_base64": headers_body(headers)}
    for name, held in headers:
        if held is not None and (text := _named("headers", "headers_base64", held).get("headers")) is not None:
            record.setdefault("headers", {})[name] = text
        else:
            record.setdefault("headers_base64", {})[name] = None if held is None else b64encode(held).decode()
    return record


def _value(held: bytes) -> dict[str, Any]:
    try:
        msgspec.json.decode(held)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _named("text", "base64", held)
    # A line break within the JSON would break the line; spaces around it would be lost.
    if held == b"null" or b"\n" in held or held.strip() != held:
        return _named("text", "base64", held)
    return {"value": msgspec.Raw(held)}


def _named(text_name: str, base64_name: str, held: bytes) -> dict[str, str]:
    try:
        return {text_name: held.decode()}
    except UnicodeDecodeError:
        return {base64_name: b64encode(held).decode()}
