"""Where a query begins and ends: said once for everything or for each partition, as an offset or as a time.

    place                                what it becomes, for a partition that holds 5 to 20
    earliest (-2), latest (-1)           5, 20
    {"orders": {"0": 12, "1": -1}}       12 for orders:0, the end for orders:1
    a time                               the first record that is as late; found by the broker

Also the same offsets as they stand in a stream's checkpoint, in the shape that Kafka's connector writes:

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
    """A partition as it is now.  end: how far this reader may go, of log_end at most.  bytes_per_offset: on average.
    offloaded_offset: what lies below it is offloaded."""

    start: int
    end: int
    log_end: int
    bytes_per_offset: float = 1024.0
    offloaded_offset: int = 0


class Place(NamedTuple):
    """everywhere: for all partitions; else `named`.  is_time: numbers are ms since 1970, not offsets."""

    everywhere: int | None
    named: Mapping[TopicPartition, int] = {}
    is_time: bool = False

    def at(self, partition: TopicPartition) -> int:
        return self.named[partition] if self.everywhere is None else self.everywhere


def check_named(place: Place, partitions: Iterable[TopicPartition], option: str) -> None:
    """Raises InvalidRequest unless each partition that is read is named, and no other."""
    if place.everywhere is not None:
        return
    there = set(partitions)
    if missing := sorted(there - place.named.keys()):
        raise InvalidRequest(f"{option} does not say where {_listed(missing)} begin or end; name every partition.")
    if unknown := sorted(place.named.keys() - there):
        raise InvalidRequest(f"{option} names {_listed(unknown)}, which this query does not read.")


def resolved(
    place: Place, standings: Mapping[TopicPartition, PartitionEnds], found: Mapping[TopicPartition, int | None]
) -> Offsets:
    """The offset in each partition.  found: what the broker answered for a time; None, and the end, if nothing is as
    late."""
    offsets = {}
    for partition, standing in standings.items():
        if place.is_time:
            offset = found[partition]
            offsets[partition] = standing.end if offset is None else min(offset, standing.end)
        else:
            wanted = place.at(partition)
            offsets[partition] = {EARLIEST: standing.start, LATEST: standing.end}.get(wanted, wanted)
    return offsets


def check_found(place: Place, found: Mapping[TopicPartition, int | None], option: str) -> None:
    """Raises InvalidRequest for a time after which there is nothing."""
    if nowhere := sorted(partition for partition, offset in found.items() if offset is None):
        raise InvalidRequest(
            f"{option}: {_listed(nowhere)} hold no record as late as {place.at(nowhere[0])}; choose an earlier time, or"
            " startingOffsetsByTimestampStrategy=latest to begin at the end there."
        )


def offsets_of(name: str, text: str) -> Offsets:
    """{"orders": {"0": 12}} with -2 for the earliest and -1 for the latest.  Raises InvalidRequest."""
    return _read(name, text, lambda number: number >= EARLIEST, "an offset from 0 on, -1 (latest) or -2 (earliest)")


def times_of(name: str, text: str) -> Offsets:
    """{"orders": {"0": 1763720931000}}.  Raises InvalidRequest."""
    return _read(name, text, lambda number: number >= 0, "a time in milliseconds since 1970")


def _read(name: str, text: str, is_good: Callable[[int], bool], what: str) -> Offsets:
    like = f'it looks like {{"orders": {{"0": 12, "1": 40}}}}, each number {what}'
    try:
        read = msgspec.json.decode(text, type=dict[str, dict[str, int]])
    except msgspec.MsgspecError as error:
        raise InvalidRequest(f"{name} cannot be read ({error}); {like}.") from None
    offsets: Offsets = {}
    for topic, partitions in read.items():
        for number, place in partitions.items():
            if not number.isascii() or not number.isdigit() or len(number) > 9 or not is_good(place):
                raise InvalidRequest(f"{name}: {topic}, {number!r}: {place} does not do; {like}.")
            offsets[TopicPartition(topic, int(number))] = place
    if not offsets:
        raise InvalidRequest(f"{name} names no partition; {like}.")
    return offsets


def to_checkpoint(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    kept: dict[str, dict[str, int]] = {}
    for partition in sorted(offsets):
        kept.setdefault(partition.topic, {})[str(partition.partition)] = offsets[partition]
    return kept


def of_checkpoint(kept: Mapping[str, Any]) -> Offsets:
    return {
        TopicPartition(topic, int(number)): offset
        for topic, partitions in kept.items()
        for number, offset in partitions.items()
    }


def _listed(partitions: list[TopicPartition]) -> str:
    shown = ", ".join(map(str, partitions[:5]))
    return shown if len(partitions) <= 5 else f"{shown} and {len(partitions) - 5} more"
