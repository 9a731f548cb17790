"""Bodies that show what transactions and subscriptions hold: topics, transaction buffers, pending acknowledgements,
single records, backlogs."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from redis_ledger.app.http.schemas.core import (
    MessageIdText,
    Offset,
    Partition,
    PartitionState,
    Reply,
    Request,
    TimeMs,
    Topic,
    TxnIdText,
)
from redis_ledger.cursor import record_state

Kind = Literal["shared", "key_shared", "exclusive", "failover", "kafka"]
_NEXT = Meta(description="Where to go on; absent at the end.")


class TopicsQuery(Request):
    internal: Annotated[bool, Meta(description="Include the internal topic `__consumer_offsets`.")] = False


class TopicQuery(Request):
    subscriptions: Annotated[bool, Meta(description="Include the subscriptions with their unacknowledged records.")] = (
        False
    )


class SubscriptionUnacked(Reply):
    name: str
    kind: Kind
    unacknowledged: Annotated[int, Meta(description="Delivered and not acknowledged; 0 for a Kafka group.")]
    pending: Annotated[
        int, Meta(description="Acknowledged in open transactions; for a Kafka group the number of pending commits.")
    ]


class TopicDetail(Topic):
    partition_states: list[PartitionState]
    subscriptions: (
        Annotated[list[SubscriptionUnacked], Meta(description="At most 100 that the caller may describe, by name.")]
        | UnsetType
    ) = UNSET
    subscriptions_complete: bool | UnsetType = UNSET


# -- transaction buffers -----------------------------------------------------------------------------------------------


class BufferQuery(Request):
    limit: Annotated[int, Meta(ge=1, le=1_000, description="Maximum number of open and of aborted transactions.")] = 100
    open_from: Annotated[int, Meta(description="0, or open_next of the page before (it may be negative).")] = 0
    aborted_from: Annotated[Offset, Meta(description="Marker offset of the first aborted transaction to list.")] = 0
    low_watermarks: Annotated[bool, Meta(description="Include the low watermarks.")] = False


class OpenTransaction(Reply):
    transaction: TxnIdText
    producer_id: int
    first_offset: Offset
    started_ms: Annotated[TimeMs, Meta(description="From the transaction's id.")]
    buffer: Annotated[
        Literal["marker", "sidecar"],
        Meta(description="sidecar: it holds no reader; first_offset is the end of the log when it began to write."),
    ]


class AbortedRange(Reply):
    """Readers of committed records skip the producer's records from first_offset to last_offset."""

    producer_id: int
    first_offset: Offset
    last_offset: Annotated[Offset, Meta(description="The offset of the abort marker.")]


class BufferSnapshot(Reply):
    taken_ms: TimeMs
    position: Annotated[int, Meta(description="The snapshot covers the log below this offset.")]


class LowWatermark(Reply):
    coordinator: int
    serial: Annotated[int, Meta(description="All transactions of the coordinator up to this serial have ended.")]


class PartitionTransactions(Reply, kw_only=True):
    topic: str
    partition: int
    start_offset: Offset
    stable_offset: Annotated[int, Meta(description="The last stable offset: the limit of read_committed.")]
    end_offset: Offset
    held_by: (
        Annotated[OpenTransaction, Meta(description="The transaction that holds the stable offset.")] | UnsetType
    ) = UNSET
    open_transactions: int
    open: Annotated[list[OpenTransaction], Meta(description="Open transactions, by first offset.")]
    open_next: Annotated[int, _NEXT] | UnsetType = UNSET
    committed_transactions: Annotated[int, Meta(description="Since the partition was created.")]
    aborted_transactions: Annotated[int, Meta(description="Since the partition was created.")]
    aborted_set: Annotated[
        int, Meta(description="Entries of the aborted set. A long set also has checkpoints, which are not listed.")
    ]
    aborted: Annotated[list[AbortedRange], Meta(description="The aborted set, by marker offset.")]
    aborted_next: Annotated[int, _NEXT] | UnsetType = UNSET
    tombstones: Annotated[int, Meta(description="Ended transactions whose late writes are refused.")]
    snapshot: Annotated[BufferSnapshot, Meta(description="The last snapshot; absent without one.")] | UnsetType = UNSET
    low_watermarks: list[LowWatermark] | UnsetType = UNSET


class PartitionTransaction(Reply, kw_only=True):
    topic: str
    partition: int
    transaction: TxnIdText
    state: Annotated[
        Literal["open", "committed", "aborted", "not_written", "ended"],
        Meta(
            description="open: it has written here. committed, aborted: its outcome. not_written: it is open and has "
            "written nothing here. ended: it ended here so long ago that the coordinator has forgotten the outcome."
        ),
    ]
    first_offset: Annotated[int, Meta(description="While it is open, or if it is in the aborted set.")] | UnsetType = (
        UNSET
    )
    last_offset: Annotated[int, Meta(description="The offset of the abort marker.")] | UnsetType = UNSET
    aborted: bool


# -- subscriptions -----------------------------------------------------------------------------------------------------


class PendingQuery(Request):
    partition: Annotated[Partition, Meta(description="Only this partition.")] | UnsetType = UNSET
    from_partition: Annotated[Partition, Meta(description="The first partition; a reply has at most 64.")] = 0
    transaction: Annotated[TxnIdText, Meta(description="Only this transaction.")] | UnsetType = UNSET
    max_ranges: Annotated[int, Meta(ge=1, le=1_000, description="Maximum ranges of each transaction.")] = 100
    low_watermarks: Annotated[bool, Meta(description="Include the low watermarks.")] = False


class OffsetRange(Reply):
    """Both ends belong to it."""

    first: Offset
    last: Offset


class PendingTransaction(Reply):
    transaction: TxnIdText
    records: Annotated[int, Meta(description="Acknowledged in it; 0 for a Kafka group.")]
    ranges: list[OffsetRange]
    more_ranges: bool
    cumulative: (
        Annotated[
            int, Meta(description="Last offset of a cumulative acknowledgement; for a Kafka group the pending offset.")
        ]
        | UnsetType
    ) = UNSET
    since_ms: (
        Annotated[
            TimeMs, Meta(description="For a Kafka group when the offset was sent, else when the transaction began.")
        ]
        | UnsetType
    ) = UNSET
    producer_id: Annotated[int, Meta(description="Of a Kafka producer's transaction.")] | UnsetType = UNSET
    transactional_id: Annotated[str, Meta(description="Of a Kafka producer's transaction.")] | UnsetType = UNSET


class PendingPartition(Reply):
    partition: int
    mark_delete: int
    records: int
    transactions: Annotated[list[PendingTransaction], Meta(description="By id.")]
    complete: Annotated[bool, Meta(description="False: there were too many to read; some are missing.")]
    low_watermarks: list[LowWatermark] | UnsetType = UNSET


class PendingAcknowledgements(Reply):
    topic: str
    name: str
    kind: Kind
    partitions: list[PendingPartition]
    next_partition: Annotated[int, _NEXT] | UnsetType = UNSET


class RecordStateQuery(Request):
    batch_index: (
        Annotated[
            int,
            Meta(ge=0, le=1 << 31, description="The record at this place, from 0, of the batch that has the offset."),
        ]
        | UnsetType
    ) = UNSET


class RecordState(Reply, kw_only=True):
    topic: str
    name: str
    id: MessageIdText
    state: Annotated[
        record_state.State,
        Meta(
            description="pending_ack: acknowledged in an open transaction. acknowledged. delivered: to a consumer, or "
            "returned by one. not_delivered: still to be delivered. not_acknowledged: above the offset of a Kafka "
            "group. hidden: never or not yet delivered. invalid_position: there is no such record."
        ),
    ]
    reason: (
        Annotated[
            Literal[
                "mark_delete", "individual", "leased", "returned", "aborted", "above_stable_offset", "marker", "gap",
                "removed", "beyond_end", "batch_index",
            ],
            Meta(description="What the state is due to."),
        ]
        | UnsetType
    ) = UNSET  # fmt: skip
    transaction: Annotated[TxnIdText, Meta(description="Which holds the pending acknowledgement.")] | UnsetType = UNSET
    consumer: Annotated[str, Meta(description="Which has the lease.")] | UnsetType = UNSET
    deliveries: Annotated[int, Meta(description="How often it was delivered.")] | UnsetType = UNSET
    redelivery_at_ms: TimeMs | UnsetType = UNSET
    batch_base_offset: int | UnsetType = UNSET
    batch_records: int | UnsetType = UNSET
    mark_delete: int
    stable_offset: int
    end_offset: int


class BacklogQuery(Request):
    from_offset: Annotated[Offset, Meta(description="Where to go on; below the mark-delete position: there.")] = 0
    max_entries: Annotated[int, Meta(ge=1, le=100_000, description="Maximum log entries to read.")] = 10_000


class BacklogAnalysis(Reply, kw_only=True):
    topic: str
    name: str
    kind: Kind
    partition: int
    mark_delete: int
    stable_offset: int
    end_offset: int
    from_offset: Offset
    next_offset: Annotated[int, _NEXT] | UnsetType = UNSET
    complete: Annotated[bool, Meta(description="False: max_entries was reached before the log end.")]
    entries: Annotated[int, Meta(description="Log entries read: batches and markers.")]
    batches: Annotated[int, Meta(description="With records that are not acknowledged.")]
    records: Annotated[
        int, Meta(description="Deliverable and not acknowledged; leased and pending ones are among them.")
    ]
    acknowledged: Annotated[int, Meta(description="Records acknowledged beyond the mark-delete position.")]
    markers: int
    aborted_batches: int
    aborted_records: int
    undecided: Annotated[int, Meta(description="Records at or above the stable offset.")]
    scheduled: Annotated[int, Meta(description="Records of the partition that are not due yet.")]
