"""Arguments and results of the services: plain values, which REST and Kafka handlers convert."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from redis_ledger.errors import BadRequest
from redis_ledger.ids import MessageId, ScheduledId, TxnId

Isolation = Literal["read_committed", "read_uncommitted"]
SubscriptionKind = Literal[
    "exclusive", "failover", "shared", "key_shared", "kafka"
]  # kafka: a consumer group's offsets
Headers = Sequence[tuple[str, bytes | None]]


class NewRecord(NamedTuple):
    """A record to append.  partition None: chosen by the key (murmur2, as Kafka does), or one for all keyless
    records of the call.  timestamp_ms None: the broker's time.  deliver_at_ms (UTC) or deliver_after_ms (from receipt):
    not visible before; at most one of them."""

    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    partition: int | None = None
    timestamp_ms: int | None = None
    deliver_at_ms: int | None = None
    deliver_after_ms: int | None = None


class ProducerSequence(NamedTuple):
    """Idempotence: the id and epoch of a producer and the sequence of the first record (KIP-98).
    owner: the owner of the id, as Security.owner returns it; "" if it is not compared."""

    producer_id: int
    epoch: int
    sequence: int
    owner: str = ""


class ScheduledRef(NamedTuple):
    """A delayed record that has been scheduled."""

    id: ScheduledId
    deliver_at_ms: int


class Appended(NamedTuple):
    """The position of records of one call, in their order: `records` of them from base_offset on; or, with
    base_offset -1, the scheduled ones."""

    partition: int
    base_offset: int
    records: int
    duplicate: bool = False  # the batch was already in the log, at this position
    scheduled: Sequence[ScheduledRef] = ()


class Scheduled(NamedTuple):
    """A delayed record.  repeat: its recurrence, with times_left deliveries, none after until_ms.  too_large: its batch
    was not decoded, so only id and due time are set."""

    id: ScheduledId
    deliver_at_ms: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    repeat: str | None = None
    until_ms: int | None = None
    times_left: int | None = None
    too_large: bool = False


class DelayStats(NamedTuple):
    """Statistics of a partition's delayed records.  loaded: entries in sorted sets; held: records of open transactions;
    first_due_ms, last_due_ms: -1 without any."""

    partition: int
    records: int
    entries: int
    buckets: int
    loaded: int
    held: int
    overdue: int
    first_due_ms: int
    last_due_ms: int
    snapshot_bytes: int
    payload_bytes: int


class FetchedBatch(NamedTuple):
    """One record batch as stored.  data: the whole RecordBatch v2, its base offset and leader epoch set; a control
    batch for a marker."""

    base_offset: int
    last_offset: int
    data: bytes
    is_control: bool
    transaction: TxnId | None


@dataclass(slots=True)
class Fetched:
    """batches: in offset order; the first contains the requested offset and may begin below it.  leads_to_batch: True
    if there is a batch for this reader at next_offset; False if not, or if unknown."""

    batches: list[FetchedBatch]
    next_offset: int  # where the next read begins
    start_offset: int
    stable_offset: int
    end_offset: int
    aborted: list[tuple[int, int]] = field(default_factory=list)  # producer id, first offset: transactions to skip
    leads_to_batch: bool = False


@dataclass(slots=True)
class PartitionState:
    """bytes: of the visible log, in Redis and in Parquet.  offloaded_offset: end of the part in Parquet.
    committed_transactions, aborted_transactions: since the partition was created.  scheduled: records not due yet."""

    partition: int
    start_offset: int
    stable_offset: int
    end_offset: int
    leader_epoch: int
    active_ledger: int
    ledgers: int
    bytes: int
    open_transactions: int
    offloaded_offset: int
    committed_transactions: int
    aborted_transactions: int
    scheduled: int


class PartitionProducer(NamedTuple):
    """A producer's state in a partition.  sequence: of its last record, -1 without sequences; first_offset: of its open
    transaction."""

    producer_id: int
    epoch: int
    sequence: int
    last_ms: int
    first_offset: int | None


class OpenTransaction(NamedTuple):
    """An open transaction on a partition; read_committed consumers wait at the lowest first_offset of those that hold
    readers, which are not in the sidecar buffer."""

    partition: int
    first_offset: int
    transaction: TxnId
    holds_readers: bool = True


@dataclass(slots=True)
class Topic:
    name: str
    id: str
    partitions: int
    settings: dict[str, int]
    created_ms: int


class Message(NamedTuple):
    """A delivered record.  deliveries: the number of earlier ones."""

    id: MessageId
    deliveries: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers


class Skipped(NamedTuple):
    """Records first to last of a batch that is too large to decode, or damaged: they are not delivered.
    error: the reason."""

    partition: int
    first_offset: int
    last_offset: int
    error: BadRequest


@dataclass(slots=True)
class CursorStats:
    """For a Kafka group, mark_delete and read are its offset, -1 without one."""

    partition: int
    mark_delete: int  # everything below is acknowledged
    read: int  # everything below has been delivered or skipped
    end: int  # stable offset: limit of delivery
    acked_ahead: int
    leased: int
    pending: int  # acknowledged in transactions that are still open
    backlog: int  # deliverable records not acknowledged yet; 0 for a group without an offset
    redelivered: int
    waiting: int = 0  # read, and no consumer has them: returned, or (key_shared) for the consumer of their key
    backlog_is_exact: bool = True  # False: an upper bound that includes markers and aborted records


class UnackedOfSubscription(NamedTuple):
    """Sums over the partitions.  unacknowledged: delivered and not acknowledged; `pending` of them are acknowledged in
    open transactions.  For a Kafka group: 0, and the number of pending commits."""

    name: str
    kind: SubscriptionKind
    unacknowledged: int
    pending: int


@dataclass(slots=True)
class SubscriptionStats:
    topic: str
    topic_id: str
    name: str
    kind: SubscriptionKind
    cursors: list[CursorStats]


TransactionStatus = Literal["open", "committing", "committed", "aborting", "aborted"]


@dataclass(slots=True)
class Transaction:
    """partitions, subscriptions: its participants; empty once it has ended."""

    id: TxnId
    status: TransactionStatus
    timeout_ms: int
    started_ms: int
    deadline_ms: int
    timed_out: bool = False
    owner: str = ""
    principal: str = ""  # the principal that began it, with auth_required
    partitions: list[tuple[str, int]] = field(default_factory=list)
    subscriptions: list[tuple[str, int, str]] = field(default_factory=list)  # topic, partition, subscription


class CommittedAll(NamedTuple):
    """already: nothing was committed, since `number` was committed before.  number: None if none was given."""

    status: Literal["committed", "committing", "already"]
    number: int | None


class ExecuteAcks(NamedTuple):
    topic: str
    subscription: str
    consumer: str
    ids: Sequence[MessageId]


def always() -> bool:
    return True


def never() -> bool:
    return False


class ExecuteRecords(NamedTuple):
    """may_create: whether a topic that does not exist may be created."""

    topic: str
    records: Sequence[NewRecord]
    may_create: Callable[[], bool] = always


@dataclass(slots=True)
class Executed:
    """transaction: None for a step that needed none."""

    transaction: TxnId | None
    appended: Mapping[str, list[Appended]]  # topic → positions; empty if `replayed`
    replayed: bool = False
