"""What the broker says of coordinators, and of what transactions do: plain, typed values."""

from __future__ import annotations

from typing import Literal

import msgspec


class TransactionStep(msgspec.Struct, frozen=True):
    """A step of a transaction: begin, add_partition, append, add_subscription, pending_ack, decide, end_partition,
    end_subscription or complete; with its participant, if it is not one of the coordinator.  append and pending_ack are
    the first ones there.  at_ms: None if the time is not known."""

    name: str
    at_ms: int | None = None
    topic: str | None = None
    partition: int | None = None
    subscription: str | None = None


class CoordinatorLog(msgspec.Struct, frozen=True):
    """first_entry, last_entry: None where the log is empty.  bytes: None where Redis does not say."""

    key: str
    entries: int
    entries_written: int
    first_entry: int | None = None
    last_entry: int | None = None
    bytes: int | None = None


class Coordinator(msgspec.Struct, frozen=True):
    """A transaction coordinator.  It has no owner: every broker serves it.

    low_watermark  every transaction up to this serial has ended
    open           transactions that are open or ending
    aborted        with those that timed out
    takeovers      how often it was continued after Redis had lost its newest writes
    """

    number: int
    since_ms: int
    last_serial: int
    low_watermark: int
    open: int
    created: int
    committed: int
    aborted: int
    timed_out: int
    oldest_age_ms: int | None
    takeovers: int
    log: CoordinatorLog


class LogParticipant(msgspec.Struct, frozen=True):
    topic: str
    partition: int
    subscription: str | None = None


class LogRecord(msgspec.Struct, frozen=True):
    """A record of a transaction log: number `index` of the `size` records of an entry.  kind: new, add_partition,
    add_subscription, update; unreadable where a newer release wrote it.  live: whether it is still needed."""

    entry: int
    index: int
    size: int
    live: bool
    kind: str
    transaction: str | None = None
    from_status: str | None = None
    to_status: str | None = None
    participants: list[LogParticipant] = []
    timeout_ms: int | None = None
    started_ms: int | None = None
    time_ms: int | None = None
    max_serial: int | None = None
    owner: str | None = None
    principal: str | None = None


class TransactionLogPage(msgspec.Struct, frozen=True):
    """next: `first` of the next page; None at the end."""

    records: list[LogRecord]
    next: int | None


class WrittenPartition(msgspec.Struct, frozen=True):
    """What a transaction wrote to a partition.  cut: there was too much to count it all.  gone: the topic was
    deleted."""

    topic: str
    partition: int
    first_offset: int | None = None
    last_offset: int | None = None
    records: int = 0
    batches: int = 0
    bytes: int = 0
    marker_offset: int | None = None
    marker: Literal["commit", "abort"] | None = None
    cut: bool = False
    gone: bool = False


class OffsetRange(msgspec.Struct, frozen=True):
    """Both offsets belong to it."""

    first: int
    last: int


class PendingSubscription(msgspec.Struct, frozen=True):
    """What a transaction acknowledged on a partition of a subscription.  cut: there are more ranges than these."""

    topic: str
    partition: int
    subscription: str
    pending: int = 0
    ranges: list[OffsetRange] = []
    cut: bool = False
    cumulative_offset: int | None = None
    group_offset: int | None = None


class TransactionParticipants(msgspec.Struct, frozen=True):
    """What a transaction did.  Those of an ended one are not stored, so there are none.  next: the number of the next
    participant; None at the end."""

    id: str
    status: str
    partitions: list[WrittenPartition]
    subscriptions: list[PendingSubscription]
    next: int | None = None


class HoldingTransaction(msgspec.Struct, frozen=True):
    """status unknown: its coordinator does not have it.  left_ms: until its deadline.  What you may not see is None."""

    id: str
    status: str
    age_ms: int | None = None
    timeout_ms: int | None = None
    left_ms: int | None = None
    owner: str | None = None
    principal: str | None = None
    transactional_id: str | None = None


class WaitingReader(msgspec.Struct, frozen=True):
    """A subscription or group that has read up to the stable offset."""

    name: str
    kind: Literal["shared", "key_shared", "exclusive", "failover", "kafka"]


class HeldPartition(msgspec.Struct, frozen=True):
    """A partition with records that committed readers do not get yet, and why.  advice: what to do."""

    partition: int
    stable_offset: int
    end_offset: int
    held_records: int
    transaction: HoldingTransaction
    waiting: list[WaitingReader]
    waiting_cut: bool
    advice: str


class HeldTopic(msgspec.Struct, frozen=True):
    """cut: further partitions are held."""

    topic: str
    partitions: list[HeldPartition]
    cut: bool
