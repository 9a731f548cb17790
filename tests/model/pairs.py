"""How often each operation ran while another one was open, or right after it, on the same topic or transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tests.model.steps import Step

if TYPE_CHECKING:
    from tests.model.operations import Row


class Pairs:
    """overlapping, behind: first operation and second → how often."""

    def __init__(self) -> None:
        self.overlapping: Counter[tuple[str, str]] = Counter()
        self.behind: Counter[tuple[str, str]] = Counter()
        self._last: dict[str, str] = {}  # what was touched → the last operation
        self._kinds: dict[str, set[str]] = {}  # operation → topic, transaction, producer

    def count(self, step: Step, row: Row, open_steps: Sequence[tuple[Step, Row]]) -> None:
        """A step begins while these are open."""
        touched = row.touches(dict(step.arguments))
        self._kinds.setdefault(step.row, set()).update(name.partition(" ")[0] for name in touched)
        for other, other_row in open_steps:
            if touched & other_row.touches(dict(other.arguments)):
                self.overlapping[other.row, step.row] += 1
        for name in touched:
            if name in self._last:
                self.behind[self._last[name], step.row] += 1
            self._last[name] = step.row

    def forget_last(self) -> None:
        """A new history begins."""
        self._last = {}

    def table(self, rows: Sequence[Row]) -> str:
        """Ordered pairs: how often the first was open, or just done; then those at zero that could have been."""
        names, possible = [row.name for row in rows], 0
        lines = [f"{'first, second':50} {'open':>6} {'done':>6}"]
        zero = []
        for first in names:
            for second in names:
                counts = self.overlapping[first, second], self.behind[first, second]
                if any(counts):
                    lines.append(f"{first + ', ' + second:50} {counts[0]:6} {counts[1]:6}")
                possible += self._can_overlap(first, second)
                if not counts[0] and self._can_overlap(first, second):
                    zero.append(f"{first}, {second}")
        return "\n".join([*lines, f"never open: {len(zero)} of {possible} pairs that touch the same", *zero])

    def _can_overlap(self, first: str, second: str) -> bool:
        """Both touch things of one kind.  A Kafka producer waits for its answer, and so overlaps a repetition only."""
        common = self._kinds.get(first, set()) & self._kinds.get(second, set())
        return bool(common - {"producer"}) or (first == second and bool(common))
