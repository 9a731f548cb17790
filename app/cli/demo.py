"""`redis-ledger demo`: exactly-once processing of real data while processes are killed with `kill -9`."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from redis_ledger.app.tools.demo import run
from redis_ledger.app.tools.demo.processes import DemoFailed


class ProgressBar(run.Progress):
    """A progress bar on the terminal, and a line for each kill."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._task: TaskID | None = None

    def phase(self, name: str, total: int) -> None:
        if self._task is not None:
            task = self._bars.tasks[self._task]
            self._bars.update(self._task, completed=task.total or 0)
        self._task = self._bars.add_task(name, total=total)

    def done(self, count: int) -> None:
        if self._task is not None:
            self._bars.update(self._task, completed=count)

    def killed(self, victims: Sequence[str]) -> None:
        self._bars.console.print(f"[red]kill -9[/red] {' and '.join(victims)}")


def demo(
    records: Annotated[int, typer.Option(min=1, max=20_000, help="Flights to process.")] = 20_000,
    workers: Annotated[int, typer.Option(min=1, max=16)] = 2,
    rounds: Annotated[int, typer.Option(min=0, max=20, help="Number of kills of each process.")] = 3,
    sabotage: Annotated[
        Literal["none", "duplicate", "lose"],
        typer.Option(help="Make a worker break a promise; the check must detect it."),
    ] = "none",
    json_: Annotated[bool, typer.Option("--json", help="Print only the result, as JSON.")] = False,
    keep: Annotated[bool, typer.Option(help="Keep data and logs and print their path.")] = False,
) -> None:
    """Process flights exactly once while processes are killed.

    Broker, worker and Redis are repeatedly killed with kill -9; then every record is checked.

    Exit code 0: every promise was kept.  1: one was broken, or the demo could not run.
    """
    settings = run.Settings(records=records, workers=workers, rounds=rounds, sabotage=sabotage)
    home = Path(tempfile.mkdtemp(prefix="redis-ledger-demo-"))
    console = Console(stderr=json_)
    columns = (TextColumn("{task.description:>22}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        with Progress(*columns, console=console, disable=json_) as bars:
            outcome = asyncio.run(run.Demo(settings, home, ProgressBar(bars)).run())
    except DemoFailed as failed:
        typer.echo(f"redis-ledger: {failed}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        shutil.rmtree(home, ignore_errors=True)
        sys.exit(130)
    if json_:
        typer.echo(json.dumps(outcome.as_json()))
    else:
        show(outcome, console)
    if keep:
        typer.echo(f"Data and logs are in {home}", err=True)
    else:
        shutil.rmtree(home, ignore_errors=True)
    sys.exit(0 if outcome.holds else 1)


def show(outcome: run.Outcome, console: Console) -> None:
    title = f"{outcome.inputs:,} flights → delays and routes".replace(",", " ")
    table = Table(title=title, title_justify="left", show_header=False)
    for name, value, is_bad in rows(outcome):
        table.add_row(name, f"[red]{value}[/red]" if is_bad else value)
    console.print(table)
    console.print(
        "[green]Every promise was kept.[/green]" if outcome.holds else "[bold red]A PROMISE WAS BROKEN.[/bold red]"
    )


def rows(outcome: run.Outcome) -> list[tuple[str, str, bool]]:
    """Name, value, and whether it is a broken promise."""
    kills = outcome.kills
    return [
        ("inputs", f"{outcome.inputs}", False),
        ("outputs", f"{outcome.outputs}", outcome.outputs != 2 * outcome.inputs),
        ("kills", f"broker {kills['broker']}, worker {kills['worker']}, redis {kills['redis']}", False),
        ("duplicates", f"{outcome.duplicates}", outcome.duplicates > 0),
        ("losses", f"{outcome.losses}", outcome.losses > 0),
        ("wrong or torn", f"{outcome.wrong}", outcome.wrong > 0),
        ("unacknowledged", f"{outcome.unacknowledged}", outcome.unacknowledged > 0),
        ("transactions", f"{outcome.transactions}", False),
        ("transactions per second", f"{outcome.transactions_per_s}, kills included", False),
        ("seconds", f"{outcome.seconds}", False),
    ]
