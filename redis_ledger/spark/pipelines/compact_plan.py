"""Compaction, decided: which segments are written anew, under which names, and which files nobody needs.

    segments     | 60 MB    | 60 MB    | 4 MB | 3 MB | -  | 60 MB    |       - has no record
    stay         | all      | a tenth  | all  | half |    | all      |
    groups                  [ 6 MB       4 MB   1.5 MB   -]                  one new segment for each group

A segment that keeps everything is left alone, unless it is small and stands beside others that fit in with it.

Files are named by the run that wrote them.  Runs have ascending numbers, and only the last one puts its files in place:
so what an earlier one wrote and the manifest does not have, it never will.  Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from redis_ledger.offload.manifest import Segment, Stretch, segment_file_name
from redis_ledger.offload.object_store import UNFINISHED

SEGMENT_BYTES = 64 << 20
_ID = "compacted"  # not hexadecimal, as the ids of plans are
_NAME = re.compile(r"\d{20}-\d{20}-(?P<id>[0-9a-z]+)(\.parquet)?")
_RUN = re.compile(rf"{_ID}(\d+)")


class Group(NamedTuple):
    """Segments side by side that become one.  kept: records that stay."""

    segments: list[Segment]
    kept: int

    def stretch(self, folder: str, number: int) -> Stretch:
        """number: of the run that writes it."""
        first, end = self.segments[0].first, self.segments[-1].end
        return Stretch(first, end, segment_file_name(folder, first, end, f"{_ID}{number}"))


def groups(segments: Iterable[Segment], kept: Mapping[int, int], bytes_max: int = SEGMENT_BYTES) -> list[Group]:
    """What is to be written anew, ascending.  kept: how many records of a segment stay, by its first offset; none
    unless told.  bytes_max: about, of one file."""
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
    """certain: nobody can need them.  earlier: written by earlier runs; certain once those cannot put them in place."""

    certain: list[str]
    earlier: list[str]


def orphans(there: Iterable[str], needed: Collection[str], number: int) -> Orphans:
    """there: the files of a partition's folder, listed before `needed` was read: those of its manifest and its plan.
    number: of this run; what it and later ones write is left alone, and what is not ours altogether."""
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
            if not is_unfinished:  # else a job that offloads may be writing it
                found.certain.append(file)
        elif int(run[1]) < number:
            found.earlier.append(file)
    return found


def is_unchanged(group: Sequence[Segment], now: Iterable[Segment]) -> bool:
    """Whether the manifest still has them as they were read."""
    known = {segment.first: segment for segment in now}
    return all(known.get(segment.first) == segment for segment in group)
