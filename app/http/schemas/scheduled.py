"""Bodies of scheduled records: what is to be delivered later, and what waits."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Raw, UnsetType, field

from redis_ledger.app.http.schemas.core import (
    Appended,
    Duration,
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
    """One record; or several in records, whose partition, deliver_at and deliver_after may then stand beside records.
    repeat, for one record: a duration (PT1H) or a cron expression of five fields in timezone (UTC), until a time or for
    so many times, whichever comes first; without deliver_at and deliver_after its first time is the next one."""

    records: Records | None = None
    repeat: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    until: Timestamp | None = None
    times: Annotated[int, Meta(ge=1, le=1_000_000_000)] | None = None
    timezone: Annotated[str, Meta(min_length=1, max_length=100)] | None = None


class ScheduledRecords(Reply):
    """scheduled: in the order they were given, as far as they are in one partition."""

    scheduled: list[ScheduledRef]
    delivered: Annotated[list[Appended], Meta(description="What was due already.")] | UnsetType = UNSET
    duplicate: Annotated[bool, Meta(description="An earlier attempt did it; ids may be missing.")] | UnsetType = UNSET


class ScheduledRecord(Reply, omit_defaults=True):
    """A record that waits. repeat, until_ms and times_left: how it goes on after its next delivery."""

    id: ScheduledIdText
    deliver_at_ms: TimeMs
    timestamp_ms: int
    key: str | UnsetType = UNSET
    key_base64: bytes | UnsetType = UNSET
    value: Raw | UnsetType = UNSET
    text: str | UnsetType = UNSET
    base64: bytes | UnsetType = UNSET
    headers: dict[str, str] | UnsetType = UNSET
    headers_base64: dict[str, bytes | None] | UnsetType = UNSET
    repeat: str | UnsetType = UNSET
    until_ms: int | UnsetType = UNSET
    times_left: int | UnsetType = UNSET
    too_large: Annotated[bool, Meta(description="Its batch is too large to decode; what it holds is not shown.")] = (
        False
    )


class ScheduledPage(Reply):
    scheduled: list[ScheduledRecord]
    after: Annotated[str, Meta(description="There are more: ask for them with this.")] | UnsetType = UNSET


class ScheduledQuery(Request):
    from_: Annotated[Time, Meta(description="Only those due then or later: ms, or ISO 8601.")] | UnsetType = field(
        name="from", default=UNSET
    )
    to: Annotated[Time, Meta(description="Only those due before: ms, or ISO 8601.")] | UnsetType = UNSET
    key: Annotated[str, Meta(description="Only those with this key.")] | UnsetType = UNSET
    key_base64: Annotated[bytes, Meta(description="The same for a key that is not text.")] | UnsetType = UNSET
    partition: Annotated[Partition, Meta(description="Only those of this partition.")] | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, le=1_000, description="Most records of an answer.")] = 100
    after: Annotated[str, Meta(max_length=200, description="As the page before returned it.")] | UnsetType = UNSET
    as_: ValueForm = field(name="as", default="auto")


class OneScheduledQuery(Request):
    as_: ValueForm = field(name="as", default="auto")


class PartitionQuery(Request):
    partition: Annotated[Partition, Meta(description="This partition only.")] | UnsetType = UNSET


class CancelScheduled(Request):
    """What is no id names no record, as an id that was never given does."""

    ids: Annotated[list[Annotated[str, Meta(max_length=40)]], Meta(min_length=1)]


class CancelOutcome(Reply):
    """cancelled: it will not be delivered; already_delivered: it is in the log."""

    id: str
    outcome: CancelResult


class Cancelled(Reply):
    results: Annotated[list[CancelOutcome], Meta(description="One for each id, in their order.")]


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
        int, Meta(description="Parts of the index: the sealed ones, and the open one of each partition.")
    ]
    loaded: Annotated[int, Meta(description="Entries that are at hand; the others are in snapshots.")]
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
    from_: Annotated[Time, Meta(description="Where it begins: ms, or ISO 8601; the first due time.")] | UnsetType = (
        field(name="from", default=UNSET)
    )
    to: Annotated[Time, Meta(description="Where it ends: ms, or ISO 8601; behind the last due time.")] | UnsetType = (
        UNSET
    )
    bins: Annotated[int, Meta(ge=1, le=1_000, description="Parts of equal length.")] = 24


class Bin(Reply):
    """Records due from from_ms on and before to_ms."""

    from_ms: int
    to_ms: int
    records: int


class Histogram(Reply):
    bins: list[Bin]


class Rebuild(Request):
    """One partition, or all."""

    partition: Partition | None = None


class Rebuilt(Reply):
    entries: int
