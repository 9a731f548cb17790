"""What a subscription holds: /v1/topics/{topic}/pending/{name}, .../backlog/{name}, .../snapshot/{name}, and the state
of one record in it.

The name is last, since it may contain slashes and colons.
"""

from __future__ import annotations

from dataclasses import asdict

from msgspec import UNSET

from redis_ledger.app.http.authorization import DESCRIBE_GROUP, DESCRIBE_TOPIC
from redis_ledger.app.http.cursor_snapshots import document
from redis_ledger.app.http.operations import Routes
from redis_ledger.app.http.request import HttpRequest
from redis_ledger.app.http.routers.partition_transactions import low_watermarks
from redis_ledger.app.http.routers.records import partition_number
from redis_ledger.app.http.routers.subscriptions import known
from redis_ledger.app.http.schemas import core, subscriptions
from redis_ledger.app.http.schemas import examples_inspection as examples
from redis_ledger.app.http.schemas import inspection as bodies
from redis_ledger.broker.subscriptions.inspection import (
    BacklogAnalysis,
    PendingAcknowledgements,
    PendingOnPartition,
    RecordInSubscription,
)
from redis_ledger.errors import (
    InvalidPosition,
    OffsetOutOfRange,
    SnapshotTooLarge,
    TransactionNotFound,
    UnknownPartition,
    UnknownSubscription,
    UnknownTopic,
    WrongSubscriptionKind,
)
from redis_ledger.ids import MessageId, TxnId

routes = Routes("subscriptions")
_ERRORS = (UnknownTopic, UnknownSubscription, UnknownPartition)
_NEEDS = (DESCRIBE_GROUP, DESCRIBE_TOPIC)


@routes.get(
    "/v1/topics/{topic}/pending/{name}",
    requires=_NEEDS,
    errors=(*_ERRORS, TransactionNotFound),
    examples=examples.PENDING,
)
async def pending_acknowledgements(
    request: HttpRequest, topic: str, name: str, query: bodies.PendingQuery
) -> bodies.PendingAcknowledgements:
    """Show what open transactions have acknowledged in a subscription, by partition and transaction.

    For a Kafka group these are the offsets that take effect when the transactions commit.
    """
    found = await request.broker.inspection.pending(
        topic, known(name), partition=None if query.partition is UNSET else query.partition,
        from_partition=query.from_partition,
        transaction=None if query.transaction is UNSET else TxnId.parse(query.transaction),
        ranges_max=query.max_ranges, low_watermarks=query.low_watermarks,
    )  # fmt: skip
    return pending_body(topic, name, found, has_watermarks=query.low_watermarks)


@routes.get(
    "/v1/topics/{topic}/snapshot/{name}",
    requires=_NEEDS,
    errors=(*_ERRORS, WrongSubscriptionKind, SnapshotTooLarge),
    examples=examples.SNAPSHOT,
)
async def snapshot(request: HttpRequest, topic: str, name: str) -> subscriptions.SubscriptionSnapshot:
    """Return what is acknowledged in a subscription, for a later seek to this state.

    Leased messages, and those acknowledged in open transactions, are not acknowledged in it. Nothing is stored, and
    retention may remove messages that a snapshot has as unacknowledged.
    """
    return document(await request.broker.cursor_snapshots.take(topic, known(name)))


@routes.get(
    "/v1/topics/{topic}/partitions/{partition}/records/{offset}/subscriptions/{name}",
    requires=_NEEDS,
    errors=(*_ERRORS, InvalidPosition),
    examples=examples.RECORD_STATE,
)
async def record_state(
    request: HttpRequest, topic: str, partition: str, offset: str, name: str, query: bodies.RecordStateQuery
) -> bodies.RecordState:
    """Show the state of one record in a subscription: whether it was delivered and acknowledged, and if not, why."""
    index = None if query.batch_index is UNSET else query.batch_index
    id = MessageId.parse(f"{partition_number(partition)}:{offset}")
    if id.offset > core.NUMBER_MAX:
        raise InvalidPosition(f"Offsets end at {core.NUMBER_MAX}.")
    found = await request.broker.inspection.record(topic, known(name), id, index)
    return record_body(topic, name, found)


@routes.get(
    "/v1/topics/{topic}/partitions/{partition}/backlog/{name}",
    requires=_NEEDS,
    errors=(*_ERRORS, OffsetOutOfRange),
    examples=examples.BACKLOG,
)
async def analyze_backlog(
    request: HttpRequest, topic: str, partition: str, name: str, query: bodies.BacklogQuery
) -> bodies.BacklogAnalysis:
    """Count what the backlog of a subscription consists of on one partition: records, markers, aborted records.

    Reads the log from the mark-delete position on, at most `max_entries` entries. If `complete` is false, go on at
    `next_offset` and add the counts, except `scheduled`.
    """
    found = await request.broker.inspection.analyze_backlog(
        topic, known(name), partition_number(partition), from_offset=query.from_offset, entries_max=query.max_entries
    )  # fmt: skip
    return backlog_body(topic, name, found)


def pending_body(
    topic: str, name: str, found: PendingAcknowledgements, *, has_watermarks: bool = False
) -> bodies.PendingAcknowledgements:
    return bodies.PendingAcknowledgements(
        topic=topic, name=name, kind=found.kind,
        partitions=[_pending(each, has_watermarks=has_watermarks) for each in found.partitions],
        next_partition=UNSET if found.next_partition is None else found.next_partition,
    )  # fmt: skip


def record_body(topic: str, name: str, found: RecordInSubscription) -> bodies.RecordState:
    is_delivered = found.state.state == "delivered"
    return bodies.RecordState(
        topic=topic, name=name, id=str(found.id), state=found.state.state, reason=found.state.reason or UNSET,
        transaction=UNSET if found.transaction is None else str(found.transaction), consumer=found.consumer or UNSET,
        deliveries=found.deliveries if is_delivered else UNSET,
        redelivery_at_ms=UNSET if found.redelivery_at_ms is None else found.redelivery_at_ms,
        batch_base_offset=UNSET if found.base_offset is None else found.base_offset,
        batch_records=found.records or UNSET, mark_delete=found.mark_delete, stable_offset=found.stable_offset,
        end_offset=found.end_offset,
    )  # fmt: skip


def backlog_body(topic: str, name: str, found: BacklogAnalysis) -> bodies.BacklogAnalysis:
    return bodies.BacklogAnalysis(
        topic=topic, name=name, kind=found.kind, partition=found.partition, mark_delete=found.mark_delete,
        stable_offset=found.stable_offset, end_offset=found.end_offset, from_offset=found.from_offset,
        next_offset=UNSET if found.next_offset is None else found.next_offset, complete=found.next_offset is None,
        **asdict(found.counts), scheduled=found.scheduled,
    )  # fmt: skip


def _pending(found: PendingOnPartition, *, has_watermarks: bool) -> bodies.PendingPartition:
    return bodies.PendingPartition(
        partition=found.partition, mark_delete=found.mark_delete, records=found.records,
        transactions=[
            bodies.PendingTransaction(
                transaction=str(each.transaction), records=each.records,
                ranges=[bodies.OffsetRange(first=first, last=last) for first, last in each.ranges],
                more_ranges=each.has_more, cumulative=UNSET if each.cumulative is None else each.cumulative,
                since_ms=each.since_ms, producer_id=UNSET if each.producer is None else each.producer[0],
                transactional_id=UNSET if each.producer is None else each.producer[1],
            )
            for each in found.transactions
        ],
        complete=found.is_complete,
        low_watermarks=low_watermarks(found.low_watermarks) if has_watermarks else UNSET,
    )  # fmt: skip
