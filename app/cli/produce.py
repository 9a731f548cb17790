"""`redis-ledger produce`: lines of text to records, optionally in transactions.

plain            the line is the value
--key-separator  key, separator, value
--json-lines     {"key", "value" | "text" | "base64", "headers", "timestamp_ms", "deliver_at" | "deliver_after"};
                 accepts the output of consume --format json, other members are ignored
--large          the file is the value of one large message
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, BinaryIO, Literal

import msgspec
import typer

from redis_ledger.app.cli.output import (
    URL,
    DeliverAfter,
    DeliverAt,
    Json,
    Url,
    connected,
    counted,
    document,
    reporting,
    timed,
)
from redis_ledger.app.http.times import delivery
from redis_ledger.app.process.command_error import CommandError
from redis_ledger.client.bodies import RecordBody, message_of
from redis_ledger.client.models import Record
from redis_ledger.errors import InvalidDelay, InvalidRequest, UnexpectedAnswer

if TYPE_CHECKING:
    from redis_ledger import Client

TIMEOUT_MS = 30_000
LINES_A_STEP = 500  # between two updates of the progress bar
Topic = Annotated[str, typer.Argument(metavar="TOPIC")]


class Line(RecordBody, kw_only=True):
    """A JSON line.  offset: only in the output of consume."""

    offset: int = -1
    deliver_at: int | str | None = None
    deliver_after: int | str | None = None


def produce(
    topic: Topic,
    file: Annotated[Path | None, typer.Option(help="Input file instead of stdin.", dir_okay=False)] = None,
    key_separator: Annotated[str | None, typer.Option(metavar="TEXT", help="Separator between key and value.")] = None,
    key: Annotated[str | None, typer.Option(metavar="TEXT", help="Key of all records.")] = None,
    json_lines: Annotated[bool, typer.Option("--json-lines", help="Each line is a record as JSON.")] = False,
    transaction: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Commit a transaction after every N records.")
    ] = None,
    large: Annotated[
        bool, typer.Option("--large", help="The file is the value of one large message; requires --file.")
    ] = False,
    partition: Annotated[int | None, typer.Option(min=0, help="Partition of all records, regardless of keys.")] = None,
    deliver_at: DeliverAt = None,
    deliver_after: DeliverAfter = None,
    compression: Annotated[Literal["none", "gzip", "snappy", "lz4", "zstd"], typer.Option()] = "none",
    url: Url = URL,
    json: Json = False,
) -> None:
    """Produce lines of text as records.

    seq 1000 | redis-ledger produce numbers --transaction 100
    """
    with reporting(json):
        if json_lines and key_separator is not None:
            raise CommandError("--json-lines and --key-separator cannot be combined: JSON lines contain their keys.")
        if key is not None and (json_lines or key_separator is not None):
            raise CommandError(
                "--key cannot be combined with --json-lines or --key-separator, which give each line its own key."
            )
        if file is not None and not file.is_file():
            raise CommandError(f"The file {str(file)!r} does not exist. Omit --file to read stdin.")
        times = timed(deliver_at, deliver_after)
        if large and (file is None or json_lines or key_separator is not None or transaction is not None):
            raise CommandError("--large requires --file, and allows only --key and --partition beside it.")
        if large and (times != (None, None) or compression != "none"):
            raise CommandError("--large requires --file, and allows only --key and --partition beside it.")
    if large and file is not None:
        with connected(url, json, TIMEOUT_MS) as client:
            _write_large(client, topic, file, key, partition, json)
        return
    parse = _json_record if json_lines else _keyed(key_separator) if key_separator else partial(Record, key=key)
    began_s = monotonic()
    with connected(url, json, TIMEOUT_MS) as client:
        write = _Writer(client, topic, partition, transaction, compression, times)
        try:
            with _opened(file) as lines, _progress(file, json) as moved:
                _write_lines(lines, parse, write, moved)
                write.finish()
        finally:  # after the progress bar has been removed
            _sum_up(topic, write.written, write.transactions, monotonic() - began_s, json)


def _write_large(client: Client, topic: str, file: Path, key: str | None, partition: int | None, as_json: bool) -> None:
    began_s, size = monotonic(), file.stat().st_size
    with file.open("rb") as value:
        found = client.producer(topic).send_large(value, key=key, partition=partition)
    seconds = monotonic() - began_s
    if as_json:
        document({"topic": topic, "partition": found.partition, "offset": found.offset, "bytes": size,
                  "seconds": round(seconds, 3)})  # fmt: skip
    else:
        typer.echo(f"{size:,} bytes to {topic} {found.partition}:{found.offset}, {seconds:.1f} s")


def _write_lines(
    lines: BinaryIO, parse: Callable[[bytes], Record], write: _Writer, moved: Callable[[int, int], None]
) -> None:
    """Raises InvalidRequest or InvalidDelay, which name the line."""
    for number, line in enumerate(lines, 1):
        try:
            write.put(parse(line.rstrip(b"\n")))
        except (msgspec.MsgspecError, ValueError) as error:
            raise InvalidRequest(f"Line {number} cannot be read as a record: {error}.") from None
        except (UnexpectedAnswer, InvalidDelay) as error:
            kind = InvalidDelay if isinstance(error, InvalidDelay) else InvalidRequest
            raise kind(f"Line {number}: {error.detail}") from None
        moved(len(line), number)


class _Writer:
    """written: acknowledged or committed records.  times: default delivery time or delay."""

    def __init__(
        self,
        client: Client,
        topic: str,
        partition: int | None,
        transaction: int | None,
        compression: Literal["none", "gzip", "snappy", "lz4", "zstd"],
        times: tuple[int | None, int | None],
    ) -> None:
        self._client = client
        self._times = times
        self._partition = partition
        self._size = transaction
        self._producer = client.producer(topic, compression=compression, linger_ms=20)
        self._group: list[Record] = []
        self._pending = 0
        self.written = 0
        self.transactions = 0

    def put(self, record: Record) -> None:
        if self._size is not None:
            self._group.append(record)
            if len(self._group) >= self._size:
                self._commit()
            return
        self._send(record)
        self._pending += 1
        if self._pending >= 100_000:
            self._flush()

    def finish(self) -> None:
        self._flush()
        self._commit()

    def _send(self, record: Record, txn: object = None) -> None:
        deliver_at, deliver_after = record.deliver_at, record.deliver_after
        if deliver_at is None and deliver_after is None:
            deliver_at, deliver_after = self._times
        self._producer.send(
            record.value,
            key=record.key,
            headers=record.headers,
            partition=self._partition,
            timestamp_ms=record.timestamp_ms,
            deliver_at=deliver_at,
            deliver_after=deliver_after,
            txn=txn,  # type: ignore[arg-type]  # None or the transaction of _commit
        )

    def _flush(self) -> None:
        self._producer.flush()
        self.written += self._pending
        self._pending = 0

    def _commit(self) -> None:
        if not self._group:
            return
        with self._client.transaction() as txn:
            for record in self._group:
                self._send(record, txn)
        self.written += len(self._group)
        self.transactions += 1
        self._group = []


def _json_record(line: bytes) -> Record:
    body = msgspec.json.decode(line, type=Line)
    message = message_of(body, "")
    timestamp_ms = None if body.timestamp_ms < 0 else body.timestamp_ms
    at_ms, after_ms = delivery(body.deliver_at, body.deliver_after, "$")
    return Record(message.value, message.key, message.all_headers, None, timestamp_ms, at_ms, after_ms)


def _keyed(separator: str) -> Callable[[bytes], Record]:
    mark = separator.encode()

    def parse(line: bytes) -> Record:
        key, found, value = line.partition(mark)
        if not found:
            raise ValueError(f"it does not contain the separator {separator!r}")
        return Record(value, key)

    return parse


@contextlib.contextmanager
def _opened(file: Path | None) -> Iterator[BinaryIO]:
    if file is None:
        yield sys.stdin.buffer
    else:
        with file.open("rb") as lines:
            yield lines


@contextlib.contextmanager
def _progress(file: Path | None, as_json: bool) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on stderr if it is a terminal; yields a callback (bytes of the line, lines so far)."""
    if as_json or not sys.stderr.isatty():
        yield lambda size, number: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    total = None if file is None else file.stat().st_size
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task, began_s, read_bytes = bars.add_task("", total=total), monotonic(), 0

        def moved(size: int, number: int) -> None:
            nonlocal read_bytes
            read_bytes += size
            if number % LINES_A_STEP == 0:
                rate = number / max(monotonic() - began_s, 0.001)
                bars.update(task, completed=read_bytes, description=f"{number:,} records, {rate:,.0f}/s")

        yield moved


def _sum_up(topic: str, written: int, transactions: int, seconds: float, as_json: bool) -> None:
    rate = written / seconds if seconds > 0 else 0.0
    if as_json:
        document(
            {
                "topic": topic,
                "records": written,
                "transactions": transactions,
                "seconds": round(seconds, 3),
                "records_per_s": round(rate),
            }
        )
    else:
        within = f" in {counted(transactions, 'transaction')}" if transactions else ""
        typer.echo(f"{counted(written, 'record')} to {topic}{within}, {seconds:.1f} s, {rate:,.0f}/s")
