"""Translation of source offsets to target offsets, by ranges with a constant difference.  Pure.

Stretch(source=100, target=40, length=25)     100..124 of the source are 40..64 of the target
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Stretch(NamedTuple):
    source: int
    target: int
    length: int

    @property
    def source_end(self) -> int:
        return self.source + self.length

    @property
    def target_end(self) -> int:
        return self.target + self.length


def stretches(pairs: Iterable[tuple[int, int]]) -> list[Stretch]:
    """Combines (source, target) offsets, ascending, to ranges."""
    found: list[Stretch] = []
    for source, target in pairs:
        last = found[-1] if found else None
        if last is not None and (last.source_end, last.target_end) == (source, target):
            found[-1] = last._replace(length=last.length + 1)
        else:
            found.append(Stretch(source, target, 1))
    return found


class OffsetTranslation:
    """The ranges of one partition, in order; 24 bytes each, because a mirror that runs for weeks has millions."""

    def __init__(self) -> None:
        self._sources, self._targets, self._lengths = array("q"), array("q"), array("q")

    def _at(self, index: int) -> Stretch:
        return Stretch(self._sources[index], self._targets[index], self._lengths[index])

    def add(self, stretch: Stretch) -> None:
        """Adds a range; known or older ranges are ignored."""
        last = self._at(-1) if self._sources else None
        if last is not None and stretch.source < last.source_end:
            return
        if last is not None and (last.source_end, last.target_end) == (stretch.source, stretch.target):
            self._lengths[-1] += stretch.length
            return
        self._sources.append(stretch.source)
        self._targets.append(stretch.target)
        self._lengths.append(stretch.length)

    def translate(self, offset: int) -> int:
        """The target offset of the first record at or after a source offset; 0 if nothing has been mirrored yet.

        An offset in a gap of the source maps to the record after the gap.
        """
        if not self._sources:
            return 0
        at = bisect_right(self._sources, offset) - 1
        if at < 0:
            return self._targets[0]
        stretch = self._at(at)
        if offset < stretch.source_end:
            return stretch.target + offset - stretch.source
        return self._targets[at + 1] if at + 1 < len(self._targets) else stretch.target_end

    @property
    def source_end(self) -> int:
        return self._at(-1).source_end if self._sources else 0

    def all(self) -> Sequence[Stretch]:
        return tuple(self._at(index) for index in range(len(self._sources)))
