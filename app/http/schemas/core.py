"""Models of request and response bodies, for decoding, encoding and the OpenAPI document.

Requests reject unknown members; responses omit unset ones.  Limits that depend on the configuration (records per
request, transaction timeout) are checked where they are used.  Bodies of subscriptions, scheduled records and other
subjects are in modules of their own.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

NUMBER_MAX = 2**53  # JSON parsers and Redis Lua lose digits of larger numbers

Partition = Annotated[int, Meta(ge=0, le=999_999_999, description="Partitions are numbered from 0.")]
Offset = Annotated[int, Meta(ge=0, le=NUMBER_MAX)]
Milliseconds = Annotated[int, Meta(ge=0, le=NUMBER_MAX)]
TimeMs = Annotated[int, Meta(ge=0, le=NUMBER_MAX, description="Milliseconds since 1970, UTC.")]
Timestamp = TimeMs | Annotated[str, Meta(max_length=64, description="ISO 8601 with a zone: 2027-01-31T09:00:00Z.")]
Duration = (
    Annotated[int, Meta(ge=0, le=NUMBER_MAX, description="Milliseconds.")]
    | Annotated[str, Meta(max_length=64, description="An ISO 8601 duration: PT5S, P1DT12H.")]
)
Count = Annotated[int, Meta(ge=1, le=1_000_000)]
TopicName = Annotated[str, Meta(extra_json_schema={"pattern": "^[A-Za-z0-9._-]{1,249}$"})]
SubscriptionName = Annotated[str, Meta(description="1 to 200 printable characters.", min_length=1, max_length=200)]
Consumer = Annotated[str, Meta(min_length=1, max_length=200, description="Consumer name; it holds the leases.")]
TxnIdText = Annotated[
    str,
    Meta(max_length=40, description="An id returned by begin.", extra_json_schema={"examples": ["3-3821040230400"]}),
]
ScheduledIdText = Annotated[
    str,
    Meta(
        max_length=40,
        description="partition:entry.index",
        extra_json_schema={"pattern": r"^\d{1,9}:\d{1,12}\.\d{1,6}$", "examples": ["0:17.0"]},
    ),
]
MessageIdText = Annotated[
    str, Meta(max_length=40, description="partition:offset", extra_json_schema={"pattern": r"^\d{1,9}:\d{1,16}$"})
]
ValueForm = Annotated[
    Literal["auto", "text", "base64"],
    Meta(
        description="The member that contains a value. auto: `value` if the bytes are JSON, else `text` if they are "
        "UTF-8, else `base64`. text: `text` if they are UTF-8, else `base64`. base64: always `base64`. A tombstone is "
        'always `"value": null`.'
    ),
]
Limit = Annotated[int, Meta(ge=-1, le=NUMBER_MAX, description="-1: no limit.")]
Unacked = Annotated[int, Meta(ge=0, lt=1 << 31, description="Unacknowledged messages on a partition; 0: no limit.")]
Acknowledged = Annotated[bool, Meta(description="Trim acknowledged records only.")]
BatchBytes = Annotated[int, Meta(ge=0, lt=1 << 31, description="Maximum batch size.")]
Delay = Annotated[int, Meta(ge=0, le=NUMBER_MAX, description="Maximum delay; 0: no limit.")]
HeadersBase64 = dict[str, bytes | None] | list[tuple[str, bytes | None]]  # where a name repeats: pairs, in order
Copies = Annotated[int, Meta(ge=1, lt=1 << 31, description="Copies that a write needs at durability replicas.")]


class Request(Struct, forbid_unknown_fields=True, kw_only=True, gc=False):
    """A request body; unknown members are rejected."""


class Reply(Struct, kw_only=True, gc=False):
    """A response body; unset members are omitted."""


class Problem(Reply):
    """RFC 9457 problem details. More members may follow, depending on the code."""

    type: Annotated[str, Meta(description="urn:redis-ledger:problem:<code>")]
    title: str
    status: int
    detail: Annotated[str, Meta(description="The cause and the remedy.")]
    code: Annotated[str, Meta(description="Stable, for programs.")]
    retriable: Annotated[bool, Meta(description="Whether the same request may succeed later.")]


class Settings(Request):
    """null: the topic has no value of its own; the broker setting applies."""

    retention_ms: Limit | UnsetType | None = UNSET
    retention_bytes: Limit | UnsetType | None = UNSET
    retention_acknowledged: Acknowledged | UnsetType | None = UNSET
    batch_bytes_max: BatchBytes | UnsetType | None = UNSET
    ledger_bytes_max: Annotated[int, Meta(ge=1 << 20, lt=1 << 31)] | UnsetType | None = UNSET
    ledger_age_ms_max: Annotated[int, Meta(ge=1_000, le=NUMBER_MAX)] | UnsetType | None = UNSET
    delayed_delivery: bool | UnsetType | None = UNSET
    delayed_delivery_max_delay_ms: Delay | UnsetType | None = UNSET
    delayed_delivery_tick_time_ms: Annotated[int, Meta(ge=0, le=60_000)] | UnsetType | None = UNSET
    min_insync_replicas: Copies | UnsetType | None = UNSET
    txn_buffer: Literal["marker", "sidecar"] | UnsetType | None = UNSET
    message_timestamp_type: Literal["CreateTime", "LogAppendTime"] | UnsetType | None = UNSET
    message_timestamp_before_ms_max: Milliseconds | UnsetType | None = UNSET
    message_timestamp_after_ms_max: Milliseconds | UnsetType | None = UNSET
    max_unacked_per_consumer: Unacked | UnsetType | None = UNSET
    max_unacked_per_subscription: Unacked | UnsetType | None = UNSET
    compression_type: (
        Annotated[
            Literal["producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"],
            Meta(description="Stored and returned without effect: batches are stored as sent."),
        ]
        | UnsetType
        | None
    ) = UNSET


class CreateTopic(Request):
    name: TopicName
    partitions: Count | None = None
    settings: Settings | None = None


class ChangeTopic(Request):
    """Partitions can only grow."""

    partitions: Count | None = None
    settings: Settings | None = None


class Topic(Reply):
    name: TopicName
    id: str
    partitions: int
    settings: dict[str, int | bool | str]
    created_ms: TimeMs


class Topics(Reply):
    topics: list[Topic]


class PartitionState(Reply):
    partition: int
    start_offset: Offset
    stable_offset: Annotated[int, Meta(description="The last stable offset: the limit of read_committed.")]
    end_offset: Offset
    leader_epoch: int
    active_ledger: int
    ledgers: int
    bytes: int
    open_transactions: int
    offloaded_offset: Annotated[int, Meta(description="Records below are offloaded to Parquet; 0: none.")] = field(
        name="cold_offset"
    )
    committed_transactions: int
    aborted_transactions: int
    scheduled: Annotated[int, Meta(description="Records that are not due yet.")]


class RecordIn(Request):
    """At most one of value, text and base64, and one of key and key_base64. Without a value the record is a tombstone.
    With deliver_at or deliver_after (counted from receipt) the record is scheduled."""

    key: str | None = None
    key_base64: bytes | None = None
    value: Annotated[Raw, Meta(description="Any JSON, stored as its text.")] | UnsetType = UNSET
    text: str | None = None
    base64: bytes | None = None
    headers: dict[str, str] | None = None
    headers_base64: HeadersBase64 | None = None
    partition: Partition | None = None
    timestamp_ms: TimeMs | None = None
    deliver_at: Timestamp | None = None
    deliver_after: Duration | None = None


Records = Annotated[list[RecordIn], Meta(min_length=1)]


class Produce(Request):
    """producer_id, epoch and sequence are given together and require partition; sequence: of the first record."""

    records: Records
    partition: Partition | None = None
    transaction: TxnIdText | None = None
    producer_id: Annotated[int, Meta(ge=0, le=2**63 - 1)] | None = None
    epoch: Annotated[int, Meta(ge=0, le=32_767)] | None = None
    sequence: Annotated[int, Meta(ge=0, le=2**31 - 1)] | None = None


class ProduceQuery(Request):
    """For raw record batches only; a JSON body has these as members."""

    partition: Annotated[Partition, Meta(description="The partition of the batches.")] | UnsetType = UNSET
    transaction: TxnIdText | UnsetType = UNSET


class ScheduledRef(Reply):
    """A scheduled record."""

    id: ScheduledIdText
    deliver_at_ms: TimeMs


class Appended(Reply):
    partition: int
    base_offset: Annotated[int, Meta(description="Of the first record; -1: scheduled, or not committed (sidecar).")]
    records: int
    duplicate: Annotated[bool, Meta(description="The batch was already in the log, at this offset.")] = False
    scheduled: Annotated[list[ScheduledRef], Meta(description="In the order of the request.")] | UnsetType = UNSET


class Produced(Reply):
    results: list[Appended]


class FetchQuery(Request):
    offset: Annotated[Offset | Literal["earliest", "latest"], Meta(description="First offset to read.")] = "earliest"
    isolation: Annotated[
        Literal["read_committed", "read_uncommitted"], Meta(description="read_uncommitted includes aborted records.")
    ] = "read_committed"
    max_records: Annotated[int, Meta(ge=1, le=10_000, description="Maximum records of a JSON response.")] = 1_000
    max_bytes: Annotated[
        int, Meta(ge=1, le=67_108_864, description="Maximum size of the batches; at least one batch is returned.")
    ] = 1_048_576
    wait_ms: Annotated[int, Meta(ge=0, le=NUMBER_MAX, description="Maximum wait for records.")] = 0
    as_: ValueForm = field(name="as", default="auto")


class OffsetQuery(Request):
    timestamp_ms: Annotated[TimeMs, Meta(description="Find the first record with this timestamp or a later one.")]
    isolation: Annotated[Literal["read_committed", "read_uncommitted"], Meta(description="Its limit.")] = (
        "read_committed"
    )


class OffsetFound(Reply):
    """timestamp_ms is absent if no record is found; offset is then the end offset."""

    offset: Offset
    timestamp_ms: Annotated[TimeMs, Meta(description="The timestamp of the record.")] | UnsetType = UNSET


class RecordOut(Reply, omit_defaults=True):
    """The value is in one of value, text and base64, as chosen by the parameter `as`. value null: a tombstone."""

    offset: Offset
    timestamp_ms: int
    key: str | UnsetType = UNSET
    key_base64: bytes | UnsetType = UNSET
    value: Raw | UnsetType = UNSET
    text: str | UnsetType = UNSET
    base64: bytes | UnsetType = UNSET
    headers: dict[str, str] | UnsetType = UNSET
    headers_base64: HeadersBase64 | UnsetType = UNSET
    transaction: str | UnsetType = UNSET


class Skipped(Reply):
    """Records of a batch that the broker does not decode; they can be read as record batches."""

    partition: int
    first_offset: Offset
    last_offset: Annotated[int, Meta(description="The offset of the last of these records.")]
    code: Annotated[str, Meta(description="too_large_to_decode, or the error of a damaged batch.")]
    detail: str


class Fetched(Reply):
    records: list[RecordOut]
    next_offset: Annotated[int, Meta(description="Next offset to read.")]
    more: Annotated[bool, Meta(description="Whether records at next_offset are available; false: wait for new ones.")]
    start_offset: int
    stable_offset: int
    end_offset: int
    skipped: Annotated[list[Skipped], Meta(description="Records in this range that are omitted.")] | UnsetType = UNSET


class Empty(Request):
    """An empty body; may be omitted."""


class Producer(Reply):
    producer_id: int
    epoch: int


TransactionStatus = Literal["open", "committing", "committed", "aborting", "aborted"]


class Begin(Request):
    timeout_ms: Milliseconds | None = None
    owner: Annotated[str, Meta(max_length=1_000, description="A label of the producer, for display only.")] = ""
    together: Annotated[
        str, Meta(max_length=1_000, description="Transactions with the same name can be committed together.")
    ] = ""


class TopicPartition(Reply):
    topic: str
    partition: int


class TopicPartitionIn(Request):
    topic: TopicName
    partition: Partition


class SubscriptionIn(Request):
    topic: TopicName
    subscription: SubscriptionName


class TransactionSubscription(Reply):
    topic: str
    partition: int
    subscription: str


class Transaction(Reply):
    id: TxnIdText
    status: TransactionStatus
    timeout_ms: int
    started_ms: int
    deadline_ms: int
    timed_out: bool
    owner: str
    partitions: list[TopicPartition]
    subscriptions: list[TransactionSubscription]
    principal: Annotated[str, Meta(description="The principal that began it, with auth_required.")] | UnsetType = UNSET


class Transactions(Reply):
    transactions: list[Transaction]


class TransactionsQuery(Request):
    status: Annotated[TransactionStatus, Meta(description="Only transactions with this status.")] | UnsetType = UNSET
    min_age_ms: Annotated[Milliseconds, Meta(description="Only transactions at least this old.")] = 0
    limit: Annotated[int, Meta(ge=1, le=10_000, description="Maximum number of transactions.")] = 100
    owner: Annotated[str, Meta(max_length=1_000, description="Only transactions whose owner has this prefix.")] = ""
    min_timeout_ms: Annotated[Milliseconds, Meta(description="Only transactions with at least this timeout.")] = 0
    coordinator: Annotated[int, Meta(ge=0, lt=1 << 15, description="Only those of this one.")] | UnsetType = UNSET


class AddPartitions(Request):
    partitions: Annotated[list[TopicPartitionIn], Meta(min_length=1, max_length=10_000)]


class AddSubscriptions(Request):
    subscriptions: Annotated[list[SubscriptionIn], Meta(min_length=1, max_length=10_000)]


class Commit(Request):
    """wait all: respond when every participant has applied the decision; logged: as soon as it is durable."""

    wait: Literal["all", "logged"] = "all"


class Ended(Reply):
    id: TxnIdText
    status: TransactionStatus


class ExecuteAcks(Request):
    topic: TopicName
    subscription: SubscriptionName
    ids: Annotated[list[MessageIdText], Meta(min_length=1)]
    consumer: Consumer = "default"


class ExecuteRecords(Request):
    topic: TopicName
    records: Records


class Execute(Request):
    acks: list[ExecuteAcks] = field(default_factory=list)
    records: list[ExecuteRecords] = field(default_factory=list)
    timeout_ms: Milliseconds | None = None


class ExecuteResult(Reply):
    topic: str
    partition: int
    base_offset: int
    records: int
    scheduled: list[ScheduledRef] | UnsetType = UNSET


class Executed(Reply, kw_only=True):
    """id: of the transaction; not given for a step that needed none."""

    id: TxnIdText | UnsetType = UNSET
    status: TransactionStatus
    results: list[ExecuteResult]


class Live(Reply):
    status: Literal["live"] = "live"


class Entry(Reply):
    """The entry point: name, version and links."""

    name: str
    version: str
    links: dict[str, str]
