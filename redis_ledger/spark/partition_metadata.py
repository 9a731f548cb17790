"""What the driver asks brokers: which partitions there are, how they stand, and where a time begins."""

from __future__ import annotations

import re
from collections.abc import Iterable

from redis_ledger.client._sync.admin import Topics
from redis_ledger.client._sync.offload import Offload
from redis_ledger.client.models import PartitionState
from redis_ledger.errors import UnknownTopic
from redis_ledger.ids import TopicPartition
from redis_ledger.spark.offset_options import Offsets, PartitionEnds, Place, check_found, check_named, resolved
from redis_ledger.spark.plain_http import transport
from redis_ledger.spark.plan import Offloaded, Range
from redis_ledger.spark.read_options import Reading

Standings = dict[TopicPartition, PartitionEnds]
OffloadedSegments = dict[TopicPartition, Offloaded]


def standings(reading: Reading, *, all_named: bool) -> Standings:
    """Every partition that is to be read, as it stands now.

    all_named: a topic that the user named must be there, or UnknownTopic is raised; else it is left out.
    Cost: one call for each topic, one more for a pattern.
    """
    topics = Topics(transport(reading.connection))
    names: Iterable[str] = reading.topics
    if reading.pattern is not None:
        names = [topic.name for topic in topics.list() if re.fullmatch(reading.pattern, topic.name)]
    found: Standings = {}
    for name in names:
        try:
            states = topics.describe(name).partition_states
        except UnknownTopic:
            # One that only matched a pattern may go between two calls.
            if all_named and reading.pattern is None:
                raise
            continue
        for state in states:
            found[TopicPartition(name, state.partition)] = standing_of(state, reading)
    return found


def standing_of(state: PartitionState, reading: Reading) -> PartitionEnds:
    end = state.stable_offset if reading.isolation == "read_committed" else state.end_offset
    held = max(1, state.end_offset - state.start_offset)
    return PartitionEnds(
        state.start_offset, end, state.end_offset, max(1.0, state.bytes / held), state.offloaded_offset
    )


def offloaded_segments(reading: Reading, ranges: Iterable[Range], found: Standings) -> OffloadedSegments:
    """What is offloaded of the partitions of which a range begins there.  Cost: a call for each topic with one."""
    begun = {each.partition for each in ranges if each.first < found[each.partition].offloaded_offset}
    asked = Offload(transport(reading.connection))
    offloaded: OffloadedSegments = {}
    for topic in sorted({partition.topic for partition in begun}):
        told = asked.describe(topic)
        for each in told.partitions:
            if (partition := TopicPartition(topic, each.partition)) in begun:
                offloaded[partition] = Offloaded(told.home, each.segments)
    return offloaded


def times(reading: Reading, wanted: Offsets) -> dict[TopicPartition, int | None]:
    """The first offset that is as late as the time wanted in each partition; None if nothing is.  Cost: a call each."""
    topics = Topics(transport(reading.connection))
    found: dict[TopicPartition, int | None] = {}
    for partition, time_ms in wanted.items():
        answer = topics.offset_at(partition.topic, partition.partition, time_ms, reading.isolation)
        found[partition] = None if answer.timestamp_ms is None else answer.offset
    return found


def starts(reading: Reading, found: Standings) -> Offsets:
    """Where the query begins.  Raises InvalidRequest where the options do not fit the partitions."""
    return _offsets(reading, reading.start, found, "startingOffsets", must_be=not reading.latest_if_no_match)


def ends(reading: Reading, found: Standings) -> Offsets:
    return _offsets(reading, reading.end, found, "endingOffsets", must_be=False)


def _offsets(reading: Reading, place: Place, found: Standings, option: str, *, must_be: bool) -> Offsets:
    check_named(place, found, option)
    at: dict[TopicPartition, int | None] = {}
    if place.is_time:
        at = times(reading, {partition: place.at(partition) for partition in found})
        if must_be:
            check_found(place, at, "startingTimestamp")
    return resolved(place, found, at)
