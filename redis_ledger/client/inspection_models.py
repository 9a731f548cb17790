"""What transactions and subscriptions hold, as the broker shows it; its reference describes the members."""

from __future__ import annotations

import msgspec

from redis_ledger.client.models import AnyKind, PartitionState


class SubscriptionUnacked(msgspec.Struct, frozen=True):
    name: str
    kind: AnyKind
    unacknowledged: int  # delivered and not acknowledged
    pending: int  # of these, acknowledged in open transactions


class TopicDescription(msgspec.Struct, frozen=True):
    name: str
    id: str
    partitions: int
    settings: dict[str, int | bool | str]
    created_ms: int
    partition_states: list[PartitionState]
    subscriptions: list[SubscriptionUnacked] = []  # with describe(..., subscriptions=True)
    subscriptions_complete: bool = True


class LowWatermark(msgspec.Struct, frozen=True):
    coordinator: int
    serial: int


class OpenTransaction(msgspec.Struct, frozen=True):
    transaction: str
    producer_id: int
    first_offset: int
    started_ms: int = 0
    buffer: str = "marker"


class AbortedRange(msgspec.Struct, frozen=True):
    producer_id: int
    first_offset: int
    last_offset: int


class BufferSnapshot(msgspec.Struct, frozen=True):
    taken_ms: int
    position: int


class PartitionTransactions(msgspec.Struct, frozen=True):
    """The transaction buffer of a partition.  held_by: what holds the stable offset."""

    topic: str
    partition: int
    start_offset: int
    stable_offset: int
    end_offset: int
    held_by: OpenTransaction | None = None
    open_transactions: int = 0
    open: list[OpenTransaction] = []
    open_next: int | None = None
    committed_transactions: int = 0
    aborted_transactions: int = 0
    aborted_set: int = 0
    aborted: list[AbortedRange] = []
    aborted_next: int | None = None
    tombstones: int = 0
    snapshot: BufferSnapshot | None = None
    low_watermarks: list[LowWatermark] = []


class PartitionTransaction(msgspec.Struct, frozen=True):
    """state: open, committed, aborted, not_written or ended."""

    topic: str
    partition: int
    transaction: str
    state: str
    first_offset: int | None = None
    last_offset: int | None = None
    aborted: bool = False


class OffsetRange(msgspec.Struct, frozen=True):
    first: int
    last: int


class PendingTransaction(msgspec.Struct, frozen=True):
    """cumulative: of a cumulative acknowledgement, its last offset; of a Kafka group, the pending offset."""

    transaction: str
    records: int = 0
    ranges: list[OffsetRange] = []
    more_ranges: bool = False
    cumulative: int | None = None
    since_ms: int = 0  # of a Kafka group when the offset was sent, else when the transaction began
    producer_id: int | None = None  # of a Kafka producer's transaction, as transactional_id
    transactional_id: str | None = None


class PendingPartition(msgspec.Struct, frozen=True):
    partition: int
    mark_delete: int = 0
    records: int = 0
    transactions: list[PendingTransaction] = []
    complete: bool = True
    low_watermarks: list[LowWatermark] = []


class PendingAcknowledgements(msgspec.Struct, frozen=True):
    topic: str
    name: str
    kind: AnyKind
    partitions: list[PendingPartition] = []
    next_partition: int | None = None


class RecordState(msgspec.Struct, frozen=True):
    """state: pending_ack, acknowledged, delivered, not_delivered, not_acknowledged, hidden or invalid_position."""

    topic: str
    name: str
    id: str
    state: str
    reason: str = ""
    transaction: str | None = None
    consumer: str | None = None
    deliveries: int = 0
    redelivery_at_ms: int | None = None
    batch_base_offset: int | None = None
    batch_records: int = 0
    mark_delete: int = 0
    stable_offset: int = 0
    end_offset: int = 0


class BacklogAnalysis(msgspec.Struct, frozen=True):
    """next_offset: where to go on if it is not complete."""

    topic: str
    name: str
    kind: AnyKind
    partition: int
    mark_delete: int
    stable_offset: int
    end_offset: int
    from_offset: int = 0
    next_offset: int | None = None
    complete: bool = True
    entries: int = 0
    batches: int = 0
    records: int = 0
    acknowledged: int = 0
    markers: int = 0
    aborted_batches: int = 0
    aborted_records: int = 0
    undecided: int = 0
    scheduled: int = 0


class PartitionLag(msgspec.Struct, frozen=True):
    """position: -1 for a Kafka group without an offset, whose lag is unknown and counts as 0.  oldest_ms: when the log
    entry at the position was appended."""

    partition: int
    position: int = 0
    stable_offset: int = 0
    end_offset: int = 0
    lag: int = 0
    lag_is_exact: bool = True
    leased: int = 0
    pending: int = 0
    undecided: int = 0  # offsets above the stable offset
    redelivered: int = 0
    oldest_ms: int | None = None
    bytes: int = 0  # estimated


class SubscriptionLag(msgspec.Struct, frozen=True):
    """A subscription or Kafka group on a topic.  lag: the sum of these partitions."""

    topic: str
    name: str
    kind: AnyKind
    lag: int = 0
    lag_is_exact: bool = True  # False: an upper bound, which counts markers and aborted records as well
    oldest_ms: int | None = None
    bytes: int = 0
    partitions: list[PartitionLag] = []
    next_partition: int | None = None


class TotalLag(msgspec.Struct, frozen=True):
    topic: str
    name: str
    kind: AnyKind
    lag: int = 0
    lag_is_exact: bool = True


class LagPage(msgspec.Struct, frozen=True):
    """next: the `after` of the next page; None at the end."""

    lags: list[TotalLag] = []
    next: str | None = None
