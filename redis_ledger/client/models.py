"""What the client takes and returns: plain, typed values.

goes in   Record                                     a value with its key, headers, partition and time
comes out RecordPosition  Message                    where it went; a record as read or delivered
          ScheduledPosition  ScheduledRecord         the same of one that is delivered later
          Topic  PartitionState                      what the broker says of itself
          TransactionStatus  BatchedWrite  Executed  OffloadedTopic
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NamedTuple

import msgspec

from redis_ledger.client.transaction_models import TransactionStep
from redis_ledger.errors import UnreadableValue
from redis_ledger.ids import MessageId, ScheduledId
from redis_ledger.offload.manifest import Plan, Segment
from redis_ledger.records.large_messages import descriptor_of

Isolation = Literal["read_committed", "read_uncommitted"]
Kind = Literal["shared", "key_shared", "exclusive", "failover"]
AnyKind = Literal[
    "shared", "key_shared", "exclusive", "failover", "kafka"
]  # kafka: a Kafka consumer group, and where its offsets stand
Headers = Mapping[str, "str | bytes | None"] | Iterable[tuple[str, "str | bytes | None"]]


class RecordPosition(NamedTuple):
    """Where a record went.  offset -1: it is scheduled, or the broker has it from an earlier attempt, too long ago to
    say where."""

    partition: int
    offset: int

    @property
    def scheduled(self) -> ScheduledId | None:
        """Under which id the record waits; None when it is in the log."""
        return None

    @property
    def deliver_at_ms(self) -> int | None:
        """When it is due, in ms since 1970; None when it is in the log."""
        return None


class ScheduledPosition(RecordPosition):
    """Where a record waits to be delivered."""

    _id: ScheduledId
    _due_ms: int

    def __new__(cls, id: ScheduledId, deliver_at_ms: int) -> ScheduledPosition:
        made = super().__new__(cls, id.partition, -1)
        made._id, made._due_ms = id, deliver_at_ms
        return made

    def __repr__(self) -> str:
        return f"ScheduledPosition({self._id}, {self._due_ms})"

    @property
    def scheduled(self) -> ScheduledId:
        return self._id

    @property
    def deliver_at_ms(self) -> int:
        return self._due_ms


class Record(msgspec.Struct, frozen=True):
    """A record to be written by `client.execute`.

    Record({"total": 12}, key="order-7", headers={"source": "web"})
    """

    value: Any
    key: str | bytes | None = None
    headers: Any = None
    partition: int | None = None
    timestamp_ms: int | None = None
    deliver_at: datetime | int | None = None  # ms since 1970, or with a zone
    deliver_after: timedelta | int | None = None  # ms from the broker's receipt


class Message(msgspec.Struct, frozen=True):
    """One record, as a reader or a consumer gets it.

    for message in consumer:
        print(message.id, message.key, message.json()["total"])
    """

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None  # None is a tombstone
    headers: dict[str, bytes | None]  # of several headers of one name the last
    timestamp_ms: int
    all_headers: Sequence[tuple[str, bytes | None]] = ()  # also those of a repeated name, in order
    redelivery_count: int = 0  # how often it was delivered before
    leased_until_s: float = 0.0  # monotonic time at which the broker gives it to another consumer; 0 for a plain read

    @property
    def id(self) -> MessageId:
        return MessageId(self.partition, self.offset)

    @property
    def large_size(self) -> int | None:
        """Bytes of the value of a large message, which `client.open_large` reads; None for others."""
        found = descriptor_of(self.headers.items())
        return None if found is None else found.size

    def json(self) -> Any:
        """The value read as JSON; None for a null value.  Raises UnreadableValue."""
        return _json(self.value, self)

    def text(self) -> str:
        """The value read as UTF-8; the empty text for a null value.  Raises UnreadableValue."""
        return _text(self.value, self)


class ScheduledRecord(msgspec.Struct, frozen=True):
    """A record that waits to be delivered.  repeat, until_ms, times_left: how it goes on after its next delivery.

    for reminder in client.scheduled.list("reminders", key="alice"):
        print(reminder.id, reminder.deliver_at, reminder.json())
    """

    topic: str
    id: ScheduledId
    deliver_at_ms: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: dict[str, bytes | None]
    all_headers: Sequence[tuple[str, bytes | None]] = ()
    repeat: str | None = None
    until_ms: int | None = None
    times_left: int | None = None

    @property
    def deliver_at(self) -> datetime:
        return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=self.deliver_at_ms)

    def json(self) -> Any:
        """The value read as JSON; None for a null value.  Raises UnreadableValue."""
        return _json(self.value, self)

    def text(self) -> str:
        """The value read as UTF-8; the empty text for a null value.  Raises UnreadableValue."""
        return _text(self.value, self)


class CancelOutcome(msgspec.Struct, frozen=True):
    id: str
    outcome: Literal["cancelled", "already_delivered", "unknown"]


class DelayStats(msgspec.Struct, frozen=True):
    """What waits in a partition, or (partition -1) in a topic."""

    records: int
    entries: int = 0  # batches of records that are due together
    buckets: int = 0  # parts of the index, the open one of each partition included
    loaded: int = 0  # entries at hand; the others are in snapshots
    held: int = 0  # records of open transactions
    overdue: int = 0
    first_due_ms: int = -1  # -1 when nothing waits
    last_due_ms: int = -1
    snapshot_bytes: int = 0
    payload_bytes: int = 0
    partition: int = -1


class ScheduledStats(msgspec.Struct, frozen=True):
    partitions: list[DelayStats]
    total: DelayStats


class Bin(msgspec.Struct, frozen=True):
    """Records due from from_ms on and before to_ms."""

    from_ms: int
    to_ms: int
    records: int


class Topic(msgspec.Struct, frozen=True):
    name: str
    id: str
    partitions: int
    settings: dict[str, int | bool | str]
    created_ms: int


class PartitionState(msgspec.Struct, frozen=True):
    partition: int
    start_offset: int
    stable_offset: int
    end_offset: int
    leader_epoch: int = 0
    active_ledger: int = 0
    ledgers: int = 0
    bytes: int = 0
    open_transactions: int = 0
    offloaded_offset: int = msgspec.field(name="cold_offset", default=0)  # records below it are in Parquet
    committed_transactions: int = 0  # since the partition was created
    aborted_transactions: int = 0
    scheduled: int = 0  # records that are not due yet


class OffloadedPartition(msgspec.Struct, frozen=True):
    """A partition's history in Parquet.  version: rises with every change of segments.  plan: what is to be written."""

    partition: int
    start_offset: int
    stable_offset: int
    offloaded_offset: int = msgspec.field(name="cold_offset")
    version: int
    plan: Plan | None
    segments: list[Segment]

    def continued(self, more: OffloadedPartition) -> OffloadedPartition:
        """more: what the next page tells of it; that is all there is where it is of another version."""
        if more.version != self.version:
            return more
        return msgspec.structs.replace(more, segments=self.segments + more.segments)


class OffloadedTopic(msgspec.Struct, frozen=True):
    """home: the folder or bucket that the files of segments are in, "" where the broker has none.  topic_id: a topic
    that is deleted and made again has another one."""

    topic_id: str
    home: str
    partitions: list[OffloadedPartition]


class OffloadPublished(msgspec.Struct, frozen=True):
    offloaded_offset: int = msgspec.field(name="cold_offset")
    ledgers_dropped: int
    bytes_dropped: int


class OffloadSwapped(msgspec.Struct, frozen=True):
    """files: of the segments that left."""

    version: int
    files: list[str]


class OffsetFound(msgspec.Struct, frozen=True):
    """timestamp_ms: of the record found; None when no record is as late, and offset is the end."""

    offset: int
    timestamp_ms: int | None = None


class RecordBatches(NamedTuple):
    """Whole record batches as they are stored (records.batch.split cuts them apart); the first may begin below the
    offset that was asked for."""

    data: bytes
    next_offset: int  # where to read on
    start_offset: int
    stable_offset: int
    end_offset: int

    def readable_end(self, isolation: Isolation) -> int:
        return self.stable_offset if isolation == "read_committed" else self.end_offset


class TransactionPartition(msgspec.Struct, frozen=True):
    topic: str
    partition: int


class TransactionSubscription(msgspec.Struct, frozen=True):
    topic: str
    subscription: str
    partition: int = -1


class TransactionStatus(msgspec.Struct, frozen=True):
    """A transaction as the broker sees it; status is open, committing, committed, aborting or aborted.
    steps, steps_cut: only of one that is read alone; whether steps of further participants are left out."""

    id: str
    status: str
    timeout_ms: int = 0
    started_ms: int = 0
    deadline_ms: int = 0
    timed_out: bool = False
    owner: str = ""
    partitions: list[TransactionPartition] = []
    subscriptions: list[TransactionSubscription] = []
    steps: list[TransactionStep] = []
    steps_cut: bool = False


class BatchedWrite(msgspec.Struct, frozen=True):
    """Thresholds of one log that are in force: transaction_log, or pending_acks for transactional acknowledgements.

    batched       whether operations of several transactions share writes
    coordinators  the same for each coordinator of the transaction log, as the broker that answers writes it
    """

    log: str
    enabled: bool
    max_records: int
    max_size: int
    max_delay_ms: int
    batched: bool
    coordinators: dict[str, bool] = {}


class CommittedAll(msgspec.Struct, frozen=True):
    """status: committed, committing, or already: nothing was committed, since `number` was committed before."""

    status: str
    number: int | None = None


class PlacedRecord(msgspec.Struct, frozen=True):
    """A record that waits: its id, as text, and when it is due."""

    id: str
    deliver_at_ms: int


class ExecutedRecords(msgspec.Struct, frozen=True):
    topic: str
    partition: int
    base_offset: int  # -1 when the records are scheduled
    records: int
    scheduled: list[PlacedRecord] = []


class Executed(msgspec.Struct, frozen=True):
    """What `client.execute` did; results say where the records went.  id: of the transaction; None if a step needed
    none."""

    status: str
    id: str | None = None
    results: list[ExecutedRecords] = []


def _json(value: bytes | None, record: Message | ScheduledRecord) -> Any:
    try:
        return None if value is None else msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableValue(f"The value of {record.topic} {record.id} is not JSON ({error}); read .value.") from error


def _text(value: bytes | None, record: Message | ScheduledRecord) -> str:
    try:
        return "" if value is None else value.decode()
    except UnicodeDecodeError as error:
        raise UnreadableValue(
            f"The value of {record.topic} {record.id} is not UTF-8 ({error}); read .value."
        ) from error
