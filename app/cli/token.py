"""Authentication of the commands: REDIS_LEDGER_TOKEN, or the file given by --token-file.

A token is never an argument: other users of the machine can see arguments.  The option is added to every command that
has --url.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Annotated, Any

import typer

from redis_ledger.app.process.command_error import CommandError
from redis_ledger.errors import InvalidRequest

_file: ContextVar[str | None] = ContextVar("token file", default=None)


def add_to(command: Any) -> None:
    """Adds the option to a command, or to each command of a group."""
    for each in getattr(command, "commands", {}).values():
        add_to(each)
    if any(param.name == "url" for param in command.params):
        command.params.append(_option())


def file() -> str | None:
    """The path of the token file; None if the option is not set.  Raises CommandError for a file without a token."""
    from redis_ledger.client import bearer

    path = _file.get()
    if path is not None:
        try:
            bearer.read(path)
        except InvalidRequest as error:
            raise CommandError(error.detail) from None
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
            help="File with the API token; default: REDIS_LEDGER_TOKEN, if set.",
        ),
    ] = None,
) -> None:
    """A command with this option only."""


def _option() -> Any:
    shell = typer.Typer(add_completion=False)
    shell.command()(_shape)
    return next(param for param in typer.main.get_command(shell).params if param.name == "token_file")
