"""The Spark demo's judge: a process that knows nothing of the run, and adds the flights of the file up by itself.

    python -m redis_ledger.app.tools.demo_spark.check \\
        --url http://127.0.0.1:8080 --records 20000 --parquet FOLDER --lines FILE

Neither Spark nor what it kept is asked: the topic is read over REST, Parquet by pyarrow.  What should be is left in
FILE, a line each.  Prints its verdict as JSON; exit code 0 if every promise was kept, 1 if one was broken.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx

from redis_ledger.app.tools.demo import flights
from redis_ledger.app.tools.demo.check import Topic, let_settle
from redis_ledger.app.tools.demo.tally import Tally, tally
from redis_ledger.app.tools.demo_spark import committed, hours


@dataclass(slots=True)
class Verdict:
    """unsettled: records behind the stable offset, of transactions that have not ended."""

    flights: Tally
    topic: Tally
    parquet: Tally
    unsettled: int

    @property
    def holds(self) -> bool:
        return self.flights.holds and self.topic.holds and self.parquet.holds and not self.unsettled

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "holds": self.holds}


def judge(http: httpx.Client, inputs: list[flights.Flight], parquet: Path) -> Verdict:
    let_settle(http)
    expected = hours.hours(inputs)
    read, written = Topic(http, hours.FLIGHTS), Topic(http, hours.HOURS)
    return Verdict(
        flights=tally([*inputs, hours.CLOSING], read.values),
        topic=tally(*hours.numbered(expected, written.values)),
        parquet=tally(*hours.numbered(expected, committed.rows(parquet))),
        unsettled=read.unsettled + written.unsettled,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--records", type=int, required=True)
    parser.add_argument("--parquet", type=Path, required=True)
    parser.add_argument("--lines", type=Path, required=True)
    given = parser.parse_args()
    inputs = flights.load(given.records)
    given.lines.write_text("".join(f"{json.dumps(each)}\n" for each in hours.hours(inputs)))
    with httpx.Client(base_url=given.url, timeout=30, trust_env=False) as http:
        verdict = judge(http, inputs, given.parquet)
    json.dump(verdict.as_json(), sys.stdout)
    return 0 if verdict.holds else 1


if __name__ == "__main__":
    sys.exit(main())
