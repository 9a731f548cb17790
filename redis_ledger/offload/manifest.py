"""The manifest of a partition: which stretches of its log lie in Parquet, in which file, and which are being written.

    offset    0        4000       9100            12000            end
              |segment |  segment |    ledgers in Redis            |
    start ────┘                   └ offloaded                      stable, next

    plan       fixed stretches and file names, stored before the first byte is written; a rerun finds it and goes on
    published  the plan's segments join the manifest in one script call, and the offloaded offset moves to their end
    after it   ledgers that end below the offloaded offset lose their payload; the log keeps its entries

Segments lie side by side; where retention was quicker than offloading there is a gap, and it is below the log start.
They hold what was committed in their stretch: aborted records and markers leave gaps in offsets, and compaction leaves
more.  Redis has the manifest; files are only what it names.  Pure.
Source: KIP-405 (remote log segments), Pulsar's offload of ledgers.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

import msgspec

from redis_ledger.errors import InvalidRequest, SegmentMismatch

SEGMENTS_MAX = 1_000  # of one page: some 250 kB
_PLACE = re.compile(r"([0-9a-zA-Z-]{1,64})\.(\d{1,9})\.(\d{1,15})\.(\d{1,18})", re.ASCII)


class Stretch(msgspec.Struct, frozen=True, gc=False):
    """Offsets from first to end (exclusive), and the file that is to hold them, relative to the object store.

    The log start may move into it while it is written: what is below is not there any more.
    """

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
    """id: random; a plan is published once.  stretches: ascending, no gaps, from the offloaded offset or log start."""

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


class Place(NamedTuple):
    """Where a page of the manifests of a topic begins: with the segment of a partition that has this first offset.

    As text 9dcc8ade.0.7.9100.  A partition whose manifest is of another version by then is begun anew, for what was
    shown of it no longer fits.
    """

    topic_id: str
    partition: int
    version: int
    first: int

    def __str__(self) -> str:
        return ".".join(map(str, self))

    @classmethod
    def parse(cls, text: str) -> Place:
        """Raises InvalidRequest."""
        found = _PLACE.fullmatch(text)
        if found is None:
            raise InvalidRequest(f"after is {text[:100]!r}, which no page has returned; give that of the page before.")
        return cls(found[1], int(found[2]), int(found[3]), int(found[4]))

    def cut(self, partition: int, manifest: Manifest, limit: int) -> tuple[Manifest, Place | None]:
        """What the page shows of a partition, `limit` segments at most, and where the next page begins if that is not
        all of it."""
        segments, begin = manifest.segments, 0
        if (partition, manifest.version) == (self.partition, self.version):
            begin = bisect_left(segments, self.first, key=attrgetter("first"))
        end = begin + limit
        rest = None
        if end < len(segments):
            rest = Place(self.topic_id, partition, manifest.version, segments[end].first)
        return Manifest(manifest.version, segments[begin:end]), rest


def is_chain(stretches: Sequence[Stretch | Segment], first: int) -> bool:
    """Whether they lie side by side from `first` on, none of them empty."""
    for each in stretches:
        if each.first != first or each.end <= first:
            return False
        first = each.end
    return True


def folder(topic: str, topic_id: str, partition: int) -> str:
    """Of a partition's files, relative to the home; the id keeps a topic apart from one of its name before it."""
    return f"{topic}/{topic_id[:8]}/partition={partition}/"


def file_of(folder: str, first: int, end: int, id: str) -> str:
    """The file of a stretch; id: of the plan, or whatever else tells it from other files of the same stretch."""
    return f"{folder}{first:020d}-{end:020d}-{id}.parquet"


def check_against(plan: Plan, segments: Sequence[Segment]) -> None:
    """Raises SegmentMismatch unless the segments are the plan's stretches, one by one."""
    if len(segments) != len(plan.stretches):
        raise SegmentMismatch(
            f"Plan {plan.id} has {len(plan.stretches)} stretches, not {len(segments)}; give one segment for each."
        )
    for stretch, segment in zip(plan.stretches, segments, strict=True):
        if (segment.first, segment.end) != (stretch.first, stretch.end):
            raise SegmentMismatch(
                f"Plan {plan.id} has the stretch {stretch.first} to {stretch.end} where the segment {segment.first} to "
                f"{segment.end} was given; give the segments in the order of the plan."
            )
        if segment.file not in ("", stretch.file):
            raise SegmentMismatch(
                f"Plan {plan.id} names {stretch.file} for {stretch.first} to {stretch.end}, not {segment.file}; write "
                "files under the names of the plan, and none where there is no record."
            )
        _check_counts(segment)


def to_swap(manifest: Manifest, firsts: Sequence[int], added: Sequence[Segment], folder: str) -> list[Segment]:
    """The segments that leave when those added come.  Raises SegmentMismatch unless both cover the same stretch."""
    leaving = set(firsts)
    removed = [segment for segment in manifest.segments if segment.first in leaving]
    if not removed or len(removed) != len(firsts):
        missing = sorted(leaving.difference(segment.first for segment in removed))
        raise SegmentMismatch(
            f"There is no segment that begins at {missing[:1] or firsts}; name those the manifest has."
        )
    first, end = removed[0].first, removed[-1].end
    if not is_chain(removed, first):
        raise SegmentMismatch("The segments to remove do not lie side by side; swap each run of them by itself.")
    if not added or not is_chain(added, first) or added[-1].end != end:
        raise SegmentMismatch(
            f"The segments to remove cover {first} to {end}, those to add do not; add segments side by side from "
            f"{first} to {end}."
        )
    # One of those that leave may come back as it was: a swap that only makes another version.
    files = {segment.file for segment in manifest.segments if segment.file and segment not in added}
    for segment in added:
        name = segment.file.removeprefix(folder)
        if segment.file and (name == segment.file or "/" in name or segment.file in files):
            raise SegmentMismatch(
                f"{segment.file} cannot be the file of {segment.first} to {segment.end}; give it a new name in "
                f"{folder}."
            )
        _check_counts(segment)
    return removed


def _check_counts(segment: Segment) -> None:
    stretch, has_file = f"{segment.first} to {segment.end}", segment.file != ""
    if segment.records > segment.end - segment.first:
        raise SegmentMismatch(f"The stretch {stretch} cannot hold {segment.records} records.")
    if has_file != (segment.records > 0) or has_file != (segment.bytes > 0):
        raise SegmentMismatch(
            f"The segment {stretch} has {segment.records} records and {segment.bytes} bytes in the file "
            f"{segment.file!r}; a segment without records has no file, any other has one."
        )
