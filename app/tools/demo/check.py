"""The check of the demo: a separate process that reads the topics over REST and compares them with the input file.

    python -m redis_ledger.app.tools.demo.check --url http://127.0.0.1:8080 --records 20000

Prints the result as JSON.  Exit code 0: every promise was kept.  1: one was broken.  2: the check could not run; the
reason is on stderr.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import httpx

from redis_ledger.app.tools.demo import flights
from redis_ledger.app.tools.demo.tally import Verdict, tally

SETTLE_S_MAX = 15.0
PAGE_RECORDS = 2_000
NO_TRANSACTION = ""


class CheckFailed(Exception):
    """The check could not run; the message has the reason."""


class Topic:
    """All committed records of a topic.  unsettled: records after the last stable offset, of open transactions."""

    def __init__(self, http: httpx.Client, name: str) -> None:
        self.values: list[Any] = []
        self.transactions: dict[int, set[str]] = defaultdict(set)  # flight → transactions that wrote it
        self.unsettled = 0
        for partition in range(_get(http, f"/v1/topics/{name}")["partitions"]):
            for record in self._read(http, name, partition):
                self.values.append(record.get("value"))
                if isinstance(record.get("value"), dict):
                    self.transactions[record["value"].get("flight")].add(record.get("transaction", NO_TRANSACTION))

    def _read(self, http: httpx.Client, name: str, partition: int) -> Iterator[dict[str, Any]]:
        offset: int | str = "earliest"
        while True:
            page = _get(
                http,
                f"/v1/topics/{name}/partitions/{partition}/records",
                offset=offset,
                isolation="read_committed",
                max_records=PAGE_RECORDS,
            )
            yield from page["records"]
            offset = page["next_offset"]
            if offset >= page["stable_offset"]:
                self.unsettled += page["end_offset"] - page["stable_offset"]
                return


def judge(http: httpx.Client, inputs: Sequence[flights.Flight]) -> Verdict:
    let_settle(http)
    verdict = Verdict()
    topics = {name: Topic(http, name) for name in (flights.FLIGHTS, flights.DELAYS, flights.ROUTES)}
    verdict.topics = {
        flights.FLIGHTS: tally(inputs, topics[flights.FLIGHTS].values),
        flights.DELAYS: tally([flights.to_delay(each) for each in inputs], topics[flights.DELAYS].values),
        flights.ROUTES: tally([flights.to_route(each) for each in inputs], topics[flights.ROUTES].values),
    }
    verdict.unsettled = sum(topic.unsettled for topic in topics.values())
    delays, routes = topics[flights.DELAYS].transactions, topics[flights.ROUTES].transactions
    verdict.transactions = len(set().union(*delays.values(), *routes.values()) - {NO_TRANSACTION})
    verdict.torn = sum(1 for flight in delays if delays[flight] != routes.get(flight))
    stats = _get(http, f"/v1/topics/{flights.FLIGHTS}/subscriptions/{flights.SUBSCRIPTION}")
    verdict.unacknowledged = stats["backlog"] + stats["pending"]
    return verdict


def let_settle(http: httpx.Client) -> None:
    """Waits for transactions of killed workers, which stay open until their timeout; that is no broken promise."""
    until_s = time.monotonic() + SETTLE_S_MAX
    while _get(http, "/v1/transactions", status="open")["transactions"] and time.monotonic() < until_s:
        time.sleep(0.1)


def _get(http: httpx.Client, path: str, **query: str | int) -> Any:
    """Raises CheckFailed."""
    try:
        answer = http.get(path, params=query)
    except httpx.HTTPError as error:
        raise CheckFailed(f"The broker cannot be reached: {type(error).__name__}: {error}") from error
    if not answer.is_success:
        raise CheckFailed(f"The broker rejected {path}: {answer.json().get('detail', answer.status_code)}")
    return answer.json()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--records", type=int, required=True)
    arguments = parser.parse_args()
    try:
        with httpx.Client(base_url=arguments.url, timeout=30, trust_env=False) as http:
            verdict = judge(http, flights.load(arguments.records))
    except CheckFailed as failed:
        print(failed, file=sys.stderr)
        return 2
    json.dump(verdict.as_json(), sys.stdout)
    return 0 if verdict.holds else 1


if __name__ == "__main__":
    sys.exit(main())
