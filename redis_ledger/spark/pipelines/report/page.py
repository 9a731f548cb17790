"""A reconciliation as one HTML file without external resources, for any screen size and dark mode.  Pure."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import jinja2

from redis_ledger.spark.pipelines.progress import size
from redis_ledger.spark.pipelines.reconcile_facts import PartitionFacts
from redis_ledger.spark.pipelines.reconcile_result import Reconciliation
from redis_ledger.spark.pipelines.report import charts, text

PARTITIONS_MAX = 200


def render(outcome: Reconciliation) -> str:
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters.update(number=lambda number: f"{number:,}", moment=charts.moment, size=size)
    template = environment.from_string((files(__package__) / "page.html").read_text(encoding="utf-8"))
    return template.render(_said(outcome)) + "\n"


def _said(outcome: Reconciliation) -> dict[str, Any]:
    sides = [each for each in (outcome.a, outcome.b) if each is not None]
    letters = "".join(each.letter for each in sides)
    is_same_log = any(name == "key" and value == "offset" for name, value in outcome.asked)
    chart = outcome.through_time
    rows = partitions(outcome)
    timed = "".join(each.letter for each in sides if each.times() is not None)
    return {
        "verdict": outcome.verdict,
        "sides": sides,
        "facts": text.facts(outcome),
        "checks": outcome.checks,
        "samples": outcome.samples,
        "time": None if chart is None else charts.through_time(chart, letters=timed),
        "timed": timed,
        "bin": None if chart is None else _duration(chart.width_ms),
        "strips": [
            charts.along_offsets(each, letters=letters, is_same_log=is_same_log) for each in outcome.along_offsets
        ],
        "partitions": rows[:PARTITIONS_MAX],
        "partitions_left": max(0, len(rows) - PARTITIONS_MAX),
        "has_offsets": any(each.has_offsets for each in sides),
        "is_ordered": any(name == "ordered by" for name, _ in outcome.asked),
        "is_same_log": is_same_log and len(sides) == 2,
        "asked": outcome.asked,
        "began": outcome.began.strftime("%Y-%m-%d %H:%M:%S UTC"),
        "seconds": f"{outcome.seconds:.1f}",
    }


class Row:
    """A partition of both sides.  is_off: the sides differ in it."""

    def __init__(self, number: int, of: list[PartitionFacts | None]) -> None:
        self.number, self.of = number, of
        known = [each for each in of if each is not None]
        self.is_off = len(of) == 2 and (len(known) < 2 or known[0].checksum != known[1].checksum)


def partitions(outcome: Reconciliation) -> list[Row]:
    """Partitions that differ come first; empty if no side has partitions."""
    sides = [each for each in (outcome.a, outcome.b) if each is not None]
    by_number = [{each.partition: each for each in side.partitions if each.partition >= 0} for side in sides]
    if not all(by_number):
        return []
    rows = [Row(number, [each.get(number) for each in by_number]) for number in sorted(set().union(*by_number))]
    return sorted(rows, key=lambda row: not row.is_off)


def _duration(ms: int) -> str:
    for name, unit in (("week", 604_800_000), ("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000),
                       ("second", 1000)):  # fmt: skip
        if ms % unit == 0:
            number = ms // unit
            return f"one {name}" if number == 1 else f"{number} {name}s"
    return f"{ms} ms"
