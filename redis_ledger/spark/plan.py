"""Which records a batch reads, and how they are cut into tasks; and what it means that some are gone.

    checkpoint 10        log start 5                          stable 40       log end 45
        orders:0    5 ..... 10 ─────── range of this batch ──────── 40 ...... 45
                            │  task  │  task  │  task  │

All of it is deciding: partitions as they stand go in, ranges come out.  A batch is planned from two offsets alone, so
that Spark can ask for the same one again after a crash.

What has been offloaded is read from its files, by tasks that do not ask a broker:

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
    """What of a partition is offloaded.  home: where files are; segments: ascending, side by side."""

    home: str
    segments: Sequence[Segment]


class Range(NamedTuple):
    """Offsets from first to end (exclusive) of one partition.  segments: those that hold them; empty: the broker does.
    home: where the files of segments are."""

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


class Settled(NamedTuple):
    """losses: a sentence for each place where something that was to be read is gone."""

    ranges: list[Range]
    losses: list[str]


def settled(starts: Offsets, ends: Offsets, standings: Mapping[TopicPartition, PartitionEnds]) -> Settled:
    """The ranges between starts and ends that can be read.  A partition without a start is new and begins at 0."""
    ranges, losses = [], []
    for partition in sorted(ends):
        first, end = starts.get(partition, 0), ends[partition]
        if first == end:
            continue
        standing = standings.get(partition)
        if standing is None:
            losses.append(f"{partition} is not there any more.")
            continue
        if first > standing.log_end:
            losses.append(f"{partition} ends at {standing.log_end}, before {first}, where reading was to begin.")
            continue
        if first < standing.start:
            losses.append(f"{partition}: offsets {first} to {min(end, standing.start)} have been deleted.")
            first = standing.start
        if end > standing.log_end:
            losses.append(f"{partition}: offsets from {standing.log_end} on, up to {end}, are not there.")
            end = standing.log_end
        if first < end:
            ranges.append(Range(partition, first, end, standing.bytes_per_offset))
    return Settled(ranges, losses)


def noted(starts: Offsets, standings: Mapping[TopicPartition, PartitionEnds]) -> Settled:
    """What lies before a stream that has come to `starts`: all of it that is there to be read."""
    ranges, losses = [], []
    losses += [f"{partition} is not there any more." for partition in sorted(starts.keys() - standings.keys())]
    for partition, standing in sorted(standings.items()):
        first = starts.get(partition, 0)
        if first > standing.log_end:
            losses.append(f"{partition} ends at {standing.log_end}, before {first}, where this query had come to.")
            first = standing.start
        elif first < standing.start:
            losses.append(f"{partition}: offsets {first} to {standing.start} have been deleted before they were read.")
            first = standing.start
        # A reader of uncommitted records may have come further than one of committed records may go.
        ranges.append(Range(partition, first, max(first, standing.end), standing.bytes_per_offset))
    return Settled(ranges, losses)


def rewound(starts: Offsets, ends: Offsets) -> Offsets:
    """The starts of a batch of a stream, less those that `noted` found to lie behind the end: they begin anew."""
    return {partition: start for partition, start in starts.items() if start <= ends.get(partition, start)}


def check_loss(losses: Sequence[str], *, fail: bool) -> None:
    """Raises OffsetOutOfRange when something is lost and that is to fail the query; else the log has it."""
    if losses and fail:
        more = f" (and {len(losses) - 3} more)" if len(losses) > 3 else ""
        raise OffsetOutOfRange(
            f"Records that were to be read are gone. {' '.join(losses[:3])}{more}"
            " Set failOnDataLoss to false to go on with what is there."
        )
    for loss in losses:
        _log.warning("records are passed over: %s", loss)


def limited(ranges: Sequence[Range], offsets_max: int | None, bytes_max: int | None) -> Offsets:
    """Where a batch of a stream ends in each partition, so that it holds no more than that.

    Partitions share in proportion to what they have; each that has something gets one record at least, or they take
    turns when there are more partitions than records to give.  Bytes are counted by the average of each partition, and
    one record is always let through.
    """
    counts = [each.offsets for each in ranges]
    limit, size = sum(counts), sum(each.bytes for each in ranges)
    if bytes_max is not None and size > bytes_max:
        limit = max(1, int(limit * bytes_max / size))
    granted = shares(counts, limit if offsets_max is None else min(limit, offsets_max), turn=_turn(ranges))
    return {each.partition: each.first + n for each, n in zip(ranges, granted, strict=True)}


def _turn(ranges: Sequence[Range]) -> int:
    """Grows with every batch, so that another partition is first each time."""
    return sum(each.first for each in ranges)


def shares(wanted: Sequence[int], limit: int, *, turn: int = 0) -> list[int]:
    """Whole numbers in proportion to what is wanted, that sum up to the limit or to all that is wanted.

    Nobody who wants something gets nothing, unless they are more than the limit: then `turn` says who begins.
    """
    total = sum(wanted)
    if total <= limit:
        return list(wanted)
    hungry = [place for place, n in enumerate(wanted) if n > 0]
    granted = [0] * len(wanted)
    if len(hungry) >= limit:
        for step in range(limit):
            granted[hungry[(turn + step) % len(hungry)]] = 1
        return granted
    for place in hungry:
        granted[place] = max(1, wanted[place] * limit // total)
    left = limit - sum(granted)
    # Rounding leaves some to give; or those that were lifted to 1 are paid for by the largest.
    order = sorted(hungry, key=lambda place: -wanted[place])
    while left:
        for place in order:
            if left > 0:
                step = min(1, wanted[place] - granted[place])
            else:
                step = max(left, 1 - granted[place])
            granted[place] += step
            left -= step
            if not left:
                break
    return granted


def frozen(
    standings: Mapping[TopicPartition, PartitionEnds], target: Offsets, starts: Offsets
) -> dict[TopicPartition, PartitionEnds]:
    """The partitions as if nothing had come since the target was taken; new ones are left for the next run."""
    return {
        partition: standing._replace(end=min(standing.end, target.get(partition, 0)))
        for partition, standing in standings.items()
        if partition in target or partition in starts
    }


def cut(ranges: Iterable[Range], *, tasks_min: int, task_bytes: int) -> list[Range]:
    """The same offsets as tasks: none much larger than task_bytes, and tasks_min of them where there is so much."""
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
            if held or not each.segments:  # between two files there may be nothing
                tasks.append(each._replace(first=low, end=high, segments=held))
    return tasks


def parted(
    ranges: Iterable[Range],
    offloaded: Mapping[TopicPartition, Offloaded],
    task_bytes: int,
    is_wanted: Callable[[Segment], bool] = lambda _: True,
) -> list[Range]:
    """The ranges, with what lies in files apart from what the broker has.  Small files side by side make one range, and
    those that hold nothing that is wanted make none."""
    parts: list[Range] = []
    for each in ranges:
        found = offloaded.get(each.partition, Offloaded("", ()))
        at = each.first
        held: list[Range] = []
        for segment in found.segments:
            if segment.end <= at:
                continue
            if segment.first > at or at >= each.end:
                break  # what the manifest does not name, the broker is asked for
            if segment.file and is_wanted(segment):
                density = max(1.0, segment.bytes / (segment.end - segment.first))
                end = min(segment.end, each.end)
                held.append(Range(each.partition, at, end, density, (segment,), found.home))
            at = min(segment.end, each.end)
        parts += joined(held, task_bytes)
        if at < each.end:
            parts.append(each._replace(first=at))
    return parts


def joined(ranges: Iterable[Range], bytes_max: int) -> list[Range]:
    """Ranges of one partition, ascending, as few as can be where none that was joined is larger than that."""
    made: list[Range] = []
    for each in ranges:
        if made and made[-1].bytes + each.bytes <= bytes_max:
            last = made[-1]
            density = (last.bytes + each.bytes) / (each.end - last.first)
            made[-1] = last._replace(
                end=each.end, bytes_per_offset=density, segments=last.segments + each.segments
            )  # fmt: skip
        else:
            made.append(each)
    return made
