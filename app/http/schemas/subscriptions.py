"""Bodies of subscriptions."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from redis_ledger.app.http.schemas.core import (
    NUMBER_MAX,
    Consumer,
    HeadersBase64,
    MessageIdText,
    Offset,
    Partition,
    Reply,
    Request,
    Skipped,
    SubscriptionName,
    TimeMs,
    TopicName,
    TxnIdText,
    ValueForm,
)
from redis_ledger.broker.subscriptions.dead_letter_rules import DELIVERIES_MAX
from redis_ledger.broker.subscriptions.reconsume import DETAIL_MAX, IDS_MAX
from redis_ledger.broker.subscriptions.redelivery_rules import DELAY_MS_MAX, FACTOR_MAX


class CreateSubscription(Request):
    name: SubscriptionName
    kind: Literal["shared", "key_shared", "exclusive", "failover"] = "shared"
    start: Literal["earliest", "latest"] = "earliest"


class SubscriptionRef(Reply):
    name: str
    kind: Literal["shared", "key_shared", "exclusive", "failover", "kafka"]


class Subscriptions(Reply):
    subscriptions: list[SubscriptionRef]


class CursorStats(Reply):
    partition: int
    mark_delete: Annotated[
        int,
        Meta(
            description="The mark-delete position: all messages below are acknowledged. For a Kafka group its "
            "committed offset, or -1."
        ),
    ]
    read: Annotated[int, Meta(description="The next offset to deliver.")]
    end: Annotated[int, Meta(description="The end of the deliverable messages.")]
    acked_ahead: int
    leased: Annotated[int, Meta(description="Delivered, and neither acknowledged nor returned by a nack or an abort.")]
    pending: Annotated[
        int, Meta(description="Acknowledged in open transactions; for a Kafka group the number of those transactions.")
    ]
    backlog: Annotated[int, Meta(description="Unacknowledged messages; 0 for a Kafka group without an offset.")]
    redelivered: int
    waiting: Annotated[
        int,
        Meta(
            description="Records that were read from the log and that no consumer has: returned by a nack or an abort, "
            "or, of `key_shared`, for the consumer of their key."
        ),
    ]
    backlog_is_exact: Annotated[
        bool,
        Meta(
            description="False: the backlog is an upper bound. Far from the end offsets are counted, which include "
            "markers and aborted records."
        ),
    ]


class KeyShare(Reply):
    """What a consumer of a `key_shared` subscription has, on all partitions together."""

    consumer: str
    slots: Annotated[
        int,
        Meta(
            description="Hash slots of keys: each partition divides 256 among its consumers, at a receive. A consumer "
            "without a session keeps its slots until another one receives."
        ),
    ]
    unacknowledged: Annotated[int, Meta(description="Records: leased, or acknowledged in open transactions.")]
    waiting: Annotated[int, Meta(description="Records of the keys of its slots that no consumer has.")]
    returned: Annotated[
        int, Meta(description="Those of them that were delivered before, and wait for their redelivery.")
    ]
    session_ends_ms: Annotated[
        int, Meta(description="Milliseconds since 1970 at which its session ends; 0 if it was closed.")
    ]


class DeadLetters(Reply):
    max_deliveries: int
    topic: str
    retry_topic: str | UnsetType = UNSET
    max_attempts: int | UnsetType = UNSET
    expire_ms: int | UnsetType = UNSET


class Backoff(Reply):
    """The wait before delivery n + 1 is min_ms * factor ** (n - 1), at most max_ms."""

    min_ms: int
    factor: float
    max_ms: int


class Subscription(Reply):
    topic: str
    name: str
    kind: Literal["shared", "key_shared", "exclusive", "failover", "kafka"]
    backlog: Annotated[int, Meta(description="Deliverable messages that are not acknowledged.")]
    backlog_is_exact: Annotated[
        bool, Meta(description="Whether the backlogs of all partitions are exact; else an upper bound.")
    ]
    delayed: Annotated[int, Meta(description="Scheduled records that are not due yet; not part of the backlog.")]
    leased: int
    pending: int
    waiting: Annotated[int, Meta(description="Records that were read from the log and that no consumer has.")]
    cursors: list[CursorStats]
    consumers: (
        Annotated[
            list[KeyShare],
            Meta(description="Of a `key_shared` subscription, in answers to GET: how its consumers share the keys."),
        ]
        | UnsetType
    ) = UNSET
    dead_letters: DeadLetters | UnsetType = UNSET
    redelivery: Backoff | UnsetType = UNSET


class Receive(Request):
    consumer: Consumer = "default"
    max_records: Annotated[int, Meta(ge=1, le=10_000)] = 100
    wait_ms: Annotated[
        int, Meta(ge=0, le=NUMBER_MAX, description="Time to wait for messages; limited by the broker.")
    ] = 0
    ack_timeout_ms: Annotated[int, Meta(ge=1, le=86_400_000)] | None = None
    partitions: Annotated[list[Partition], Meta(min_length=1, max_length=10_000)] | None = None
    after: Annotated[
        list[MessageIdText],
        Meta(
            max_length=10_000,
            description="For an exclusive subscription: the last message that the consumer has of each partition.",
        ),
    ] = msgspec.field(default_factory=list)
    request_id: (
        Annotated[
            str, Meta(pattern="^[A-Za-z0-9_-]{1,64}$", description="An id of this request, so that it can be repeated.")
        ]
        | None
    ) = None
    attempt: Annotated[
        int, Meta(ge=0, le=1_000_000, description="How often the request with this request_id was sent before.")
    ] = 0
    delivered: Annotated[
        bool,
        Meta(
            description="False reserves the messages: they count as delivered when `:extend`, `:ack` or `:nack` names "
            "them, and not if their lease ends before that."
        ),
    ] = True
    as_: ValueForm = msgspec.field(name="as", default="auto")


class Message(Reply, omit_defaults=True):
    id: MessageIdText
    partition: int
    offset: Offset
    redelivery_count: int
    timestamp_ms: int
    key: str | UnsetType = UNSET
    key_base64: bytes | UnsetType = UNSET
    value: Raw | UnsetType = UNSET
    text: str | UnsetType = UNSET
    base64: bytes | UnsetType = UNSET
    headers: dict[str, str] | UnsetType = UNSET
    headers_base64: HeadersBase64 | UnsetType = UNSET


class Received(Reply):
    messages: list[Message]
    skipped: (
        Annotated[
            list[Skipped],
            Meta(
                description="Leased messages that are too large to decode: acknowledge them by id, or they are "
                "skipped again."
            ),
        ]
        | UnsetType
    ) = UNSET
    reason: (
        Annotated[
            Literal["stand_by", "max_unacked_per_consumer", "max_unacked_per_subscription"],
            Meta(
                description="Why there are no more messages: another consumer is active, or a limit of unacknowledged "
                "messages is reached on a partition."
            ),
        ]
        | UnsetType
    ) = UNSET


class Ack(Request):
    ids: Annotated[list[MessageIdText], Meta(min_length=1)]
    consumer: Consumer = "default"
    transaction: TxnIdText | None = None


class AckCumulative(Request):
    id: MessageIdText
    consumer: Consumer = "default"
    transaction: TxnIdText | None = None


class Acknowledged(Reply):
    acknowledged: int


class Nack(Request):
    """ids, or all: true for all messages leased to this consumer."""

    ids: Annotated[list[MessageIdText], Meta(min_length=1)] | None = None
    all: bool = False
    consumer: Consumer = "default"
    delivered: Annotated[
        bool, Meta(description="False: the consumer has not processed them, so the delivery does not count.")
    ] = True
    delay_ms: (
        Annotated[int, Meta(ge=0, le=DELAY_MS_MAX, description="Omitted: as the redelivery rule says; 0 without one.")]
        | None
    ) = None


class Extend(Request):
    """ids, or all: true for all messages leased to this consumer."""

    ids: (
        Annotated[
            list[MessageIdText], Meta(min_length=1, description="They count as delivered, if they were reserved.")
        ]
        | None
    ) = None
    all: Annotated[bool, Meta(description="Reserved messages stay reserved.")] = False
    consumer: Consumer = "default"
    ack_timeout_ms: (
        Annotated[int, Meta(ge=1, le=86_400_000, description="From now on. A longer lease stays as it is.")] | None
    ) = None


class Extended(Reply):
    extended: int
    lost: Annotated[
        list[MessageIdText],
        Meta(description="Of the ids, those that are not leased to the consumer: settled, or another consumer's."),
    ]


class Redelivering(Reply):
    redelivering: int


class NoteOffsets(Request):
    """offsets: the next offset to read, by partition."""

    offsets: Annotated[dict[Partition, Offset], Meta(min_length=1, max_length=10_000)]
    transaction: TxnIdText | None = None


class SetDeadLetters(Request):
    """topic: receives messages that were delivered max_deliveries times; omitted with 0, which removes the rule."""

    max_deliveries: Annotated[int, Meta(ge=0, le=DELIVERIES_MAX)]
    topic: TopicName | None = None
    retry_topic: Annotated[TopicName, Meta(description="Where messages wait that are reconsumed later.")] | None = None
    max_attempts: Annotated[
        int, Meta(ge=0, le=DELIVERIES_MAX, description="In the retry topic; 0: without a limit.")
    ] = 0
    expire_ms: Annotated[int, Meta(ge=0, le=NUMBER_MAX, description="Age of a message that is moved; 0: never.")] = 0


class ReconsumeLater(Request):
    ids: Annotated[list[MessageIdText], Meta(min_length=1, max_length=IDS_MAX)]
    delay_ms: Annotated[int, Meta(ge=0, le=NUMBER_MAX, description="At most what the retry topic allows.")]
    consumer: Consumer = "default"
    reason: Annotated[str, Meta(max_length=DETAIL_MAX)] = ""


class DeadLetter(Request):
    ids: Annotated[list[MessageIdText], Meta(min_length=1, max_length=IDS_MAX)]
    consumer: Consumer = "default"
    reason: Annotated[str, Meta(max_length=DETAIL_MAX)] = ""


class Reconsumed(Reply):
    """retried: messages that were moved to the retry topic.  dead: to the dead-letter topic."""

    retried: int
    dead: int


class SetRedelivery(Request):
    """The wait before delivery n + 1 is min_ms * factor ** (n - 1), at most max_ms; min_ms 0 alone removes the rule."""

    min_ms: Annotated[int, Meta(ge=0, le=DELAY_MS_MAX)]
    factor: Annotated[float, Meta(ge=1, le=FACTOR_MAX)] = 2.0
    max_ms: (
        Annotated[int, Meta(ge=1, le=DELAY_MS_MAX, description="Omitted: 64 times min_ms, at most a day.")] | None
    ) = None


class PutBack(Request):
    """from_ms, until_ms: when the messages became dead letters."""

    limit: Annotated[int, Meta(ge=1, le=10_000)] = 100
    reason: Literal["max_deliveries", "max_attempts", "expired", "explicit"] | None = None
    origin_topic: TopicName | None = None
    from_ms: TimeMs | None = None
    until_ms: TimeMs | None = None


class PutBackResult(Reply):
    put_back: int


class PartitionSnapshot(Request):
    partition: Partition
    mark_delete: Offset
    acknowledged: Annotated[
        str,
        Meta(
            max_length=1 << 20,
            description="Acknowledged offsets beyond the mark-delete position: the lengths of stretches in turn, "
            "beginning with one that is not acknowledged, as LEB128 numbers in base64.",
        ),
    ] = ""


class SubscriptionSnapshot(Request):
    version: Literal[1]
    topic: TopicName
    topic_id: Annotated[str, Meta(max_length=100)]
    subscription: SubscriptionName
    kind: Literal["shared", "key_shared", "exclusive", "failover"]
    taken_ms: TimeMs
    partitions: Annotated[list[PartitionSnapshot], Meta(min_length=1, description="All of them, from 0 on.")]


class Seek(Request):
    """Exactly one member."""

    to: Literal["earliest", "latest"] | None = None
    offsets: Annotated[dict[Partition, Offset], Meta(min_length=1)] | None = None
    timestamp_ms: TimeMs | None = None
    snapshot: (
        Annotated[
            SubscriptionSnapshot,
            Meta(description="As taken of this subscription, or of another of its topic and kind."),
        ]
        | None
    ) = None
