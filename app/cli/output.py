"""Output of commands: tables or JSON on stdout, errors on stderr, exit codes.

stdout   a rich table, or with --json one document (lists: one line per item)
stderr   "redis-ledger: <error and remedy>", or with --json the problem as JSON
exit     0 success · 1 failure · 2 usage error, or no broker reachable
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from redis_ledger.app.http.times import duration_ms, moment_ms
from redis_ledger.app.process.command_error import CommandError
from redis_ledger.errors import InvalidRequest, LedgerError, Unauthenticated, Unavailable
from redis_ledger.terminal import one_line

if TYPE_CHECKING:
    from redis_ledger import Client

Url = Annotated[
    str,
    typer.Option("--url", envvar="REDIS_LEDGER_URL", help="Broker URLs, separated by commas.", metavar="URL"),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON; errors as problem JSON on stderr.")]
DeliverAt = Annotated[
    str | None, typer.Option(metavar="TIME", help="Delivery time: 2027-01-31T09:00:00Z, or ms since 1970.")
]
DeliverAfter = Annotated[str | None, typer.Option(metavar="DURATION", help="Delivery delay: 5s, 2h, P1DT12H, or ms.")]
URL = "http://127.0.0.1:8080"

FAILED, USAGE, INTERRUPTED = 1, 2, 130
_NUMBER = re.compile(r"-?\d[\d ]*(\.\d+)?")
TIMEOUT_MS = 5_000
# Advice in REST errors → advice for command line users.
COMMANDS_OF_CALLS = {
    "create it with POST /v1/topics/{topic}/subscriptions": "`redis-ledger consume --subscription` creates it",
    "create it with POST /v1/topics": "create it with `redis-ledger topics create`",
    "use the id that POST /v1/transactions returned": "use an id that `redis-ledger txns list` shows",
}
PIPE_WIDTH = 10_000
LOGIN = " Set REDIS_LEDGER_TOKEN or use --token-file."


@contextlib.contextmanager
def connected(url: str, as_json: bool, timeout_ms: int = TIMEOUT_MS) -> Iterator[Client]:
    """Yields a client; reports errors as `reporting` does."""
    # Prevents httpx from importing its command line with click, pygments and rich.
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
    from redis_ledger import Client
    from redis_ledger.app.cli import token

    with reporting(as_json, url):
        try:
            client = Client(url.split(","), timeout_ms=timeout_ms, token_file=token.file())
        except InvalidRequest as wrong:
            raise CommandError(wrong.detail) from None
        with client:
            yield client


def confirm(yes: bool, act: str, question: str, json: bool) -> None:
    """Asks before an act that cannot be undone; exits if the answer is no.  act: such as "Deleting 'orders'"."""
    with reporting(json):
        if not yes and not typer.get_text_stream("stdin").isatty():
            raise CommandError(f"{act} cannot be undone; use --yes if stdin is not a terminal.")
    if not yes and not typer.confirm(question, err=True):
        raise typer.Exit(FAILED)


@contextlib.contextmanager
def reporting(as_json: bool, url: str = "") -> Iterator[None]:
    """Prints errors and exits.  url: the broker, for the message if none answers."""
    try:
        yield
    except LedgerError as error:
        for call, command in COMMANDS_OF_CALLS.items():
            error.detail = error.detail.replace(call, command)
        # Exactly Unavailable: no broker answered.  Subclasses are errors of a broker.
        is_unreachable = type(error) is Unavailable
        advice = (
            _unreachable_advice(url) if is_unreachable else LOGIN if url and isinstance(error, Unauthenticated) else ""
        )
        sentence = error.detail + advice
        _tell(sentence, {**problem(error), "detail": sentence} if as_json else None)
        raise typer.Exit(USAGE if is_unreachable else FAILED) from None
    except CommandError as refusal:
        usage_error(str(refusal), as_json)
        raise typer.Exit(USAGE) from None
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        # The reader closed the pipe.  Python flushes stdout at exit; redirect that to /dev/null.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None


def usage_error(sentence: str, as_json: bool) -> None:
    title = "Usage error"
    body = {"type": "urn:redis-ledger:problem:usage", "title": title, "detail": sentence, "code": "usage"}
    _tell(sentence, body if as_json else None)


def problem(error: LedgerError) -> dict[str, Any]:
    """The error as RFC 9457 problem details, as in REST."""
    return {
        "type": f"urn:redis-ledger:problem:{error.code}",
        "title": error.title(),
        "status": error.http_status,
        "detail": error.detail,
        "code": error.code,
        "retriable": error.retriable,
        **error.facts,
    }


def _tell(sentence: str, details: dict[str, Any] | None) -> None:
    typer.echo(f"redis-ledger: {sentence}" if details is None else _json(details), err=True)


def _unreachable_advice(url: str) -> str:
    from redis_ledger.app.process.addresses import without_secrets

    asked = ", ".join(without_secrets(each) for each in url.split(","))
    return f" Tried: {asked}. Start a broker with `redis-ledger serve`, or set --url."


def group(summary: str) -> typer.Typer:
    """A command group with plain help; the boxes of rich truncate option names at 80 columns."""
    return typer.Typer(help=summary, no_args_is_help=True, add_completion=False, rich_markup_mode=None)


def counted(count: int, noun: str) -> str:
    """1 record, 2 records, 3 entries."""
    if count != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}s"
    return f"{count:,} {noun}"


def timed(deliver_at: str | None, deliver_after: str | None) -> tuple[int | None, int | None]:
    """Returns both options in milliseconds.  Raises CommandError."""
    if deliver_at is not None and deliver_after is not None:
        raise CommandError("--deliver-at and --deliver-after cannot be combined; give one of them.")
    return moment(deliver_at, "--deliver-at"), (
        None if deliver_after is None else duration_ms(deliver_after, "--deliver-after", CommandError)
    )


def moment(given: str | None, option: str) -> int | None:
    return None if given is None else moment_ms(given, option, CommandError)


def document(value: Any) -> None:
    """One JSON document on one line."""
    sys.stdout.write(_json(value) + "\n")


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, is_boxed: bool = True) -> None:
    """Prints a table; numbers are right-aligned, and control characters in cells escaped.

    Lines are not folded in a pipe, so that grep finds names.
    """
    from rich.box import HEAVY_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    found = [[each if isinstance(each, Text) else Text(one_line(str(each))) for each in row] for row in rows]
    shown = Table(box=HEAVY_HEAD if is_boxed else None, pad_edge=is_boxed, header_style="bold")
    for index, column in enumerate(columns):
        is_number = bool(found) and all(_NUMBER.fullmatch(row[index].plain) for row in found)
        width = max(map(len, column.split()), default=0)  # headings are wrapped between words only
        shown.add_column(column, justify="right" if is_number else "left", overflow="fold", min_width=width)
    for row in found:
        shown.add_row(*row)
    is_folded = sys.stdout.isatty() or "COLUMNS" in os.environ
    Console(width=None if is_folded else PIPE_WIDTH).print(shown)


def _json(value: Any) -> str:
    return msgspec.json.encode(value, enc_hook=str).decode()
