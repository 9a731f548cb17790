"""A reconciliation in a few lines, for a terminal.  Control characters in records and names are escaped.  Pure."""

from __future__ import annotations

from redis_ledger.spark.pipelines.progress import size
from redis_ledger.spark.pipelines.reconcile_facts import SideFacts
from redis_ledger.spark.pipelines.reconcile_result import Reconciliation
from redis_ledger.spark.pipelines.report.charts import moment
from redis_ledger.terminal import one_line

Row = tuple[str, list[str]]
SAMPLES = 3
TEXT_MAX = 100


def facts(outcome: Reconciliation) -> list[Row]:
    """Returns one row for each fact that at least one side has."""
    sides = [each for each in (outcome.a, outcome.b) if each is not None]
    rows: list[Row] = [
        ("records", [f"{each.records:,}" for each in sides]),
        ("bytes of contents", [size(each.bytes) for each in sides]),
    ]
    if outcome.matched is not None:
        found = outcome.matched
        rows.append(("distinct records", [f"{found.distinct_a:,}", f"{found.distinct_b:,}"]))
        rows.append(("duplicates", [f"{found.duplicates_a:,}", f"{found.duplicates_b:,}"]))
    rows.append(("partitions", [_partitions(each) for each in sides]))
    rows.append(("offsets without a record", [_if_offsets(each, each.without_record) for each in sides]))
    if any(each.unordered for each in sides):
        rows.append(("out of order", [_if_offsets(each, each.unordered) for each in sides]))
    spans = [each.times() for each in sides]
    rows.append(("first time", [moment(span[0]) if span else "–" for span in spans]))
    rows.append(("last time", [moment(span[1]) if span else "–" for span in spans]))
    rows.append(("checksum", [each.checksum for each in sides]))
    return [(name, values) for name, values in rows if any(value != "–" for value in values)]


def _partitions(side: SideFacts) -> str:
    named = [each for each in side.partitions if each.partition >= 0]
    return f"{len(named):,}" if named else "–"


def _if_offsets(side: SideFacts, number: int) -> str:
    return f"{number:,}" if side.has_offsets else "–"


def render(outcome: Reconciliation, report: str) -> str:
    sides = [each for each in (outcome.a, outcome.b) if each is not None]
    lines = [outcome.verdict.headline, ""]
    rows: list[Row] = [("", [f"{each.letter}: {each.name}" for each in sides]), *facts(outcome)]
    widths = [max(len(name) for name, _ in rows)]
    widths += [max(len(values[column]) for _, values in rows) for column in range(len(sides))]
    for name, values in rows:
        cells = [name, *values]
        lines.append("  " + "   ".join(cell.ljust(wide) for cell, wide in zip(cells, widths, strict=True)).rstrip())
    lines += [
        "",
        *(f"  - {each}." for each in outcome.verdict.wrong),
        *(f"  - {each}" for each in outcome.verdict.notes),
    ]
    for kind in outcome.samples:
        lines.append(f"  {kind.title}:")
        lines += [f"    {_short(each.contents)}" for each in kind.shown[:SAMPLES]]
    while lines[-1] == "":
        lines.pop()
    return "\n".join(one_line(each) for each in [*lines, "", f"  report: {report}"])


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= TEXT_MAX else flat[: TEXT_MAX - 1] + "…"
