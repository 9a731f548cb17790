"""Figures from medians: of both servers, and the figure with the goal, which is a ratio or ours alone.

    judged by ratio      ours_records_per_s   kafka_records_per_s   ratio = the first by the second, with the goal
    judged by itself     seconds_over_timeout, with the goal        kafka_seconds_over_timeout

A ratio's unit ends like that of its operands, so that bench/figures.py treats more of it as better or worse.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NamedTuple

from rich.table import Table

from bench import figures
from bench.figures import Figure, number
from bench.kafka_peer.session import DISK, OURS, PEER, Taken
from bench.lab import Lab, Pace


class Row(NamedTuple):
    """A line of the table; judged: the figure with the goal, or in its place."""

    case: str
    metric: str
    ours: float
    peer: float
    disk: float | None
    judged: Figure | None


@dataclass
class Report:
    """cases: those to report; others are dropped.  peer: the server in the second role, as in names of metrics."""

    cases: Collection[str]
    bench: str = "kafka_peer"
    peer: str = "kafka"
    rows: list[Row] = field(default_factory=list)
    lab: Lab = field(init=False)

    def __post_init__(self) -> None:
        self.lab = Lab(self.bench, Pace())

    def ratio(
        self, taken: Taken, case: str, metric: str, unit: str, goal: float | None = None, name: str | None = None
    ) -> None:
        """name: of the ratio's own metric; None: both values are shown, and not divided."""
        if (values := self._values(taken, case, metric)) is None:
            return
        ours, peer, disk = values
        self.lab.note(case, f"ours_{metric}", ours, unit, "process")
        self.lab.note(case, f"{self.peer}_{metric}", peer, unit, "process")
        self.lab.note(case, f"ours_{metric}", disk, unit, "disk")
        judged = None
        if name is not None and peer:
            self.lab.note(case, name, ours / peer, f"of {self.peer}'s {unit}", "process", goal)
            judged = self.lab.figures[-1]
        self.rows.append(Row(case, metric, ours, peer, disk, judged))

    def alone(self, taken: Taken, case: str, metric: str, unit: str, goal: float | None) -> None:
        """Ours has the goal, the peer's is shown beside it."""
        if (values := self._values(taken, case, metric)) is None:
            return
        ours, peer, disk = values
        self.lab.note(case, metric, ours, unit, "process", goal)
        judged = self.lab.figures[-1]
        self.lab.note(case, f"{self.peer}_{metric}", peer, unit, "process")
        self.rows.append(Row(case, metric, ours, peer, disk, judged))

    def _values(self, taken: Taken, case: str, metric: str) -> tuple[float, float, float | None] | None:
        """None: not a selected case, or not available on this machine."""
        measured = taken.get(case, {})
        if case not in self.cases or any(metric not in measured.get(label, {}) for label in (OURS, PEER)):
            return None
        disk = measured[DISK][metric] if DISK in measured else None
        return measured[OURS][metric], measured[PEER][metric], disk

    def write(self) -> None:
        """Writes to the latest figures, in place of the lines of the cases measured now."""
        measured = {figure.case for figure in self.lab.figures}
        if not measured:
            return
        kept = [each for each in figures.read() if each.bench == self.bench and each.case not in measured]
        figures.replace(kept + self.lab.figures)

    def table(self) -> Table:
        table = Table("case", "metric", box=None, pad_edge=False)
        for heading in ("ours", self.peer.capitalize(), "ours at disk", "ratio", "goal"):
            table.add_column(heading, justify="right")
        table.add_column("")
        colours = {"met": "green", "missed": "red"}
        for row in self.rows:
            judged, sign = row.judged, ""
            word = figures.verdict(judged) if judged is not None else ""
            goal = judged.goal if judged is not None else None
            if judged is not None:
                sign = "≥ " if judged.unit.endswith(figures.MORE_IS_BETTER) else "≤ "
            table.add_row(
                row.case,
                row.metric,
                number(row.ours),
                number(row.peer),
                "" if row.disk is None else number(row.disk),
                number(row.ours / row.peer) if row.peer else "",
                "" if goal is None else f"{sign}{number(goal)}",
                f"[{colours[word]}]{word}[/]" if word else "",
            )
        return table

    def missed(self) -> list[str]:
        return [f"{each.case} {each.metric}" for each in self.lab.figures if each.is_met is False]
