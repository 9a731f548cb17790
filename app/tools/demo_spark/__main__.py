"""`make demo-spark`: exactly-once processing with Spark while driver, broker and Redis are killed.

    python -m redis_ledger.app.tools.demo_spark                        in Spark's environment
    python -m redis_ledger.app.tools.demo_spark --sabotage duplicate   breaks a promise; the check must detect it

Exit code 0: every promise was kept.  1: one was broken, or the demo could not run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from redis_ledger.app.cli.demo import ProgressBar
from redis_ledger.app.tools.demo.processes import DemoFailed
from redis_ledger.app.tools.demo_spark.run import Demo, Outcome, Settings

REPORTS = Path(".data") / "demo-spark"


def main() -> int:
    given = arguments()
    if find_spec("pyspark") is None:
        print("demo-spark: Spark is not installed; `make demo-spark` installs it.", file=sys.stderr)
        return 1
    home = Path(tempfile.mkdtemp(prefix="redis-ledger-demo-spark-"))
    console = Console(stderr=given.json)
    columns = (TextColumn("{task.description:>22}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    settings = Settings(given.reports.absolute(), given.records, given.kills, given.sabotage)
    try:
        with Progress(*columns, console=console, disable=given.json) as bars:
            outcome = asyncio.run(Demo(settings, home, ProgressBar(bars)).run())
    except DemoFailed as failed:
        print(f"demo-spark: {failed}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        shutil.rmtree(home, ignore_errors=True)
        return 130
    if given.json:
        print(json.dumps(outcome.as_json()))
    else:
        show(outcome, console)
    if given.keep:
        print(f"Data and logs are in {home}", file=sys.stderr)
    else:
        shutil.rmtree(home, ignore_errors=True)
    return 0 if outcome.holds else 1


def arguments() -> argparse.Namespace:
    made = argparse.ArgumentParser(prog="demo-spark", description="Flights by hour and airport, exactly once.")
    made.add_argument("--records", type=int, choices=range(1, 20_001), default=20_000, metavar="1..20000")
    made.add_argument("--kills", action=argparse.BooleanOptionalAction, default=True, help="kill processes")
    made.add_argument("--sabotage", choices=["none", "duplicate", "lose"], default="none")
    made.add_argument("--reports", type=Path, default=REPORTS, metavar="FOLDER", help="folder for reports")
    made.add_argument("--json", action="store_true", help="print only the result, as JSON")
    made.add_argument("--keep", action="store_true", help="keep data and logs and print their path")
    return made.parse_args()


def show(outcome: Outcome, console: Console) -> None:
    title = f"{outcome.inputs:,} flights → hours by airport".replace(",", " ")
    table = Table(title=title, title_justify="left", show_header=False)
    for name, value, is_bad in rows(outcome):
        table.add_row(name, f"[red]{value}[/red]" if is_bad else value)
    console.print(table)
    for name, report in outcome.reports.items():
        if "file" in report:
            console.print(
                f"{'' if report['code'] == 0 else '[red]differs[/red] '}{name}: {report['file']}", soft_wrap=True
            )
    console.print(
        "[green]Every promise was kept.[/green]" if outcome.holds else "[bold red]A PROMISE WAS BROKEN.[/bold red]"
    )


def is_off(found: dict[str, int]) -> bool:
    return found["seen"] != found["expected"] or any(found[name] for name in ("duplicates", "losses", "wrong"))


def rows(outcome: Outcome) -> list[tuple[str, str, bool]]:
    """Name, value, and whether it is a broken promise."""
    kills, verdict, offloaded = outcome.kills, outcome.verdict, outcome.reports["offload"]
    sides = [verdict["topic"], verdict["parquet"]]

    def both(name: str) -> tuple[str, str, bool]:
        numbers = [side[name] for side in sides]
        return name, f"topic {numbers[0]}, Parquet {numbers[1]}", any(numbers)

    driver = f"driver {kills['driver']} ({kills['written']} before a commit, {kills['committed']} after one)"
    reports = [each for each in outcome.reports.values() if "file" in each]
    differing = sum(each["code"] != 0 for each in reports)
    return [
        ("flights", f"{outcome.inputs}, and {outcome.aborted} more aborted", is_off(verdict["flights"])),
        ("hours by airport", f"{verdict['topic']['expected']}", False),
        ("seen", f"topic {sides[0]['seen']}, Parquet {sides[1]['seen']}", any(map(is_off, sides))),
        ("kills", f"{driver}, broker {kills['broker']}, redis {kills['redis']}", False),
        both("duplicates"),
        both("losses"),
        both("wrong"),
        ("offloaded", f"{offloaded['records']} flights in {offloaded['files']} files", offloaded["code"] != 0),
        ("reports", f"{len(reports)}, {differing} of them with differences", differing > 0),
        ("seconds", f"{outcome.seconds}", False),
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
