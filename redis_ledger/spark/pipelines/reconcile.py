"""Reconcile: compares two sides, finds missing, duplicate, different and unordered records, and writes a report.

    --left topic:orders        ┐                          ┌ "The same: 20,000 records on both sides."
    --right parquet:days/orders┴→ rows → counts → verdict ┼ report.html, a page that needs nothing else
                                                          └ exit 0 the same · 1 not · 2 could not be compared

Each side is read once, whatever its size; hashes of 128 bits are compared.
"""

from __future__ import annotations

import argparse
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from redis_ledger.errors import InvalidRequest, LedgerError
from redis_ledger.spark.pipelines import arguments as common
from redis_ledger.spark.pipelines import reconcile_bins as bins
from redis_ledger.spark.pipelines import reconcile_counts as counts
from redis_ledger.spark.pipelines import reconcile_expected as expectations
from redis_ledger.spark.pipelines.progress import Done, Progress
from redis_ledger.spark.pipelines.reconcile_facts import (
    Demands,
    SideFacts,
    alone,
    of_expectations,
    of_two,
)
from redis_ledger.spark.pipelines.reconcile_result import Reconciliation
from redis_ledger.spark.pipelines.reconcile_rows import RowsQuery, contents_of, rows
from redis_ledger.spark.pipelines.reconcile_samples import samples
from redis_ledger.spark.pipelines.reconcile_sides import Loaded, Side, load, side, transformed
from redis_ledger.terminal import one_line

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NAME = "reconcile"
SAME, DIFFERENT, FAILED = 0, 1, 2
SAMPLES = 20


class _Looked:
    """A side that was read: its table, its rows, and its counts."""

    def __init__(self, letter: str, loaded: Loaded, frame: DataFrame, wanted: RowsQuery, within: str) -> None:
        from pyspark import StorageLevel

        self.letter, self.loaded, self.frame, self.within = letter, loaded, frame, within
        self.kept = rows(frame, wanted).persist(StorageLevel.MEMORY_AND_DISK)
        self.rows = self.kept
        self.left_out = 0
        self.partitions = counts.partitions(self.rows, within, loaded.partition_ends)

    def narrow(self, bounds: dict[int, tuple[int, int]]) -> None:
        before = sum(each.records for each in self.partitions)
        self.rows = counts.within(self.rows, bounds)
        partition_ends = {
            number: ends._replace(start=bounds[number][0], end=bounds[number][1])
            for number, ends in self.loaded.partition_ends.items()
            if number in bounds
        }
        self.partitions = counts.partitions(self.rows, self.within, partition_ends)
        self.left_out = before - sum(each.records for each in self.partitions)

    def facts(self) -> SideFacts:
        has_offsets = any(each.first is not None for each in self.partitions)
        longest = counts.holes(self.rows) if any(each.holes for each in self.partitions) else []
        return SideFacts(
            self.letter, self.loaded.side.name, self.partitions, has_offsets, left_out=self.left_out, holes=longest
        )


def reconcile(spark: SparkSession, given: argparse.Namespace, progress: Progress) -> Reconciliation:
    """Raises LedgerError, and Spark's errors, if the sides cannot be compared."""
    began, began_s = datetime.now(UTC), time.monotonic()
    right: Side | None = given.right
    expected = expectations.read(right.place) if right is not None and right.kind == "expect" else None
    sides = [given.left, *([right] if right is not None and expected is None else [])]
    queries, reached = (given.left_as, given.right_as), common.connection_of(given)
    headers = any("headers" in (text or "") for text in (given.contents, given.key, given.where, *queries))
    loads = [load(spark, each, reached, given.isolation, headers=headers) for each in sides]
    frames = [
        transformed(spark, loaded.frame, query, given.where) for loaded, query in zip(loads, queries, strict=False)
    ]
    wanted = RowsQuery(
        given.key or "", given.contents or contents_of([frame.columns for frame in frames]), given.time,
        given.ordered_by or "", given.json,
    )  # fmt: skip
    demands = Demands(given.ordered_by or "", given.ordered_within, given.unique, wanted.is_by_offset)
    looked = []
    for letter, loaded, frame in zip("AB", loads, frames, strict=False):
        looked.append(_Looked(letter, loaded, frame, wanted, given.ordered_within))
        progress.done(Done(loaded.side.name, records=sum(each.records for each in looked[-1].partitions)))
    _check_order(looked, demands)
    a, b = looked[0], looked[1] if len(looked) > 1 else None
    if given.overlap and b is not None:
        bounds = counts.overlap(a.partitions, b.partitions)
        a.narrow(bounds)
        b.narrow(bounds)
    if b is not None:
        outcome = _two(a, b, wanted, demands, given.samples)
    elif expected is not None:
        facts = a.facts()
        checks = expectations.counted(expected, facts) + expectations.looked_up(expected, a.frame, wanted)
        outcome = Reconciliation(of_expectations(facts, checks, demands), facts, checks=checks)
    else:
        facts = a.facts()
        outcome = Reconciliation(alone(facts, demands), facts)
    _draw(outcome, looked)
    outcome.asked = [("contents", wanted.contents.replace("`", "")), *_asked(given)]
    for each in looked:
        each.kept.unpersist()
    outcome.began, outcome.seconds = began, time.monotonic() - began_s
    return outcome


def _check_order(looked: list[_Looked], demands: Demands) -> None:
    if demands.ordered_by and not any(each.first is not None for one in looked for each in one.partitions):
        raise InvalidRequest("--ordered-by needs a column offset on at least one side, for the order of records.")


def _two(a: _Looked, b: _Looked, wanted: RowsQuery, demands: Demands, number: int) -> Reconciliation:
    from pyspark import StorageLevel

    identities = counts.laid_over(a.rows, b.rows).persist(StorageLevel.MEMORY_AND_DISK)
    found = counts.matched(identities)
    first, second = a.facts(), b.facts()
    shown = samples(identities, found, (a.frame, b.frame), wanted, number)
    identities.unpersist()
    return Reconciliation(of_two(first, second, found, demands), first, second, found, samples=shown)


def _draw(outcome: Reconciliation, looked: list[_Looked]) -> None:
    """Computes the charts of the page."""
    rows = {each.letter.lower(): each.rows for each in looked}
    sides = [each for each in (outcome.a, outcome.b) if each is not None]
    times = [each for each in (one.times() for one in sides) if each is not None]
    if times:
        from_ms, to_ms = min(first for first, _ in times), max(last for _, last in times)
        outcome.through_time = bins.through_time(rows, from_ms, to_ms)
    bounds: dict[int, tuple[int, int]] = {}
    for each in [each for one in sides for each in one.partitions]:
        if each.first is not None and each.end is not None:
            first, end = bounds.get(each.partition, (each.first, each.end))
            bounds[each.partition] = min(first, each.first), max(end, each.end)
    if all(one.has_offsets for one in sides):
        outcome.along_offsets = bins.along_offsets(rows, bounds)


ASKED = ("key", "left_as", "right_as", "where", "isolation", "ordered_by", "json", "overlap", "unique")


def _asked(given: argparse.Namespace) -> list[tuple[str, str]]:
    """Returns the options of the comparison for the report."""
    said = []
    for name in ASKED:
        value = getattr(given, name)
        if value not in (None, False):
            said.append((name.replace("_", " "), "yes" if value is True else str(value)))
    return said


def parser() -> argparse.ArgumentParser:
    made = common.parser(NAME, "Compare two sides, record by record, and write a report.")
    made.epilog = (
        "A side is topic:NAME, offloaded:NAME (its offloaded records), parquet:PATH, jsonl:PATH or, on the right, "
        "expect:FILE.json.  Exit code 0: the same; 1: not; 2: it could not be compared."
    )
    say = made.add_argument
    say("--left", type=side, required=True, metavar="KIND:PLACE", help="the expected side")
    say("--right", type=side, metavar="KIND:PLACE", help="what is")
    say("--report", metavar="FILE", default="reconcile.html", help="where to write the page (%(default)s)")
    say("--write-expectations", metavar="FILE", help="write the current facts of the left side to a file")
    say(
        "--key", metavar="SQL",
        help="identity of a record: expressions, or `offset` for partition and offset (default: all of its"
        " contents); $.name is a member of a value that is JSON",
    )  # fmt: skip
    say("--contents", metavar="SQL", help="columns to compare (key and value, else all columns)")
    say("--json", action="store_true", help="values are JSON: compare their meaning")
    say("--unique", action="store_true", help="duplicates are wrong even if both sides have them")
    say("--ordered-by", metavar="SQL", help="an expression that must ascend with offsets")
    say("--ordered-within", choices=["partition", "key"], default="partition")
    say("--where", metavar="SQL", help="compare only records that match")
    say("--left-as", metavar="SQL", help="a query over the table `side` that returns the left columns")
    say("--right-as", metavar="SQL", help="the same for the right side")
    say("--overlap", action="store_true", help="compare only offsets that both sides have reached")
    say("--time", metavar="COLUMN", default="timestamp", help="the time of the chart (%(default)s)")
    say("--isolation", choices=["read_committed", "read_uncommitted"], default="read_committed")
    say("--samples", type=int, default=SAMPLES, metavar="NUMBER", help="number of records to show (%(default)s)")
    return made


def main(arguments: list[str]) -> int:
    from redis_ledger.spark.pipelines.report import page, text

    made = parser()
    given = made.parse_args(arguments)
    if given.right is None and given.write_expectations is None:
        made.error("give --right, or --write-expectations FILE to compare later")
    try:
        with common.started(given) as spark:
            outcome = reconcile(spark, given, Progress(NAME))
        if given.write_expectations is not None:
            expectations.write(given.write_expectations, expectations.of_side(outcome.a))
        report = Path(given.report)
        report.parent.mkdir(parents=True, exist_ok=True)
        report.write_text(page.render(outcome), encoding="utf-8")
    except (LedgerError, OSError) as error:
        return _failed(getattr(error, "detail", str(error)))
    except Exception as error:
        sentence = common.sentence_of(error)
        if sentence is None:
            raise
        return _failed(sentence)
    print(text.render(outcome, str(report)), flush=True)
    return SAME if outcome.verdict.is_same else DIFFERENT


def _failed(sentence: str) -> int:
    print(f"{NAME}: could not compare: {one_line(sentence)}", file=sys.stderr, flush=True)
    return FAILED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
