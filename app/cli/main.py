"""`redis-ledger`: one command per module of this folder, loaded when it is used.

`--help` only needs the names and summaries below, so it answers without loading a broker, an HTTP client or a demo.  A
command is a Typer app (several sub-commands) or a function (one command).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

# name → module, attribute, summary; a test holds the summaries to the docstrings
COMMANDS = {
    "serve": ("app.cli.serve", "serve", "Run a broker."),
    "topics": ("app.cli.topics", "topics", "Create, list, describe, grow and delete topics."),
    "produce": ("app.cli.produce", "produce", "Write lines to a topic, each as a record."),
    "consume": ("app.cli.consume", "consume", "Print the records of a topic."),
    "scheduled": ("app.cli.scheduled", "scheduled", "Create, list, cancel and move records that are delivered later."),
    "txns": ("app.cli.txns", "txns", "List, show, commit and abort transactions."),
    "users": ("app.cli.users", "users", "Add, list and remove users of Kafka clients."),
    "quotas": (
        "app.cli.quotas",
        "quotas",
        "List, set and remove how much each principal may ask of one broker.",
    ),
    "tokens": ("app.cli.tokens", "tokens", "Create, list and revoke API tokens."),
    "acls": ("app.cli.acls", "acls", "List, add and remove rules that say who may do what."),
    "audit": ("app.cli.audit", "audit", "Show who did what to topics, rules, tokens and users, newest first."),
    "pipeline": (
        "app.cli.pipeline",
        "pipeline",
        "Run a job on Spark: offload, compact, replay, reconcile, transform.",
    ),
    "mirror": (
        "app.cli.mirror",
        "mirror",
        "Carry topics of a Kafka over, exactly once, with the offsets of consumer groups.",
    ),
    "import": (
        "app.cli.streams",
        "import_",
        "Import a plain Redis stream into a topic, each entry once, with its groups.",
    ),
    "demo": (
        "app.cli.demo",
        "demo",
        "Transform real flight records exactly once while broker, worker and Redis are killed.",
    ),
    "health": ("app.cli.health", "health", "Ask the broker of this machine whether it is ready."),
    "doctor": ("app.cli.doctor", "doctor", "Say what is wrong with this set-up, and what to do."),
}


class Commands(TyperGroup):
    _is_listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        module, attribute, summary = COMMANDS[cmd_name]
        if self._is_listing:
            return TyperCommand(cmd_name, help=summary)
        found = getattr(import_module(module), attribute)
        if not isinstance(found, typer.Typer):
            single = typer.Typer()
            single.command(cmd_name)(found)
            found = single
        command = typer.main.get_command(found)
        command.name = cmd_name
        from app.cli import token

        token.add_to(command)
        return command

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self._is_listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._is_listing = False


app = typer.Typer(
    name="redis-ledger",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="A transactional event log on Redis.",
)


def _show_version(asked: bool) -> None:
    if asked:
        from app.version import VERSION

        typer.echo(VERSION)
        raise typer.Exit


@app.callback()
def main(
    version: bool = typer.Option(
        False, "--version", help="Print the version and exit.", is_eager=True, callback=_show_version
    ),
) -> None:
    """What all commands have in common: nothing but --version and --help."""


if __name__ == "__main__":
    app()
