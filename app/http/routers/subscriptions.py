"""/v1/topics/{topic}/subscriptions: create, list, stats, delete, receive, ack, nack, seek, dead letters.

A subscription name may contain any printable character, including a slash; it is percent-encoded in paths.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec import UNSET

from redis_ledger.app.http.authorization import (  # fmt: skip
    DELETE_GROUP,
    DESCRIBE_GROUP,
    DESCRIBE_TOPIC,
    EACH_OWN,
    READ_GROUP,
    READ_TOPIC,
    create_check,
    own_transaction,
)
from redis_ledger.app.http.cursor_snapshots import snapshot_of
from redis_ledger.app.http.operations import TRANSACTION_ERRORS, Routes
from redis_ledger.app.http.received import received
from redis_ledger.app.http.request import HttpRequest, HttpResponse, reply
from redis_ledger.app.http.schemas import examples
from redis_ledger.app.http.schemas import subscriptions as bodies
from redis_ledger.auth.acl import Op, Resource
from redis_ledger.auth.requirement import each_name
from redis_ledger.broker import record_traces
from redis_ledger.broker.groups.service import check_group
from redis_ledger.broker.subscriptions.leasing import DECODED_BYTES_MAX
from redis_ledger.broker.types import Message, Skipped, SubscriptionStats
from redis_ledger.errors import (
    ConsumerBusy,
    DecodingBusy,
    GroupNotEmpty,
    InvalidGroup,
    InvalidPosition,
    InvalidRequest,
    InvalidTopicName,
    NotDelivered,
    NotYourMessage,
    OffloadedDamaged,
    OffloadedUnavailable,
    OffsetOutOfRange,
    RequestTooLarge,
    SnapshotMismatch,
    SubscriptionExists,
    TransactionConflict,
    UnknownPartition,
    UnknownSubscription,
    UnknownTopic,
    WrongSubscriptionKind,
)
from redis_ledger.ids import MessageId, check_subscription_name
from redis_ledger.telemetry import tracing

routes = Routes("subscriptions")
_ONE = "/v1/topics/{topic}/subscriptions/{name}"
_ACK_ERRORS = (
    UnknownTopic, UnknownSubscription, UnknownPartition, InvalidPosition, NotYourMessage, NotDelivered,
    WrongSubscriptionKind, TransactionConflict, *TRANSACTION_ERRORS,
)  # fmt: skip


@routes.post(
    "/v1/topics/{topic}/subscriptions",
    requires=(READ_TOPIC, each_name(Op.READ, Resource.GROUP)),
    status=201,
    answers={201: bodies.Subscription, 200: bodies.Subscription},
    keyed=True,
    errors=(UnknownTopic, InvalidTopicName, SubscriptionExists),
    examples=examples.CREATE_SUBSCRIPTION,
)
async def create_subscription(request: HttpRequest, topic: str, body: bodies.CreateSubscription) -> HttpResponse:
    """Create a subscription; returns 200 if it exists with the same kind.

    A topic that does not exist is created if `auto_create_topics` is on.
    `shared`: any number of consumers, each message is leased to one of them. `exclusive`: one consumer at a time, in
    order, with cumulative acknowledgement. `failover`: as `exclusive`, and further consumers stand by. `key_shared`:
    any number of consumers, and each key has one of them at a time, in order.
    """
    check_subscription_name(body.name)
    request.check(Op.READ, Resource.GROUP, body.name)
    create = partial(request.broker.subscriptions.create, topic, body.name, body.kind, body.start)
    try:
        stats, created = await create()
    except UnknownTopic:
        await request.broker.records.topic(topic, create_check(request, topic))
        stats, created = await create()
    return reply(await to_body(request, stats), 201 if created else 200)


@routes.get(
    "/v1/topics/{topic}/subscriptions",
    requires=(DESCRIBE_TOPIC,),
    errors=(UnknownTopic,),
    examples=examples.LIST_SUBSCRIPTIONS,
)
async def list_subscriptions(request: HttpRequest, topic: str) -> bodies.Subscriptions:
    """List the subscriptions of a topic that the caller may describe."""
    found = [
        each
        for each in await request.broker.subscriptions.list(topic)
        if request.allows(Op.DESCRIBE, Resource.GROUP, each[0])
    ]
    return bodies.Subscriptions(subscriptions=[bodies.SubscriptionRef(name=name, kind=kind) for name, kind in found])


@routes.get(
    _ONE, requires=(DESCRIBE_GROUP, DESCRIBE_TOPIC), errors=(UnknownTopic, UnknownSubscription),
    examples=examples.SUBSCRIPTION,
)  # fmt: skip
async def describe_subscription(request: HttpRequest, topic: str, name: str) -> bodies.Subscription:
    """Show the position of a subscription in each partition. A Kafka consumer group has the kind `kafka`."""
    stats = await request.broker.subscriptions.stats(topic, known(name))
    body = await to_body(request, stats)
    if stats.kind == "key_shared":
        shares = await request.broker.subscriptions.key_shares(topic, name)
        body.consumers = [bodies.KeyShare(**each._asdict()) for each in shares]
    return body


@routes.delete(
    _ONE, requires=(DELETE_GROUP, DESCRIBE_TOPIC), act="subscription.delete", status=204,
    errors=(UnknownTopic, UnknownSubscription, GroupNotEmpty),
)  # fmt: skip
async def delete_subscription(request: HttpRequest, topic: str, name: str) -> None:
    """Delete a subscription with its position and leases, or the offsets of a Kafka group without members."""
    await request.broker.cursors.delete(topic, known(name))


@routes.post(
    _ONE + ":receive",
    requires=(READ_GROUP, READ_TOPIC),
    keyed=True,
    hot=True,
    optional=True,
    errors=(
        UnknownTopic, UnknownSubscription, UnknownPartition, WrongSubscriptionKind, InvalidPosition, ConsumerBusy,
        DecodingBusy, OffloadedUnavailable, OffloadedDamaged,
    ),
    examples=examples.RECEIVE,
)  # fmt: skip
async def receive(request: HttpRequest, topic: str, name: str, body: bodies.Receive) -> bodies.Received:
    """Receive messages; each is leased to the consumer until it is acknowledged or its ack timeout passes.

    With `wait_ms` the request waits for the first message. Messages that are not acknowledged in time are redelivered
    with a higher `redelivery_count`; `:extend` gives more time. A consumer that fetches messages ahead sets `delivered`
    to false, and extends each before it processes it.

    An exclusive subscription has one active consumer for all partitions: the first that receives, until it sends no
    request for `consumer_session_ms`. Messages are delivered in order: first all unacknowledged ones, then new ones. A
    consumer that receives again before it acknowledges sets `after` to the last message that it has of each partition;
    unacknowledged messages up to there are not sent again.

    A failover subscription does the same, and its other consumers stand by: with `wait_ms`, their requests wait, and
    return messages as soon as their consumer is the active one. Without, they return none.

    If there is no response, or an error, send the request again with the same `request_id` and the next number as
    `attempt`: it returns the messages of the earlier attempts.

    Messages of a batch that is too large to decode are not delivered but listed in `skipped`. They are leased like
    other messages: acknowledge them by id, or they are skipped again until a dead-letter rule moves them.

    Limits of unacknowledged messages, of a consumer and of a subscription on each partition, are settings of the topic.
    A request that a limit has stopped says so in `reason`.

    A value is in `value`, `text` or `base64` depending on its content, unless `as` is given.
    """
    limit(request, body.max_records, "$.max_records")
    if body.attempt and body.request_id is None:
        raise InvalidRequest("$.attempt: give the request_id of the request that is sent again.")
    wait_ms = min(body.wait_ms, request.config.wait_ms_max)
    skipped: list[Skipped] = []
    reasons = set[str]()
    await request.broker.client_memory.admit()
    work = request.broker.subscriptions.receive(
        topic, known(name), body.consumer, max_records=body.max_records, wait_ms=wait_ms,
        ack_timeout_ms=body.ack_timeout_ms, partitions=body.partitions,
        after=[MessageId.parse(text) for text in body.after], request=body.request_id or "", attempt=body.attempt,
        is_reserved=not body.delivered, skipped=skipped, reasons=reasons,
        budget=partial(request.budget, DECODED_BYTES_MAX),
    )  # fmt: skip
    messages: Sequence[Message] = await (request.run_while_connected(work) if wait_ms else work)
    request.read_lease().hold(request.decoded_held_bytes)
    if tracing.tracer is not None:
        record_traces.delivered(topic, messages)
    answer: bodies.Received = await received(request, messages, skipped, reasons, body.as_)
    return answer


@routes.post(
    _ONE + ":ack",
    requires=(READ_GROUP, READ_TOPIC, EACH_OWN),
    keyed=True,
    hot=True,
    errors=_ACK_ERRORS,
    examples=examples.ACK,
)
async def ack(request: HttpRequest, topic: str, name: str, body: bodies.Ack) -> bodies.Acknowledged:
    """Acknowledge messages; they are not delivered again.

    All or nothing per partition: if the messages of one partition are rejected, those of the others are still
    acknowledged. A list of more than 300 offset ranges is checked as a whole and then applied in steps. With
    `transaction` the acknowledgement takes effect on commit and is undone on abort.
    """
    done = await request.broker.subscriptions.ack(
        topic,
        known(name),
        body.consumer,
        message_ids(request, body.ids),
        transaction=await own_transaction(request, body.transaction),
    )
    return bodies.Acknowledged(acknowledged=done)


@routes.post(
    _ONE + ":ackCumulative",
    requires=(READ_GROUP, READ_TOPIC, EACH_OWN),
    keyed=True,
    errors=_ACK_ERRORS,
    examples=examples.ACK_CUMULATIVE,
)
async def ack_cumulative(
    request: HttpRequest, topic: str, name: str, body: bodies.AckCumulative
) -> bodies.Acknowledged:
    """Acknowledge all messages of a partition up to and including one; exclusive and failover subscriptions only.

    The request is rejected if one of them was not delivered to this consumer.
    """
    done = await request.broker.subscriptions.ack_cumulative(
        topic,
        known(name),
        body.consumer,
        MessageId.parse(body.id),
        transaction=await own_transaction(request, body.transaction),
    )
    return bodies.Acknowledged(acknowledged=done)


@routes.post(
    _ONE + ":nack",
    requires=(READ_GROUP, READ_TOPIC),
    keyed=True,
    errors=(
        UnknownTopic, UnknownSubscription, UnknownPartition, InvalidPosition, NotYourMessage, NotDelivered,
        WrongSubscriptionKind,
    ),
    examples=examples.NACK,
)  # fmt: skip
async def nack(request: HttpRequest, topic: str, name: str, body: bodies.Nack) -> bodies.Redelivering:
    """Negatively acknowledge messages; they are redelivered after `delay_ms`, or as the redelivery rule says.

    With `all`, reserved messages keep their `redelivery_count`. With `delivered: false` all do, and no rule applies.
    """
    if (body.ids is None) is not body.all:
        raise InvalidRequest("$: give either ids or all: true.")
    ids = None if body.ids is None else message_ids(request, body.ids)
    done = await request.broker.subscriptions.nack(
        topic, known(name), body.consumer, ids, delay_ms=body.delay_ms, unseen=not body.delivered
    )
    return bodies.Redelivering(redelivering=done)


@routes.post(
    _ONE + ":extend",
    requires=(READ_GROUP, READ_TOPIC),
    keyed=True,
    errors=(UnknownTopic, UnknownSubscription, UnknownPartition, InvalidPosition, WrongSubscriptionKind),
    examples=examples.EXTEND,
)
async def extend(request: HttpRequest, topic: str, name: str, body: bodies.Extend) -> bodies.Extended:
    """Extend leases: the consumer needs more time for messages, or begins to process reserved ones.

    The messages are leased for `ack_timeout_ms` from now on. Those that the consumer no longer has are in `lost`; stop
    processing them. A request can be repeated. It extends the consumer's session as well.
    """
    if (body.ids is None) is not body.all:
        raise InvalidRequest("$: give either ids or all: true.")
    ids = None if body.ids is None else message_ids(request, body.ids)
    extended, lost = await request.broker.subscriptions.extend(
        topic, known(name), body.consumer, ids, ack_timeout_ms=body.ack_timeout_ms
    )
    return bodies.Extended(extended=extended, lost=[str(each) for each in lost])


@routes.post(
    _ONE + ":seek",
    requires=(READ_GROUP, READ_TOPIC),
    act="subscription.seek",
    keyed=True,
    errors=(
        UnknownTopic, UnknownSubscription, UnknownPartition, OffsetOutOfRange, GroupNotEmpty, WrongSubscriptionKind,
        SnapshotMismatch,
    ),
    examples=examples.SEEK,
)  # fmt: skip
async def seek(request: HttpRequest, topic: str, name: str, body: bodies.Seek) -> bodies.Subscription:
    """Reset the position of a subscription: to the earliest or latest record, to offsets by partition, to a time, or
    to a snapshot.

    Leases, acknowledgements and pending acknowledgements of open transactions are dropped. A snapshot brings back
    the acknowledgements that it has. A Kafka group must have no members, and takes no snapshot; its pending offsets are
    dropped as well.
    """
    if sum(given is not None for given in (body.to, body.offsets, body.timestamp_ms, body.snapshot)) != 1:
        raise InvalidRequest("$: give exactly one of to, offsets, timestamp_ms and snapshot.")
    if body.snapshot is not None:
        return await to_body(
            request, await request.broker.cursor_snapshots.seek(topic, known(name), snapshot_of(body.snapshot))
        )
    stats = await request.broker.cursors.seek(
        topic, known(name), to=body.to, offsets=body.offsets, timestamp_ms=body.timestamp_ms
    )
    return await to_body(request, stats)


@routes.post(
    _ONE + ":noteOffsets",
    requires=(READ_GROUP, READ_TOPIC, EACH_OWN),
    keyed=True,
    errors=(*TRANSACTION_ERRORS, UnknownTopic, UnknownSubscription, UnknownPartition, WrongSubscriptionKind),
    examples=examples.NOTE_OFFSETS,
)
async def note_offsets(request: HttpRequest, topic: str, name: str, body: bodies.NoteOffsets) -> bodies.Subscription:
    """Commit the offsets of a reader that stores its own offsets; creates a subscription of the kind `kafka`.

    With `transaction` they take effect on commit. Kafka's tools show them as the offsets of a group.
    """
    await request.broker.external_offsets.note(
        known(name), topic, body.offsets, await own_transaction(request, body.transaction)
    )
    return await to_body(request, await request.broker.subscriptions.stats(topic, name))


def known(name: str) -> str:
    """Raises SubscriptionNotFound for an invalid name.  A Kafka group's may be longer than a subscription's."""
    try:
        return check_group(name)
    except InvalidGroup:
        raise UnknownSubscription(f"{name[:80]!r} is not a subscription name.") from None


def limit(request: HttpRequest, count: int, where: str) -> None:
    most = request.config.records_per_request_max
    if count > most:
        raise RequestTooLarge(
            f"{where} has {count} elements; a request may have at most {most}.", records_per_request_max=most
        )


def message_ids(request: HttpRequest, ids: Sequence[str]) -> list[MessageId]:
    limit(request, len(ids), "$.ids")
    return [MessageId.parse(text) for text in ids]


async def to_body(request: HttpRequest, stats: SubscriptionStats) -> bodies.Subscription:
    delayed = await request.broker.delayed.pending(stats.topic)
    names = bodies.CursorStats.__struct_fields__
    cursors = [bodies.CursorStats(**{name: getattr(c, name) for name in names}) for c in stats.cursors]
    rule = request.broker.dead_letters.rules.get(stats.topic, stats.topic_id, stats.name)
    dead_letters = UNSET if rule is None else bodies.DeadLetters(
        max_deliveries=rule.max_deliveries, topic=rule.topic, retry_topic=rule.retry_topic or UNSET,
        max_attempts=rule.max_attempts or UNSET, expire_ms=rule.expire_ms or UNSET,
    )  # fmt: skip
    backoff = request.broker.redelivery.rules.get(stats.topic, stats.topic_id, stats.name)
    redelivery = UNSET if backoff is None else bodies.Backoff(
        min_ms=backoff.min_ms, factor=backoff.factor, max_ms=backoff.max_ms
    )  # fmt: skip
    return bodies.Subscription(
        topic=stats.topic, name=stats.name, kind=stats.kind, cursors=cursors,
        backlog=sum(c.backlog for c in cursors), backlog_is_exact=all(c.backlog_is_exact for c in cursors),
        delayed=delayed, leased=sum(c.leased for c in cursors), pending=sum(c.pending for c in cursors),
        waiting=sum(c.waiting for c in cursors),
        dead_letters=dead_letters, redelivery=redelivery,
    )  # fmt: skip
