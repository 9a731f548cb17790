"""Where offsets of the source went: stretches of offsets that kept their distance, and the place of one in them.  Pure.

Stretch(source=100, target=40, length=25)     100..124 of the source are 40..64 of the target
"""

from __future__ import annotations

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
    """pairs: (source, target) of every record, ascending."""
    found: list[Stretch] = []
    for source, target in pairs:
        last = found[-1] if found else None
        if last is not None and (last.source_end, last.target_end) == (source, target):
            found[-1] = last._replace(length=last.length + 1)
        else:
            found.append(Stretch(source, target, 1))
    return found


class Places:
    """The stretches of one partition, in order."""

    def __init__(self) -> None:
        self._all: list[Stretch] = []
        self._sources: list[int] = []

    def add(self, stretch: Stretch) -> None:
        """A stretch that is known already, or lies behind what is known, adds nothing."""
        last = self._all[-1] if self._all else None
        if last is not None and stretch.source < last.source_end:
            return
        if last is not None and (last.source_end, last.target_end) == (stretch.source, stretch.target):
            self._all[-1] = last._replace(length=last.length + stretch.length)
            return
        self._all.append(stretch)
        self._sources.append(stretch.source)

    def translate(self, offset: int) -> int:
        """Where on the target the first record is whose offset on the source is as high; 0 when nothing was mirrored
        yet, for then all of that is still to come.  What lies in a gap of the source begins behind it."""
        if not self._all:
            return 0
        at = bisect_right(self._sources, offset) - 1
        if at < 0:
            return self._all[0].target
        stretch = self._all[at]
        if offset < stretch.source_end:
            return stretch.target + offset - stretch.source
        return self._all[at + 1].target if at + 1 < len(self._all) else stretch.target_end

    @property
    def source_end(self) -> int:
        return self._all[-1].source_end if self._all else 0

    def all(self) -> Sequence[Stretch]:
        return tuple(self._all)
