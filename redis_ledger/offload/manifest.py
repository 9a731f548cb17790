"""The manifest of a partition: which stretches of its log lie in Parquet, in which file, and which are being written.

    offset    0        4000       9100            12000            end
              |segment |  segment |    ledgers in Redis            |
    start ────┘                   └ cold                           stable, next

    plan       fixed stretches and file names, stored before the first byte is written; a rerun finds it and goes on
    published  the plan's segments join the manifest in one script call, and `cold` moves to their end
    after it   ledgers that end below `cold` lose their payload; the log keeps its entries

Segments lie side by side without a gap, and hold what was committed in their stretch: aborted records and markers leave
gaps in offsets, and a compacted segment more of them.  Redis has the manifest; files are only what it names.  Pure.
Source: KIP-405 (remote log segments), Pulsar's offload of ledgers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter

import msgspec


class Stretch(msgspec.Struct, frozen=True, gc=False):
    """Offsets from first to end (exclusive), and the file that is to hold them, relative to the home of cold data."""

    first: int
    end: int
    file: str


class Segment(msgspec.Struct, frozen=True, gc=False):
    """A stretch as it was written.

    file      relative to the home; "" where the stretch holds no committed record
    records   rows of the file
    bytes     of the file
    min_ms, max_ms   least and greatest record timestamp; -1 where there is no record
    checksum  of the rows, as offload.segment computes it (hex)
    """

    first: int
    end: int
    file: str
    records: int
    bytes: int
    min_ms: int
    max_ms: int
    checksum: str


class Plan(msgspec.Struct, frozen=True, gc=False):
    """id: random; published by it once.  stretches: ascending, side by side, from `cold` on."""

    id: str
    stretches: list[Stretch]


class Manifest(msgspec.Struct, frozen=True, gc=False):
    """version: rises with every change.  segments: ascending, side by side."""

    version: int
    segments: list[Segment]

    @property
    def end(self) -> int:
        return self.segments[-1].end if self.segments else 0

    def holding(self, offset: int) -> Segment | None:
        """The segment whose stretch has the offset."""
        at = bisect_right(self.segments, offset, key=attrgetter("first")) - 1
        if at < 0 or offset >= self.segments[at].end:
            return None
        return self.segments[at]


def is_chain(stretches: Sequence[Stretch | Segment], first: int) -> bool:
    """Whether they lie side by side from `first` on, none of them empty."""
    for each in stretches:
        if each.first != first or each.end <= first:
            return False
        first = each.end
    return True
