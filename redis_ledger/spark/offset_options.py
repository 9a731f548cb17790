"""Starting and ending offsets of a query: for all partitions or for each, as an offset or as a time.

    option                               result for a partition that holds 5 to 20
    earliest (-2), latest (-1)           5, 20
    {"orders": {"0": 12, "1": -1}}       12 for orders:0, the end for orders:1
    a time                               the first record at or after it, found by the broker

Also the offsets of a stream's checkpoint, in the format of Kafka's connector:

    {"orders": {"0": 12, "1": 20}}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

import msgspec

from redis_ledger.errors import InvalidRequest
from redis_ledger.ids import TopicPartition

EARLIEST, LATEST = -2, -1

Offsets: TypeAlias = dict[TopicPartition, int]


class PartitionEnds(NamedTuple):
    """Offsets of a partition.  end: the limit for this reader, at most log_end.  bytes_per_offset: on average.
    offloaded_offset: below it the partition is offloaded."""

    start: int
    end: int
    log_end: int
    bytes_per_offset: float = 1024.0
    offloaded_offset: int = 0


class OffsetOption(NamedTuple):
    """everywhere: for all partitions; if None, `named` has each.  is_time: numbers are ms since 1970, not offsets."""

    everywhere: int | None
    named: Mapping[TopicPartition, int] = {}
    is_time: bool = False

    def at(self, partition: TopicPartition) -> int:
        return self.named[partition] if self.everywhere is None else self.everywhere


def check_named(setting: OffsetOption, partitions: Iterable[TopicPartition], option: str) -> None:
    """Raises InvalidRequest unless exactly the partitions that are read are named."""
    if setting.everywhere is not None:
        return
    there = set(partitions)
    if missing := sorted(there - setting.named.keys()):
        raise InvalidRequest(f"{option} does not name {_listed(missing)}; name every partition.")
    if unknown := sorted(setting.named.keys() - there):
        raise InvalidRequest(f"{option} names {_listed(unknown)}, which this query does not read.")


def resolve_offsets(
    setting: OffsetOption,
    partition_ends: Mapping[TopicPartition, PartitionEnds],
    found: Mapping[TopicPartition, int | None],
) -> Offsets:
    """Returns the offset in each partition.  found: the broker's result for a time; None means the end."""
    offsets = {}
    for partition, current in partition_ends.items():
        if setting.is_time:
            offset = found[partition]
            offsets[partition] = current.end if offset is None else min(offset, current.end)
        else:
            offset = setting.at(partition)
            offsets[partition] = {EARLIEST: current.start, LATEST: current.end}.get(offset, offset)
    return offsets


def check_found(setting: OffsetOption, found: Mapping[TopicPartition, int | None], option: str) -> None:
    """Raises InvalidRequest for a time with no record at or after it."""
    if nowhere := sorted(partition for partition, offset in found.items() if offset is None):
        raise InvalidRequest(
            f"{option}: {_listed(nowhere)} have no record at or after {setting.at(nowhere[0])}; choose an earlier time,"
            " or set startingOffsetsByTimestampStrategy=latest to start at the end there."
        )


def parse_offsets(name: str, text: str) -> Offsets:
    """Parses {"orders": {"0": 12}} with -2 for the earliest and -1 for the latest.  Raises InvalidRequest."""
    return _read(name, text, lambda number: number >= EARLIEST, "an offset from 0 on, -1 (latest) or -2 (earliest)")


def parse_times(name: str, text: str) -> Offsets:
    """Parses {"orders": {"0": 1763720931000}}.  Raises InvalidRequest."""
    return _read(name, text, lambda number: number >= 0, "a time in milliseconds since 1970")


def _read(name: str, text: str, is_good: Callable[[int], bool], what: str) -> Offsets:
    like = f'expected {{"orders": {{"0": 12, "1": 40}}}}, each number {what}'
    try:
        read = msgspec.json.decode(text, type=dict[str, dict[str, int]])
    except msgspec.MsgspecError as error:
        raise InvalidRequest(f"{name} is invalid ({error}); {like}.") from None
    offsets: Offsets = {}
    for topic, partitions in read.items():
        for number, place in partitions.items():
            if not number.isascii() or not number.isdigit() or len(number) > 9 or not is_good(place):
                raise InvalidRequest(f"{name}: {topic}, {number!r}: {place} is not valid; {like}.")
            offsets[TopicPartition(topic, int(number))] = place
    if not offsets:
        raise InvalidRequest(f"{name} names no partition; {like}.")
    return offsets


def to_checkpoint(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    kept: dict[str, dict[str, int]] = {}
    for partition in sorted(offsets):
        kept.setdefault(partition.topic, {})[str(partition.partition)] = offsets[partition]
    return kept


def from_checkpoint(kept: Mapping[str, Any]) -> Offsets:
    return {
        TopicPartition(topic, int(number)): offset
        for topic, partitions in kept.items()
        for number, offset in partitions.items()
    }


def _listed(partitions: list[TopicPartition]) -> str:
    shown = ", ".join(map(str, partitions[:5]))
    return shown if len(partitions) <= 5 else f"{shown} and {len(partitions) - 5} more"
