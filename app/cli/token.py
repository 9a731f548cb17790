"""Who the commands are to a broker that asks: REDIS_LEDGER_TOKEN, or the file that --token-file names.

A token is never an argument itself: everybody on the machine could read it there.  The option is added to every command
that has --url, so that none can be forgotten.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Annotated, Any

import typer

from redis_ledger.app.process.startup_error import Refusal
from redis_ledger.errors import InvalidRequest

_file: ContextVar[str | None] = ContextVar("token file", default=None)


def add_to(command: Any) -> None:
    """To a command, or to each of a group's."""
    for each in getattr(command, "commands", {}).values():
        add_to(each)
    if any(param.name == "url" for param in command.params):
        command.params.append(_option())


def file() -> str | None:
    """The file that was named, which holds a token; None: none was.  Raises Refusal."""
    from redis_ledger.client import bearer

    path = _file.get()
    if path is not None:
        try:
            bearer.read(path)
        except InvalidRequest as error:
            raise Refusal(error.detail) from None
    return path


def _note(path: str | None) -> str | None:
    _file.set(path)
    return path


def _shape(
    token_file: Annotated[
        str | None,
        typer.Option(
            "--token-file",
            metavar="FILE",
            envvar="REDIS_LEDGER_TOKEN_FILE",
            show_envvar=False,
            callback=_note,
            expose_value=False,
            help="A file with the token to show; else that of REDIS_LEDGER_TOKEN is shown, if there is one.",
        ),
    ] = None,
) -> None:
    """A command that has nothing but this option."""


def _option() -> Any:
    shell = typer.Typer(add_completion=False)
    shell.command()(_shape)
    return next(param for param in typer.main.get_command(shell).params if param.name == "token_file")
