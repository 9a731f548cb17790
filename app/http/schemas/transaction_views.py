"""Bodies of coordinators, their logs, what a transaction has done, and what holds a stable offset."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from redis_ledger.app.http.schemas.core import NUMBER_MAX, Reply, Request, Transaction, TransactionStatus, TxnIdText
from redis_ledger.ids import COORDINATORS_MAX
from redis_ledger.txn.trace import StepName

Entry = Annotated[int, Meta(ge=0, le=NUMBER_MAX, description="The entry of the log to begin at.")]
LogStatus = Literal["open", "committing", "committed", "aborting", "aborted"]
LogKind = Literal["new", "add_partition", "add_subscription", "update", "unreadable"]
First = Annotated[int, Meta(ge=0, le=NUMBER_MAX, description="The number of the first one, from 0.")]


class TransactionStep(Reply):
    """A step of PIP-31; topic, partition and subscription are those of a participant."""

    name: StepName
    at_ms: Annotated[int, Meta(description="Absent if the time is not known.")] | UnsetType = UNSET
    topic: str | UnsetType = UNSET
    partition: int | UnsetType = UNSET
    subscription: str | UnsetType = UNSET


class TracedTransaction(Transaction, kw_only=True):
    steps: Annotated[
        list[TransactionStep],
        Meta(description="In their order. append and pending_ack are the first ones on each participant."),
    ]
    steps_cut: Annotated[bool, Meta(description="Whether steps of further participants are left out.")]


class CoordinatorsQuery(Request):
    first: First = 0
    limit: Annotated[int, Meta(ge=1, le=1_000, description="Maximum number of coordinators.")] = 1_000


class RaiseCount(Request):
    count: Annotated[int, Meta(ge=1, le=COORDINATORS_MAX, description="At least as many as there are.")]


class CoordinatorCount(Reply):
    count: int


class CoordinatorLog(Reply):
    """first_entry, last_entry: null if the log is empty. bytes: in the memory of Redis; null if it refuses to say."""

    key: Annotated[str, Meta(description="The stream in Redis.")]
    entries: int
    entries_written: Annotated[int, Meta(description="Number of the newest entry, the deleted ones included.")]
    first_entry: int | None
    last_entry: int | None
    bytes: int | None


class Coordinator(Reply):
    """A coordinator has no owner: its state is in Redis, and every broker serves it."""

    number: int
    since_ms: int
    last_serial: Annotated[int, Meta(description="The last serial or producer id that was allocated.")]
    low_watermark: Annotated[int, Meta(description="Every transaction up to this serial has ended.")]
    open: Annotated[int, Meta(description="Transactions that are open or ending.")]
    created: int
    committed: int
    aborted: Annotated[int, Meta(description="Includes those that timed out.")]
    timed_out: int
    oldest_age_ms: Annotated[int | None, Meta(description="Age of the oldest open transaction; null without one.")]
    takeovers: Annotated[int, Meta(description="How often it was continued after Redis had lost its newest writes.")]
    log: CoordinatorLog


class Coordinators(Reply):
    """count: of all coordinators, the listed ones and others."""

    count: int
    coordinators: list[Coordinator]


class LogQuery(Request):
    transaction: Annotated[TxnIdText, Meta(description="Only records of this transaction.")] | UnsetType = UNSET
    first: Entry = 0
    limit: Annotated[
        int, Meta(ge=1, le=1_000, description="The response ends with the entry that reaches this number of records.")
    ] = 100


class LogParticipant(Reply):
    topic: str
    partition: int
    subscription: str | UnsetType = UNSET


class LogRecord(Reply):
    """A record of the log. unreadable: a newer release wrote the entry; upgrade this broker to read it."""

    entry: int
    index: Annotated[int, Meta(description="Position in the entry, from 0.")]
    size: Annotated[int, Meta(description="Number of records in the entry.")]
    live: Annotated[bool, Meta(description="False: its transaction has ended, and the record is no longer needed.")]
    kind: LogKind
    transaction: str | UnsetType = UNSET
    from_status: LogStatus | UnsetType = UNSET
    to_status: LogStatus | UnsetType = UNSET
    participants: list[LogParticipant] | UnsetType = UNSET
    timeout_ms: int | UnsetType = UNSET
    started_ms: int | UnsetType = UNSET
    time_ms: int | UnsetType = UNSET
    max_serial: Annotated[int, Meta(description="The highest serial when the entry was written.")] | UnsetType = UNSET
    owner: str | UnsetType = UNSET
    principal: str | UnsetType = UNSET


class LogPage(Reply):
    records: list[LogRecord]
    next: Annotated[int | None, Meta(description="`first` of the next page; null at the end.")]


class ParticipantsQuery(Request):
    first: First = 0
    limit: Annotated[int, Meta(ge=1, le=1_000, description="Maximum number of participants.")] = 100


class ParticipantPartition(Reply):
    """first_offset, last_offset: null without records. gone: the topic was deleted."""

    topic: str
    partition: int
    first_offset: int | None
    last_offset: int | None
    records: int
    batches: int
    bytes: int
    marker_offset: int | None
    marker: Annotated[Literal["commit", "abort"] | None, Meta(description="null: it has not ended here.")]
    cut: Annotated[bool, Meta(description="There are too many log entries to count them all.")]
    gone: bool


class OffsetRange(Reply):
    """Both offsets belong to it."""

    first: int
    last: int


class ParticipantSubscription(Reply):
    topic: str
    partition: int
    subscription: str
    pending: Annotated[int, Meta(description="Offsets that are acknowledged when it commits.")]
    ranges: Annotated[list[OffsetRange], Meta(description="The first ranges of these.")]
    cut: Annotated[bool, Meta(description="There are more ranges than these.")]
    cumulative_offset: Annotated[int, Meta(description="Its cumulative acknowledgement.")] | UnsetType = UNSET
    group_offset: Annotated[int, Meta(description="The offset that a Kafka group commits.")] | UnsetType = UNSET


class Participants(Reply):
    """The participants of an ended transaction are not stored, so there are none."""

    id: TxnIdText
    status: TransactionStatus
    partitions: list[ParticipantPartition]
    subscriptions: list[ParticipantSubscription]
    next: Annotated[int | None, Meta(description="`first` of the next page; null at the end.")]


class HoldingTransaction(Reply):
    """status unknown: its coordinator does not have it. Members that the caller may not see are omitted."""

    id: TxnIdText
    status: Literal["open", "committing", "committed", "aborting", "aborted", "unknown"]
    age_ms: int | UnsetType = UNSET
    timeout_ms: int | UnsetType = UNSET
    left_ms: Annotated[int, Meta(description="Until its deadline; negative after it.")] | UnsetType = UNSET
    owner: str | UnsetType = UNSET
    principal: str | UnsetType = UNSET
    transactional_id: str | UnsetType = UNSET


class WaitingReader(Reply):
    name: str
    kind: Literal["shared", "key_shared", "exclusive", "failover", "kafka"]


class HeldPartition(Reply):
    partition: int
    stable_offset: int
    end_offset: int
    held_records: Annotated[int, Meta(description="Offsets from the stable offset to the end, markers included.")]
    transaction: HoldingTransaction
    waiting: Annotated[list[WaitingReader], Meta(description="Readers that have read up to the stable offset.")]
    waiting_cut: Annotated[bool, Meta(description="Only some of the readers were looked at.")]
    advice: str


class Held(Reply):
    """partitions: those whose stable offset is below their end. cut: further partitions are held."""

    topic: str
    partitions: list[HeldPartition]
    cut: bool
