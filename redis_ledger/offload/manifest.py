"""Manifest of a partition: the offset ranges of its log that are in Parquet, their files, and the plan for the next.

    offset    0        4000       9100            12000            end
              |segment |  segment |    ledgers in Redis            |
    start ────┘                   └ offloaded                      stable, next

    plan       fixed stretches and file names, stored before the first byte is written; a rerun resumes it
    published  one script call adds the plan's segments to the manifest and moves the offloaded offset to their end
    afterwards ledgers that end below the offloaded offset lose their payload; the log keeps its entries

A stretch is a range of offsets that one file holds.  Segments are adjacent; a gap can only lie below the log start,
where retention was faster than offloading.  A segment holds the committed records of its stretch: aborted records,
markers and compaction leave gaps in the offsets.  The manifest is in Redis, and a file that it does not name does not
count.  Pure.
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

SEGMENTS_MAX = 1_000  # per page: about 250 kB
_PLACE = re.compile(r"([0-9a-zA-Z-]{1,64})\.(\d{1,9})\.(\d{1,15})\.(\d{1,18})", re.ASCII)


class Stretch(msgspec.Struct, frozen=True, gc=False):
    """Offsets from first to end (exclusive), and the name of their file in the object store.

    The log start may move into the stretch while it is written; records below the log start are then left out.
    """

    first: int
    end: int
    file: str


class Segment(msgspec.Struct, frozen=True, gc=False):
    """A stretch that was written.

    file      relative to the object store; "" if the stretch holds no committed record
    records   rows in the file
    bytes     size of the file
    min_ms, max_ms   least and greatest record timestamp; -1 if there is no record
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
    """version: rises with every change.  segments: ascending and adjacent."""

    version: int
    segments: list[Segment]

    @property
    def end(self) -> int:
        return self.segments[-1].end if self.segments else 0

    def segment_at(self, offset: int) -> Segment | None:
        """Returns the segment whose stretch contains the offset."""
        at = bisect_right(self.segments, offset, key=attrgetter("first")) - 1
        if at < 0 or offset >= self.segments[at].end:
            return None
        return self.segments[at]


class PageToken(NamedTuple):
    """Start of a page of a topic's manifests: the partition, and the first offset of the segment to begin with.

    As text: 9dcc8ade.0.7.9100.  If the manifest has another version by then, the partition starts over, because the
    earlier pages no longer fit.
    """

    topic_id: str
    partition: int
    version: int
    first: int

    def __str__(self) -> str:
        return ".".join(map(str, self))

    @classmethod
    def parse(cls, text: str) -> PageToken:
        """Raises InvalidRequest."""
        found = _PLACE.fullmatch(text)
        if found is None:
            raise InvalidRequest(f"after is {text[:100]!r}, which is not a page token; use the one of the page before.")
        return cls(found[1], int(found[2]), int(found[3]), int(found[4]))

    def cut(self, partition: int, manifest: Manifest, limit: int) -> tuple[Manifest, PageToken | None]:
        """Returns one page of a partition, `limit` segments at most, and the token of the next page if there is one."""
        segments, begin = manifest.segments, 0
        if (partition, manifest.version) == (self.partition, self.version):
            begin = bisect_left(segments, self.first, key=attrgetter("first"))
        end = begin + limit
        rest = None
        if end < len(segments):
            rest = PageToken(self.topic_id, partition, manifest.version, segments[end].first)
        return Manifest(manifest.version, segments[begin:end]), rest


def is_chain(stretches: Sequence[Stretch | Segment], first: int) -> bool:
    """Whether they are adjacent from `first` on, none of them empty."""
    for each in stretches:
        if each.first != first or each.end <= first:
            return False
        first = each.end
    return True


def folder(topic: str, topic_id: str, partition: int) -> str:
    """Returns the folder of a partition's files.  The topic id separates topics that had the same name."""
    return f"{topic}/{topic_id[:8]}/partition={partition}/"


def segment_file_name(folder: str, first: int, end: int, id: str) -> str:
    """Returns the file name of a stretch.  id: makes the name unique among files of the same stretch."""
    return f"{folder}{first:020d}-{end:020d}-{id}.parquet"


def check_segments(plan: Plan, segments: Sequence[Segment]) -> None:
    """Raises SegmentMismatch unless the segments match the plan's stretches one by one."""
    if len(segments) != len(plan.stretches):
        raise SegmentMismatch(
            f"Plan {plan.id} has {len(plan.stretches)} stretches, not {len(segments)}; send one segment for each."
        )
    for stretch, segment in zip(plan.stretches, segments, strict=True):
        if (segment.first, segment.end) != (stretch.first, stretch.end):
            raise SegmentMismatch(
                f"Plan {plan.id} has the stretch {stretch.first} to {stretch.end}, but the segment is {segment.first} "
                f"to {segment.end}; send the segments in the order of the plan."
            )
        if segment.file not in ("", stretch.file):
            raise SegmentMismatch(
                f"Plan {plan.id} names {stretch.file} for {stretch.first} to {stretch.end}, not {segment.file}; use "
                "the file names of the plan, and no file where there is no record."
            )
        _check_counts(segment)


def segments_to_remove(
    manifest: Manifest, firsts: Sequence[int], added: Sequence[Segment], folder: str
) -> list[Segment]:
    """Returns the segments that `added` replaces.  Raises SegmentMismatch unless both cover the same offsets."""
    leaving = set(firsts)
    removed = [segment for segment in manifest.segments if segment.first in leaving]
    if not removed or len(removed) != len(firsts):
        missing = sorted(leaving.difference(segment.first for segment in removed))
        raise SegmentMismatch(f"No segment begins at {missing[:1] or firsts}; name segments of the manifest.")
    first, end = removed[0].first, removed[-1].end
    if not is_chain(removed, first):
        raise SegmentMismatch("The segments to remove are not adjacent; swap each run of adjacent segments by itself.")
    if not added or not is_chain(added, first) or added[-1].end != end:
        raise SegmentMismatch(
            f"The segments to remove cover {first} to {end}, those to add do not; add adjacent segments from "
            f"{first} to {end}."
        )
    # A removed segment may be added again unchanged: such a swap only raises the version.
    files = {segment.file for segment in manifest.segments if segment.file and segment not in added}
    for segment in added:
        name = segment.file.removeprefix(folder)
        if segment.file and (name == segment.file or "/" in name or segment.file in files):
            raise SegmentMismatch(
                f"{segment.file} is not allowed as the file of {segment.first} to {segment.end}; use a new name in "
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
            f"{segment.file!r}; a segment has a file if and only if it has records."
        )
