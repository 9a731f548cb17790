"""Plan of a compaction: which segments to rewrite, under which names, and which files are orphans.

    segments     | 60 MB    | 60 MB    | 4 MB | 3 MB | -  | 60 MB    |       - has no record
    keep         | all      | a tenth  | all  | half |    | all      |
    groups                  [ 6 MB       4 MB   1.5 MB   -]                  one new segment for each group

A segment that keeps all records is not rewritten, unless it is small and adjacent to a group with room for it.

A file name has the number of the run that wrote it.  Numbers ascend, and only the last run swaps files in: so a file of
an earlier run that the manifest does not name will never be named.  Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from redis_ledger.offload.manifest import Segment, Stretch, segment_file_name
from redis_ledger.offload.object_store import UNFINISHED

SEGMENT_BYTES = 64 << 20
_ID = "compacted"  # not hexadecimal, unlike the ids of plans
_NAME = re.compile(r"\d{20}-\d{20}-(?P<id>[0-9a-z]+)(\.parquet)?")
_RUN = re.compile(rf"{_ID}(\d+)")


class Group(NamedTuple):
    """Adjacent segments that become one.  kept: records to keep."""

    segments: list[Segment]
    kept: int

    def stretch(self, folder: str, number: int) -> Stretch:
        """number: of the run that writes it."""
        first, end = self.segments[0].first, self.segments[-1].end
        return Stretch(first, end, segment_file_name(folder, first, end, f"{_ID}{number}"))


def groups(segments: Iterable[Segment], kept: Mapping[int, int], bytes_max: int = SEGMENT_BYTES) -> list[Group]:
    """Returns the groups to rewrite, ascending.  kept: records to keep by first offset of the segment, 0 if absent.
    bytes_max: approximate size of a file."""
    found: list[Group] = []
    held: list[Segment] = []
    held_bytes = 0.0

    def close() -> None:
        nonlocal held, held_bytes
        if len(held) > 1 or any(_changes(each, kept) for each in held):
            found.append(Group(held, sum(kept.get(each.first, 0) for each in held)))
        held, held_bytes = [], 0.0

    for segment in segments:
        size = segment.bytes * kept.get(segment.first, 0) / max(1, segment.records)
        may_move = _changes(segment, kept) or size < bytes_max / 2
        is_beside = not held or held[-1].end == segment.first
        if not (may_move and is_beside) or held_bytes + size > bytes_max:
            close()
        if may_move:
            held.append(segment)
            held_bytes += size
    close()
    return found


def _changes(segment: Segment, kept: Mapping[int, int]) -> bool:
    return kept.get(segment.first, 0) < segment.records


class Orphans(NamedTuple):
    """certain: never needed.  earlier: written by earlier runs; certain once those can no longer swap them in."""

    certain: list[str]
    earlier: list[str]


def orphans(there: Iterable[str], needed: Collection[str], number: int) -> Orphans:
    """there: the files of a partition's folder, listed before `needed` was read: those of its manifest and plan.
    number: of this run; files of this and later runs are left alone, and so are foreign files."""
    found = Orphans([], [])
    for file in there:
        name = file.rpartition("/")[2]
        is_unfinished = name.startswith(UNFINISHED)
        if is_unfinished:
            name = name.removeprefix(UNFINISHED).partition("-")[2]
        read = _NAME.fullmatch(name)
        if file in needed or read is None or (not is_unfinished and read[2] is None):
            continue
        run = _RUN.fullmatch(read["id"])
        if run is None:
            if not is_unfinished:  # else an offload may be writing it
                found.certain.append(file)
        elif int(run[1]) < number:
            found.earlier.append(file)
    return found


def is_unchanged(group: Sequence[Segment], now: Iterable[Segment]) -> bool:
    """Whether the manifest still has these segments as they were read."""
    known = {segment.first: segment for segment in now}
    return all(known.get(segment.first) == segment for segment in group)
