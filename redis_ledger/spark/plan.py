"""Plans a batch: the ranges of offsets that it reads, their tasks, and losses.

    checkpoint 10        log start 5                          stable 40       log end 45
        orders:0    5 ..... 10 ─────── range of this batch ──────── 40 ...... 45
                            │  task  │  task  │  task  │

Pure functions: offsets of partitions in, ranges out.  A batch is planned from two offsets alone, so that Spark can
request the same one again after a crash.

Offloaded records are read from their files, by tasks that need no broker:

    segments           0 ──────── 4000 ─────── 9100 ┐ offloaded
        orders:0              2500 ──── file, file ─┼─ range of this batch, from the broker ── 12000
"""

from __future__ import annotations

import itertools
import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from redis_ledger.errors import OffsetOutOfRange
from redis_ledger.ids import TopicPartition
from redis_ledger.offload.manifest import Segment
from redis_ledger.spark.offset_options import Offsets, PartitionEnds

_log = logging.getLogger("redis_ledger.spark")


class Offloaded(NamedTuple):
    """Offloaded part of a partition.  home: the object store.  segments: ascending and adjacent."""

    home: str
    segments: Sequence[Segment]


class Range(NamedTuple):
    """Offsets from first to end (exclusive) of one partition.  segments: the files to read; empty: read from a broker.
    home: the object store of the segments."""

    partition: TopicPartition
    first: int
    end: int
    bytes_per_offset: float = 1024.0
    segments: tuple[Segment, ...] = ()
    home: str = ""

    @property
    def offsets(self) -> int:
        return self.end - self.first

    @property
    def bytes(self) -> float:
        return self.offsets * self.bytes_per_offset


class PlannedRanges(NamedTuple):
    """losses: one sentence for each range that was requested and no longer exists."""

    ranges: list[Range]
    losses: list[str]


def plan_ranges(
    starts: Offsets, ends: Offsets, partition_ends: Mapping[TopicPartition, PartitionEnds]
) -> PlannedRanges:
    """Returns the ranges between starts and ends that exist.  A partition without a start is new and begins at 0."""
    ranges, losses = [], []
    for partition in sorted(ends):
        first, end = starts.get(partition, 0), ends[partition]
        if first == end:
            continue
        current = partition_ends.get(partition)
        if current is None:
            losses.append(f"{partition} no longer exists.")
            continue
        if first > current.log_end:
            losses.append(f"{partition} ends at {current.log_end}, below the start offset {first}.")
            continue
        if first < current.start:
            losses.append(f"{partition}: offsets {first} to {min(end, current.start)} have been deleted.")
            first = current.start
        if end > current.log_end:
            losses.append(f"{partition}: offsets {current.log_end} to {end} do not exist.")
            end = current.log_end
        if first < end:
            ranges.append(Range(partition, first, end, current.bytes_per_offset))
    return PlannedRanges(ranges, losses)


def remaining_ranges(starts: Offsets, partition_ends: Mapping[TopicPartition, PartitionEnds]) -> PlannedRanges:
    """Returns the ranges that remain for a stream at `starts`."""
    ranges, losses = [], []
    losses += [f"{partition} no longer exists." for partition in sorted(starts.keys() - partition_ends.keys())]
    for partition, current in sorted(partition_ends.items()):
        first = starts.get(partition, 0)
        if first > current.log_end:
            losses.append(f"{partition} ends at {current.log_end}, below {first}, the position of this query.")
            first = current.start
        elif first < current.start:
            losses.append(f"{partition}: offsets {first} to {current.start} have been deleted before they were read.")
            first = current.start
        # A reader of uncommitted records may be ahead of the limit for committed ones.
        ranges.append(Range(partition, first, max(first, current.end), current.bytes_per_offset))
    return PlannedRanges(ranges, losses)


def without_reset_starts(starts: Offsets, ends: Offsets) -> Offsets:
    """Returns the starts of a stream's batch without those above the end, which `remaining_ranges` has reset."""
    return {partition: start for partition, start in starts.items() if start <= ends.get(partition, start)}


def check_loss(losses: Sequence[str], *, fail: bool) -> None:
    """Raises OffsetOutOfRange if there are losses and `fail` is set; else logs them."""
    if losses and fail:
        more = f" (and {len(losses) - 3} more)" if len(losses) > 3 else ""
        raise OffsetOutOfRange(
            f"Records to be read no longer exist. {' '.join(losses[:3])}{more}"
            " Set failOnDataLoss to false to continue with those that exist."
        )
    for loss in losses:
        _log.warning("skipping records: %s", loss)


def batch_ends(ranges: Sequence[Range], offsets_max: int | None, bytes_max: int | None) -> Offsets:
    """Returns the end offsets of a stream's batch within these limits.

    Partitions share the limit in proportion to their backlog.  Each with a backlog gets at least one record; if there
    are more partitions than records, they take turns.  Bytes are estimated by the average of each partition, and one
    record is always allowed.
    """
    counts = [each.offsets for each in ranges]
    limit, size = sum(counts), sum(each.bytes for each in ranges)
    if bytes_max is not None and size > bytes_max:
        limit = max(1, int(limit * bytes_max / size))
    granted = proportional_shares(counts, limit if offsets_max is None else min(limit, offsets_max), turn=_turn(ranges))
    return {each.partition: each.first + n for each, n in zip(ranges, granted, strict=True)}


def _turn(ranges: Sequence[Range]) -> int:
    """Grows with every batch, so that each time another partition comes first."""
    return sum(each.first for each in ranges)


def proportional_shares(amounts: Sequence[int], limit: int, *, turn: int = 0) -> list[int]:
    """Returns integers in proportion to `amounts` whose sum is the limit, or the sum of `amounts` if that is lower.

    Each nonzero amount gets at least 1, unless there are more of them than the limit: then `turn` selects the first.
    """
    total = sum(amounts)
    if total <= limit:
        return list(amounts)
    nonzero = [place for place, n in enumerate(amounts) if n > 0]
    granted = [0] * len(amounts)
    if len(nonzero) >= limit:
        for step in range(limit):
            granted[nonzero[(turn + step) % len(nonzero)]] = 1
        return granted
    for place in nonzero:
        granted[place] = max(1, amounts[place] * limit // total)
    left = limit - sum(granted)
    # Distribute what rounding left over; or take from the largest what was needed to raise others to 1.
    order = sorted(nonzero, key=lambda place: -amounts[place])
    while left:
        for place in order:
            if left > 0:
                step = min(1, amounts[place] - granted[place])
            else:
                step = max(left, 1 - granted[place])
            granted[place] += step
            left -= step
            if not left:
                break
    return granted


def capped(
    partition_ends: Mapping[TopicPartition, PartitionEnds], target: Offsets, starts: Offsets
) -> dict[TopicPartition, PartitionEnds]:
    """Returns the partitions with ends no later than the target; new partitions are left to the next run."""
    return {
        partition: current._replace(end=min(current.end, target.get(partition, 0)))
        for partition, current in partition_ends.items()
        if partition in target or partition in starts
    }


def split_into_tasks(ranges: Iterable[Range], *, tasks_min: int, task_bytes: int) -> list[Range]:
    """Splits ranges into tasks: none much larger than task_bytes, and about tasks_min of them if there is enough
    data."""
    ranges = list(ranges)
    total = sum(each.bytes for each in ranges)
    tasks: list[Range] = []
    for each in ranges:
        by_size = math.ceil(each.bytes / task_bytes)
        by_share = round(tasks_min * each.bytes / total) if total else 1
        pieces = min(each.offsets, max(1, by_size, by_share))
        bounds = [each.first + each.offsets * place // pieces for place in range(pieces + 1)]
        for low, high in itertools.pairwise(bounds):
            held = tuple(segment for segment in each.segments if segment.first < high and segment.end > low)
            if held or not each.segments:  # there may be a gap between two files
                tasks.append(each._replace(first=low, end=high, segments=held))
    return tasks


def split_offloaded(
    ranges: Iterable[Range],
    offloaded: Mapping[TopicPartition, Offloaded],
    task_bytes: int,
    is_selected: Callable[[Segment], bool] = lambda _: True,
) -> list[Range]:
    """Splits ranges into those to read from files and those to read from a broker.

    Adjacent small files form one range; files without a matching record are left out.
    """
    parts: list[Range] = []
    for each in ranges:
        found = offloaded.get(each.partition, Offloaded("", ()))
        at = each.first
        held: list[Range] = []
        for segment in found.segments:
            if segment.end <= at:
                continue
            if segment.first > at or at >= each.end:
                break  # a range that the manifest does not have is read from the broker
            if segment.file and is_selected(segment):
                density = max(1.0, segment.bytes / (segment.end - segment.first))
                end = min(segment.end, each.end)
                held.append(Range(each.partition, at, end, density, (segment,), found.home))
            at = min(segment.end, each.end)
        parts += merge_ranges(held, task_bytes)
        if at < each.end:
            parts.append(each._replace(first=at))
    return parts


def merge_ranges(ranges: Iterable[Range], bytes_max: int) -> list[Range]:
    """Merges ascending ranges of one partition, as long as the result is not larger than bytes_max."""
    merged: list[Range] = []
    for each in ranges:
        if merged and merged[-1].bytes + each.bytes <= bytes_max:
            last = merged[-1]
            density = (last.bytes + each.bytes) / (each.end - last.first)
            merged[-1] = last._replace(
                end=each.end, bytes_per_offset=density, segments=last.segments + each.segments
            )  # fmt: skip
        else:
            merged.append(each)
    return merged
