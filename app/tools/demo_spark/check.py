"""The check of the Spark demo: a separate process that computes the expected sums from the input file.

    python -m redis_ledger.app.tools.demo_spark.check \\
        --url http://127.0.0.1:8080 --records 20000 --parquet FOLDER --lines FILE

It uses neither Spark nor its checkpoints: it reads the topic over REST and Parquet with pyarrow.  It writes the
expected records to FILE, one per line, and prints the result as JSON.  Exit code 0: every promise was kept.  1: one was
broken.
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
    """unsettled: records after the last stable offset, of open transactions."""

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
