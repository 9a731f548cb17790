"""`redis-ledger`: one command per module of this folder, loaded when it is used.

`--help` only needs the names and summaries below, so it answers without loading a broker, an HTTP client or a demo.  A
command is a Typer app (several sub-commands) or a function (one command).
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

# name → module of this folder, attribute, summary; a test holds the summaries to the docstrings
COMMANDS = {
    "serve": ("serve", "serve", "Run a broker."),
    "topics": ("topics", "topics", "Create, list, describe, alter and delete topics."),
    "subscriptions": ("subscriptions", "subscriptions", "Create, list, describe, seek and delete subscriptions."),
    "groups": ("subscriptions", "groups", "List, show, seek and delete Kafka groups."),
    "produce": ("produce", "produce", "Produce lines of text as records."),
    "consume": ("consume", "consume", "Print the records of a topic."),
    "scheduled": ("scheduled", "scheduled", "Create, list, reschedule and cancel scheduled records."),
    "txns": ("txns", "txns", "List, show, commit and abort transactions."),
    "batching": ("batched_writes", "batched_writes", "List, set and check the batching of transactions."),
    "coordinators": ("coordinators", "coordinators", "List, show and add transaction coordinators."),
    "users": ("users", "users", "Add, list and remove SCRAM users."),
    "quotas": ("quotas", "quotas", "List, set and remove the quotas of principals."),
    "tokens": ("tokens", "tokens", "Create, list and revoke API tokens."),
    "acls": ("acls", "acls", "List, add and remove ACLs."),
    "audit": ("audit", "audit", "Show the audit log, newest first."),
    "pipeline": ("pipeline", "pipeline", "Run a job on Spark, such as offload, compact or replay."),
    "mirror": ("mirror", "mirror", "Copy topics and groups from Kafka, exactly once."),
    "import": ("streams", "import_", "Copy a Redis stream and its consumer groups, exactly once."),
    "demo": ("demo", "demo", "Process flights exactly once while processes are killed."),
    "health": ("health", "health", "Check whether the local broker is ready."),
    "fsck": ("fsck", "fsck", "Compare the indexes in Redis with the logs, and repair them."),
    "backup": ("backup", "backup", "Write all data of a running Redis, as one state, to a folder."),
    "restore": ("backup", "restore", "Write a backup to an empty Redis, of any number of nodes."),
    "doctor": ("doctor", "doctor", "Check this setup and suggest fixes."),
}


# click's class; newer versions of typer vendor click under another name.
UsageError: Any = typer.BadParameter.__base__


class Commands(TyperGroup):
    _is_listing = False

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        names: Any = dict.fromkeys(COMMANDS)
        self.commands = names  # for --help and for suggestions

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        module, attribute, summary = COMMANDS[cmd_name]
        if self._is_listing:
            return TyperCommand(cmd_name, help=summary)
        found = getattr(import_module(f"redis_ledger.app.cli.{module}"), attribute)
        if not isinstance(found, typer.Typer):
            single = typer.Typer(add_completion=False, rich_markup_mode=None)
            single.command(cmd_name)(found)
            found = single
        command = typer.main.get_command(found)
        command.name = cmd_name
        from redis_ledger.app.cli import token

        token.add_to(command)
        return command

    def main(self, *given: Any, **more: Any) -> Any:
        """Prints usage errors as problem JSON if --json is given."""
        words = next(iter(given), more.get("args"))
        if "--json" not in (sys.argv[1:] if words is None else words):
            return super().main(*given, **more)
        try:
            code = super().main(*given, **{**more, "standalone_mode": False})
        except UsageError as wrong:
            from redis_ledger.app.cli.output import USAGE, usage_error

            usage_error(wrong.format_message(), as_json=True)
            sys.exit(USAGE)
        except typer.Abort:
            sys.exit(1)
        sys.exit(code if isinstance(code, int) else 0)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self._is_listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._is_listing = False


app = typer.Typer(
    name="redis-ledger",
    cls=Commands,
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="A transactional event log on Redis.",
)


def _show_version(asked: bool) -> None:
    if asked:
        from redis_ledger.version import VERSION

        typer.echo(VERSION)
        raise typer.Exit


@app.callback()
def main(
    version: bool = typer.Option(
        False, "--version", help="Print the version and exit.", is_eager=True, callback=_show_version
    ),
) -> None:
    """Common options."""


if __name__ == "__main__":
    app()
