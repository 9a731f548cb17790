"""Bodies of history in Parquet: plans, segments, the manifest of each partition."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType, field

from redis_ledger.app.http.schemas.core import Milliseconds, Offset, Reply, Request
from redis_ledger.offload.manifest import SEGMENTS_MAX

INT64 = 2**63
PlanId = Annotated[str, Meta(min_length=1, max_length=64, extra_json_schema={"examples": ["9f1c2b7a5d3e4801"]})]
TopicId = Annotated[
    str, Meta(min_length=1, max_length=64, description="Of the topic that is meant, in case it was made again.")
]
File = Annotated[str, Meta(max_length=512, description="Relative to the home; empty where there is no record.")]
MomentMs = Annotated[int, Meta(ge=-INT64, le=INT64 - 1)]


class Stretch(Reply):
    """Offsets from first to end (exclusive). The log start may move into it while it is written."""

    first: Offset
    end: Offset
    file: File


class Plan(Reply):
    id: PlanId
    stretches: list[Stretch]


class Segment(Request):
    """A stretch as it was written. min_ms and max_ms: of its records' timestamps, -1 where there is no record."""

    first: Offset
    end: Offset
    file: File
    records: Offset
    bytes: Annotated[int, Meta(ge=0, le=2**53, description="Of the file.")]
    min_ms: MomentMs
    max_ms: MomentMs
    checksum: Annotated[str, Meta(max_length=64, description="Of the records, hexadecimal.")]


class OffloadedPartition(Reply):
    partition: int
    start_offset: Offset
    stable_offset: Offset
    offloaded_offset: Annotated[int, Meta(description="What lies below is in Parquet; 0 where nothing is.")] = field(
        name="cold_offset"
    )
    version: Annotated[int, Meta(description="Rises with every change of the segments.")]
    plan: Annotated[Plan | None, Meta(description="What is to be written next.")]
    segments: Annotated[list[Segment], Meta(description="Ascending, side by side.")]


class OffloadedTopic(Reply):
    topic_id: Annotated[str, Meta(description="A topic that is deleted and made again has another one.")]
    home: Annotated[str, Meta(description="The folder or bucket the files are in; empty where the broker has none.")]
    partitions: list[OffloadedPartition]
    after: Annotated[str, Meta(description="There are more: ask for them with this.")] | UnsetType = UNSET


class OffloadQuery(Request):
    limit: Annotated[int, Meta(ge=1, le=10_000, description="Most segments of an answer.")] = SEGMENTS_MAX
    after: Annotated[str, Meta(max_length=200, description="As the page before returned it.")] | UnsetType = UNSET


class PlanOffload(Request):
    """seal: the active ledger is sealed first, and the plan goes up to the stable offset. older_than_ms: only what was
    appended so long ago."""

    seal: bool = False
    older_than_ms: Milliseconds = 0
    topic_id: TopicId | None = None


class Planned(Reply):
    plan: Annotated[Plan | None, Meta(description="null: there is nothing to write.")]


class Publish(Request):
    """One segment for each stretch of the plan, in their order."""

    plan: PlanId
    segments: Annotated[list[Segment], Meta(min_length=1, max_length=10_000)]


class Published(Reply):
    offloaded_offset: Offset = field(name="cold_offset")
    ledgers_dropped: int
    bytes_dropped: int


class Abandon(Request):
    plan: PlanId


class Swap(Request):
    """remove: first offsets of segments that lie side by side; add: segments that cover the same stretch."""

    topic_id: TopicId
    version: Annotated[int, Meta(ge=0, le=2**53, description="Of the manifest this was decided by.")]
    remove: Annotated[list[Offset], Meta(min_length=1, max_length=10_000)]
    add: Annotated[list[Segment], Meta(min_length=1, max_length=10_000)]


class Swapped(Reply):
    version: int
    files: Annotated[list[str], Meta(description="Of the segments that left; delete them when readers are done.")]


class Forget(Request):
    topic_id: TopicId | None = None


class Files(Reply):
    files: Annotated[list[str], Meta(description="Nothing refers to them any more; delete those that are there.")]
