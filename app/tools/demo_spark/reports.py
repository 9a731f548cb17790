"""Reports of the Spark demo: runs of `reconcile` before and after the flights are offloaded.

    hours      sums of the input file           ≟  topic hours
    parquet    topic hours                      ≟  Parquet hours
    flights    facts of the topic are stored; then it is offloaded and Redis drops its payload:
               the offloaded Parquet files      ≟  the facts
    offloaded  topic flights, read as before    ≟  the offloaded Parquet files

All run in one Spark session.  The last line of stdout is {"hours": {"code": 0, "file": …}, …}.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import threading
from pathlib import Path

from redis_ledger import Client
from redis_ledger.app.tools.demo_spark import hours
from redis_ledger.app.tools.demo_spark.start import start
from redis_ledger.spark.pipelines import offload, reconcile

AS_VALUE = "select to_json(struct(hour, origin, flights, delay, late)) value from side"


class Reports:
    def __init__(self, url: str, folder: Path) -> None:
        self._url, self._folder = url, folder
        self.done: dict[str, dict[str, object]] = {}

    def compare(self, name: str, *arguments: str) -> None:
        file = self._folder / f"{name}.html"
        code = reconcile.main(["--bootstrap", self._url, "--report", str(file), *arguments])
        self.done[name] = {"code": code, "file": str(file)}

    def offload(self) -> None:
        code = offload.main(["--bootstrap", self._url, "--topic", hours.FLIGHTS, "--seal"])
        with Client(self._url) as client:
            found = client.offload.describe(hours.FLIGHTS)
        segments = [each for one in found.partitions for each in one.segments]
        self.done["offload"] = {
            "code": code,
            "files": sum(bool(each.file) for each in segments),
            "records": sum(each.records for each in segments),
            "bytes": sum(each.bytes for each in segments),
        }


def end_with_stdin() -> None:
    """Exits at the end of stdin: the parent process has ended, and the broker with it."""
    sys.stdin.read()
    os._exit(1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--lines", type=Path, required=True)
    parser.add_argument("--parquet", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    given = parser.parse_args()
    threading.Thread(target=end_with_stdin, daemon=True).start()
    start()
    reports = Reports(given.url, given.folder)
    facts = given.folder / "flights-before.json"
    topic, flights = f"topic:{hours.HOURS}", f"topic:{hours.FLIGHTS}"
    by_hour = ("--json", "--key", "$.hour, $.origin", "--contents", "value")
    # Only our last line goes to stdout; the output of the pipelines goes to the log.
    with contextlib.redirect_stdout(sys.stderr):
        reports.compare("hours", "--left", f"jsonl:{given.lines}", "--right", topic, *by_hour)
        parquet = ("--right", f"parquet:{given.parquet}", "--right-as", AS_VALUE)
        reports.compare("parquet", "--left", topic, *parquet, *by_hour)
        reports.compare("flights-before", "--left", flights, "--write-expectations", str(facts))
        reports.offload()
        offloaded = f"offloaded:{hours.FLIGHTS}"
        reports.compare("flights", "--left", offloaded, "--right", f"expect:{facts}")
        everything = ("--key", "offset", "--contents", "key,value,timestamp,headers")
        reports.compare("offloaded", "--left", flights, "--right", offloaded, *everything)
    print(json.dumps(reports.done), flush=True)
    return 0 if all(each["code"] == 0 for each in reports.done.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
