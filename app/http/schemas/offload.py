"""Bodies of offloaded records: plans, segments, and the manifest of each partition."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType, field

from redis_ledger.app.http.schemas.core import Milliseconds, Offset, Reply, Request
from redis_ledger.offload.manifest import SEGMENTS_MAX

INT64 = 2**63
PlanId = Annotated[str, Meta(min_length=1, max_length=64, extra_json_schema={"examples": ["9f1c2b7a5d3e4801"]})]
TopicId = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=64,
        description="The topic's id, so that a topic that was deleted and created again is rejected.",
    ),
]
File = Annotated[
    str, Meta(max_length=512, description="Path relative to the offload home; empty if the range has no records.")
]
MomentMs = Annotated[int, Meta(ge=-INT64, le=INT64 - 1)]


class Stretch(Reply):
    """A range of offsets; end is exclusive. The log start may move into it while it is written."""

    first: Offset
    end: Offset
    file: File


class Plan(Reply):
    id: PlanId
    stretches: list[Stretch]


class Segment(Request):
    """A written range. min_ms and max_ms: bounds of the record timestamps, -1 without records."""

    first: Offset
    end: Offset
    file: File
    records: Offset
    bytes: Annotated[int, Meta(ge=0, le=2**53, description="Size of the file.")]
    min_ms: MomentMs
    max_ms: MomentMs
    checksum: Annotated[str, Meta(max_length=64, description="Checksum of the records, hexadecimal.")]


class OffloadedPartition(Reply):
    partition: int
    start_offset: Offset
    stable_offset: Offset
    offloaded_offset: Annotated[int, Meta(description="Records below are offloaded to Parquet; 0: none.")] = field(
        name="cold_offset"
    )
    version: Annotated[int, Meta(description="Increases with every change of the segments.")]
    plan: Annotated[Plan | None, Meta(description="The current plan.")]
    segments: Annotated[list[Segment], Meta(description="Ascending and contiguous.")]


class OffloadedTopic(Reply):
    topic_id: Annotated[str, Meta(description="A topic that is deleted and created again gets another id.")]
    home: Annotated[str, Meta(description="The folder or bucket with the files; empty if the broker has none.")]
    partitions: list[OffloadedPartition]
    after: Annotated[str, Meta(description="Present if there are more: send it to get the next page.")] | UnsetType = (
        UNSET
    )


class OffloadQuery(Request):
    limit: Annotated[int, Meta(ge=1, le=10_000, description="Maximum number of segments.")] = SEGMENTS_MAX
    after: Annotated[str, Meta(max_length=200, description="`after` of the previous page.")] | UnsetType = UNSET


class PlanOffload(Request):
    """seal: seal the active ledger first and plan up to the last stable offset. older_than_ms: only records that were
    appended at least this long ago."""

    seal: bool = False
    older_than_ms: Milliseconds = 0
    topic_id: TopicId | None = None


class Planned(Reply):
    plan: Annotated[Plan | None, Meta(description="null: there is nothing to offload.")]


class Publish(Request):
    """One segment for each range of the plan, in order."""

    plan: PlanId
    segments: Annotated[list[Segment], Meta(min_length=1, max_length=10_000)]


class Published(Reply):
    offloaded_offset: Offset = field(name="cold_offset")
    ledgers_dropped: int
    bytes_dropped: int


class Abandon(Request):
    plan: PlanId


class Swap(Request):
    """remove: first offsets of contiguous segments; add: segments that cover the same range."""

    topic_id: TopicId
    version: Annotated[
        int, Meta(ge=0, le=2**53, description="The version of the manifest on which the change is based.")
    ]
    remove: Annotated[list[Offset], Meta(min_length=1, max_length=10_000)]
    add: Annotated[list[Segment], Meta(min_length=1, max_length=10_000)]


class Swapped(Reply):
    version: int
    files: Annotated[
        list[str], Meta(description="Files of the removed segments; delete them when no reader uses them.")
    ]


class Forget(Request):
    topic_id: TopicId | None = None


class Files(Reply):
    files: Annotated[list[str], Meta(description="No segment refers to them any more; delete those that exist.")]
