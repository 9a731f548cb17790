"""Charts of the page, as shapes that its template writes as SVG; they have no text, so they scale to any width.

    through time     ▂▅█▆▂   A, upwards                 along offsets   0  A ████░░██████
                     ▂▅▇▆▂   B, downwards; a bin                           B ████░░██▒███
                             that differs in red

Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import NamedTuple

from redis_ledger.spark.pipelines.reconcile_bins import Bins, Cells

BAR, GAP, HALF = 10, 1.5, 100
LEVELS = 4


class Shape(NamedTuple):
    """A rectangle.  style: a CSS class of the page.  said: its tooltip."""

    x: float
    y: float
    width: float
    height: float
    style: str
    said: str = ""


class Chart(NamedTuple):
    """labels: of the start, the middle and the end."""

    width: int
    height: int
    shapes: list[Shape]
    labels: Sequence[str] = ()


class Strip(NamedTuple):
    """The two rows of a partition."""

    partition: int
    first: int
    end: int
    rows: list[tuple[str, Chart]]


def through_time(bins: Bins, *, letters: str) -> Chart:
    """letters: the sides with timestamps; a single one is drawn upwards."""
    if letters == "B":
        alone = through_time(Bins(bins.first_ms, bins.width_ms, bins.b, bins.a), letters="A")
        return alone._replace(
            shapes=[each._replace(style="b", said=each.said.replace(": A ", ": B ")) for each in alone.shapes]
        )
    is_two = letters == "AB"
    most = max(1, *bins.a, *bins.b)
    shapes = []
    for number, (a, b) in enumerate(zip(bins.a, bins.b, strict=True)):
        x, wide = number * BAR + GAP / 2, BAR - GAP
        said = f"{moment(bins.first_ms + number * bins.width_ms)}: A {a:,}" + (f", B {b:,}" if is_two else "")
        style = " off" if is_two and a != b else ""
        if a:
            high = max(2.0, HALF * a / most)
            shapes.append(Shape(x, round(HALF - high, 1), wide, round(high, 1), "a" + style, said))
        if b:
            shapes.append(Shape(x, HALF + 1, wide, round(max(2.0, HALF * b / most), 1), "b" + style, said))
        if is_two and a != b:
            # A difference may be too small to be visible as a height.
            shapes.append(Shape(x, HALF - 2, wide, 5, "mark", said))
    length = len(bins.a)
    at = [bins.first_ms + bins.width_ms * number for number in (0, length // 2, length)]
    height = 2 * HALF + 1 if is_two else HALF
    return Chart(length * BAR, height, shapes, [moment(each) for each in at])


def along_offsets(cells: Cells, *, letters: str, is_same_log: bool) -> Strip:
    """is_same_log: an offset is the same record on both sides, so an offset on only one side is marked."""
    sides = {"A": cells.a, "B": cells.b}
    rows = []
    for letter in letters:
        other = sides["B" if letter == "A" else "A"]
        levels = [
            _level(count, cells, is_off=is_same_log and len(letters) == 2 and count < beside)
            for count, beside in zip(sides[letter], other, strict=True)
        ]
        shapes = list(_runs(levels, letter.lower(), cells))
        rows.append((letter, Chart(len(levels), 1, shapes)))
    return Strip(cells.partition, cells.first, cells.end, rows)


def _level(count: int, cells: Cells, *, is_off: bool) -> str:
    """Fill level of a cell, "" to "4"; "off" if records are missing."""
    if is_off:
        return "off"
    return "" if count == 0 else str(min(LEVELS, 1 + LEVELS * (count - 1) // cells.width))


def _runs(levels: Sequence[str], letter: str, cells: Cells) -> Iterator[Shape]:
    """Merges adjacent cells of the same style into one shape."""
    for level, group in groupby(enumerate(levels), key=lambda each: each[1]):
        places = [number for number, _ in group]
        if level:
            first = cells.first + places[0] * cells.width
            end = min(cells.end, cells.first + (places[-1] + 1) * cells.width)
            style = "off" if level == "off" else f"{letter} l{level}"
            yield Shape(places[0], 0, len(places), 1, style, f"offsets {first:,} to {end:,}")


def moment(ms: int) -> str:
    """Formats a time; years that Python does not support as a number."""
    try:
        found = datetime.fromtimestamp(ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return f"{ms} ms"
    return f"{found:%Y-%m-%d %H:%M:%S}" + (f".{found.microsecond // 1000:03}" if ms % 1000 else "")
