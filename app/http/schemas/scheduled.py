"""Bodies of scheduled records."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Raw, UnsetType, field

from redis_ledger.app.http.schemas.core import (
    Appended,
    Duration,
    HeadersBase64,
    Partition,
    RecordIn,
    Records,
    Reply,
    Request,
    ScheduledIdText,
    ScheduledRef,
    TimeMs,
    Timestamp,
    ValueForm,
)

CancelResult = Literal["cancelled", "already_delivered", "unknown"]
Time = Annotated[str, Meta(max_length=64, description="Milliseconds since 1970, UTC, or ISO 8601 with a zone.")]


class Schedule(RecordIn):
    """One record, or several in `records`; partition, deliver_at and deliver_after then apply to all of them. repeat,
    for one record: a duration (PT1H) or a cron expression of five fields in timezone (default UTC), ending at until or
    after times deliveries, whichever comes first. Without deliver_at and deliver_after, the first delivery is at the
    next time of the repetition."""

    records: Records | None = None
    repeat: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    until: Timestamp | None = None
    times: Annotated[int, Meta(ge=1, le=1_000_000_000)] | None = None
    timezone: Annotated[str, Meta(min_length=1, max_length=100)] | None = None


class ScheduledRecords(Reply):
    """scheduled: in the order of the request within each partition."""

    scheduled: list[ScheduledRef]
    delivered: Annotated[list[Appended], Meta(description="Records that were already due.")] | UnsetType = UNSET
    duplicate: (
        Annotated[bool, Meta(description="An earlier attempt scheduled the records; ids may be missing.")] | UnsetType
    ) = UNSET


class ScheduledRecord(Reply, omit_defaults=True):
    """A scheduled record. repeat, until_ms and times_left: its repetition after the next delivery."""

    id: ScheduledIdText
    deliver_at_ms: TimeMs
    timestamp_ms: int
    key: str | UnsetType = UNSET
    key_base64: bytes | UnsetType = UNSET
    value: Raw | UnsetType = UNSET
    text: str | UnsetType = UNSET
    base64: bytes | UnsetType = UNSET
    headers: dict[str, str] | UnsetType = UNSET
    headers_base64: HeadersBase64 | UnsetType = UNSET
    repeat: str | UnsetType = UNSET
    until_ms: int | UnsetType = UNSET
    times_left: int | UnsetType = UNSET
    too_large: Annotated[bool, Meta(description="The batch is too large to decode, so the content is omitted.")] = False


class ScheduledPage(Reply):
    scheduled: list[ScheduledRecord]
    after: Annotated[str, Meta(description="Present if there are more: send it to get the next page.")] | UnsetType = (
        UNSET
    )


class ScheduledQuery(Request):
    from_: Annotated[Time, Meta(description="Only records due at this time or later: ms, or ISO 8601.")] | UnsetType = (
        field(name="from", default=UNSET)
    )
    to: Annotated[Time, Meta(description="Only records due before this time: ms, or ISO 8601.")] | UnsetType = UNSET
    key: Annotated[str, Meta(description="Only records with this key.")] | UnsetType = UNSET
    key_base64: Annotated[bytes, Meta(description="The same for a key that is not UTF-8.")] | UnsetType = UNSET
    partition: Annotated[Partition, Meta(description="Only records of this partition.")] | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, le=1_000, description="Maximum number of records.")] = 100
    after: Annotated[str, Meta(max_length=200, description="`after` of the previous page.")] | UnsetType = UNSET
    as_: ValueForm = field(name="as", default="auto")


class OneScheduledQuery(Request):
    as_: ValueForm = field(name="as", default="auto")


class PartitionQuery(Request):
    partition: Annotated[Partition, Meta(description="Only this partition.")] | UnsetType = UNSET


class CancelScheduled(Request):
    """An invalid id is treated as an unknown one."""

    ids: Annotated[list[Annotated[str, Meta(max_length=40)]], Meta(min_length=1)]


class CancelOutcome(Reply):
    """cancelled: it will not be delivered; already_delivered: it is in the log."""

    id: str
    outcome: CancelResult


class Cancelled(Reply):
    results: Annotated[list[CancelOutcome], Meta(description="One for each id, in the order of the request.")]


class Reschedule(Request):
    """Exactly one member."""

    deliver_at: Timestamp | None = None
    deliver_after: Duration | None = None


class Cleared(Reply):
    cancelled: int


class Delays(Reply):
    records: int
    entries: Annotated[int, Meta(description="Batches of records that are due together.")]
    buckets: Annotated[
        int, Meta(description="Buckets of the index: the sealed ones, and the open one of each partition.")
    ]
    loaded: Annotated[int, Meta(description="Entries in memory; the others are in snapshots.")]
    held: Annotated[int, Meta(description="Records of open transactions.")]
    overdue: int
    first_due_ms: Annotated[int, Meta(description="-1: nothing waits.")]
    last_due_ms: int
    snapshot_bytes: int
    payload_bytes: int


class PartitionDelays(Delays):
    partition: int


class DelayStats(Reply):
    partitions: list[PartitionDelays]
    total: Delays


class HistogramQuery(Request):
    from_: Annotated[Time, Meta(description="Start: ms, or ISO 8601; default: the first due time.")] | UnsetType = (
        field(name="from", default=UNSET)
    )
    to: (
        Annotated[Time, Meta(description="End (exclusive): ms, or ISO 8601; default: after the last due time.")]
        | UnsetType
    ) = UNSET
    bins: Annotated[int, Meta(ge=1, le=1_000, description="Number of bins, of equal length.")] = 24


class Bin(Reply):
    """Number of records due at or after from_ms and before to_ms."""

    from_ms: int
    to_ms: int
    records: int


class Histogram(Reply):
    bins: list[Bin]


class Rebuild(Request):
    """partition: default all."""

    partition: Partition | None = None


class Rebuilt(Reply):
    entries: int
