"""Metadata that the driver reads from brokers: partitions, their offsets, and the offsets of times."""

from __future__ import annotations

import re
from collections.abc import Iterable

from redis_ledger.client._sync.admin import Topics
from redis_ledger.client._sync.offload import Offload
from redis_ledger.client.models import PartitionState
from redis_ledger.errors import UnknownTopic
from redis_ledger.ids import TopicPartition
from redis_ledger.spark.offset_options import (
    OffsetOption,
    Offsets,
    PartitionEnds,
    check_found,
    check_named,
    resolve_offsets,
)
from redis_ledger.spark.plain_http import transport
from redis_ledger.spark.plan import Offloaded, Range
from redis_ledger.spark.read_options import ReadOptions

EndsByPartition = dict[TopicPartition, PartitionEnds]
OffloadedSegments = dict[TopicPartition, Offloaded]


def partition_ends(reading: ReadOptions, *, all_named: bool) -> EndsByPartition:
    """Returns the offsets of every partition that is to be read.

    all_named: raise UnknownTopic if a topic that the user named does not exist; else leave it out.
    Cost: one call for each topic, one more for a pattern.
    """
    topics = Topics(transport(reading.connection))
    names: Iterable[str] = reading.topics
    if reading.pattern is not None:
        names = [topic.name for topic in topics.list() if re.fullmatch(reading.pattern, topic.name)]
    found: EndsByPartition = {}
    for name in names:
        try:
            states = topics.describe(name).partition_states
        except UnknownTopic:
            # A topic that matched a pattern may be deleted between two calls.
            if all_named and reading.pattern is None:
                raise
            continue
        for state in states:
            found[TopicPartition(name, state.partition)] = ends_of(state, reading)
    return found


def ends_of(state: PartitionState, reading: ReadOptions) -> PartitionEnds:
    end = state.stable_offset if reading.isolation == "read_committed" else state.end_offset
    held = max(1, state.end_offset - state.start_offset)
    return PartitionEnds(
        state.start_offset, end, state.end_offset, max(1.0, state.bytes / held), state.offloaded_offset
    )


def offloaded_segments(reading: ReadOptions, ranges: Iterable[Range], found: EndsByPartition) -> OffloadedSegments:
    """Returns the offloaded segments of partitions with a range that begins there.  Cost: one call for each such
    topic."""
    begun = {each.partition for each in ranges if each.first < found[each.partition].offloaded_offset}
    offload = Offload(transport(reading.connection))
    offloaded: OffloadedSegments = {}
    for topic in sorted({partition.topic for partition in begun}):
        description = offload.describe(topic)
        for each in description.partitions:
            if (partition := TopicPartition(topic, each.partition)) in begun:
                offloaded[partition] = Offloaded(description.home, each.segments)
    return offloaded


def times(reading: ReadOptions, times_ms: Offsets) -> dict[TopicPartition, int | None]:
    """Returns the first offset at or after the time in each partition; None if there is none.  Cost: one call each."""
    topics = Topics(transport(reading.connection))
    found: dict[TopicPartition, int | None] = {}
    for partition, time_ms in times_ms.items():
        answer = topics.offset_at(partition.topic, partition.partition, time_ms, reading.isolation)
        found[partition] = None if answer.timestamp_ms is None else answer.offset
    return found


def starts(reading: ReadOptions, found: EndsByPartition) -> Offsets:
    """Returns the starting offsets.  Raises InvalidRequest if the options do not fit the partitions."""
    return _offsets(reading, reading.start, found, "startingOffsets", must_be=not reading.latest_if_no_match)


def ends(reading: ReadOptions, found: EndsByPartition) -> Offsets:
    return _offsets(reading, reading.end, found, "endingOffsets", must_be=False)


def _offsets(
    reading: ReadOptions, setting: OffsetOption, found: EndsByPartition, option: str, *, must_be: bool
) -> Offsets:
    check_named(setting, found, option)
    at: dict[TopicPartition, int | None] = {}
    if setting.is_time:
        at = times(reading, {partition: setting.at(partition) for partition in found})
        if must_be:
            check_found(setting, at, "startingTimestamp")
    return resolve_offsets(setting, found, at)
