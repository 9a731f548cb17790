"""Bodies of subscriptions: requests, and answers with what was delivered."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from redis_ledger.app.http.schemas.core import (
    NUMBER_MAX,
    Consumer,
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


class CreateSubscription(Request):
    name: SubscriptionName
    kind: Literal["shared", "exclusive"] = "shared"
    start: Literal["earliest", "latest"] = "earliest"


class SubscriptionRef(Reply):
    name: str
    kind: Literal["shared", "exclusive", "kafka"]


class Subscriptions(Reply):
    subscriptions: list[SubscriptionRef]


class CursorStats(Reply):
    partition: int
    mark_delete: Annotated[int, Meta(description="Everything below is acknowledged; a Kafka group's offset, or -1.")]
    read: Annotated[int, Meta(description="Everything below has been delivered or passed over.")]
    end: Annotated[int, Meta(description="What could be delivered ends here.")]
    acked_ahead: int
    leased: Annotated[
        int, Meta(description="Delivered to a consumer and neither acknowledged nor given back, by a nack or an abort.")
    ]
    pending: Annotated[int, Meta(description="Acknowledged in open transactions; of a Kafka group, their number.")]
    backlog: Annotated[int, Meta(description="What is not acknowledged; of a Kafka group, its lag in offsets.")]
    redelivered: int
    backlog_is_exact: Annotated[
        bool,
        Meta(
            description="False: the backlog is an upper bound. Far behind the end it is counted by offsets, in which "
            "markers and aborted records are included; a Kafka group's always is."
        ),
    ]


class DeadLetters(Reply):
    max_deliveries: int
    topic: str


class Subscription(Reply):
    topic: str
    name: str
    kind: Literal["shared", "exclusive", "kafka"]
    backlog: Annotated[int, Meta(description="What could be delivered and is not acknowledged.")]
    backlog_is_exact: Annotated[
        bool, Meta(description="Whether the backlog of every partition is; else an upper bound.")
    ]
    delayed: Annotated[int, Meta(description="Records that are not due yet; the backlog does not count them.")]
    leased: int
    pending: int
    cursors: list[CursorStats]
    dead_letters: DeadLetters | UnsetType = UNSET


class Receive(Request):
    consumer: Consumer = "default"
    max_records: Annotated[int, Meta(ge=1, le=10_000)] = 100
    wait_ms: Annotated[int, Meta(ge=0, le=NUMBER_MAX, description="Wait for messages; capped by the broker.")] = 0
    ack_timeout_ms: Annotated[int, Meta(ge=1, le=86_400_000)] | None = None
    partitions: Annotated[list[Partition], Meta(min_length=1, max_length=10_000)] | None = None
    after: Annotated[
        list[MessageIdText],
        Meta(
            max_length=10_000,
            description="Of an exclusive subscription: the last message of each partition that the consumer has.",
        ),
    ] = msgspec.field(default_factory=list)
    request_id: (
        Annotated[
            str, Meta(pattern="^[A-Za-z0-9_-]{1,64}$", description="Names this request, so that it can be repeated.")
        ]
        | None
    ) = None
    repeat: Annotated[
        bool, Meta(description="The answer to a request with this request_id was lost; get its messages again.")
    ] = False
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
    headers_base64: dict[str, bytes | None] | UnsetType = UNSET


class Received(Reply):
    messages: list[Message]
    skipped: (
        Annotated[
            list[Skipped],
            Meta(description="Leased, and too large to decode: acknowledge them by id, or they are skipped again."),
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
    """ids, or all: true for everything this consumer holds."""

    ids: Annotated[list[MessageIdText], Meta(min_length=1)] | None = None
    all: bool = False
    consumer: Consumer = "default"
    delay_ms: Annotated[int, Meta(ge=0, le=86_400_000)] = 0


class Redelivering(Reply):
    redelivering: int


class NoteOffsets(Request):
    """offsets: by partition, of what is to be read next."""

    offsets: Annotated[dict[Partition, Offset], Meta(min_length=1, max_length=10_000)]
    transaction: TxnIdText | None = None


class SetDeadLetters(Request):
    """topic: where messages go that were delivered max_deliveries times; not given with 0, which removes the rule."""

    max_deliveries: Annotated[int, Meta(ge=0, le=DELIVERIES_MAX)]
    topic: TopicName | None = None


class PutBack(Request):
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 100


class PutBackResult(Reply):
    put_back: int


class Seek(Request):
    """Exactly one member."""

    to: Literal["earliest", "latest"] | None = None
    offsets: Annotated[dict[Partition, Offset], Meta(min_length=1)] | None = None
    timestamp_ms: TimeMs | None = None
