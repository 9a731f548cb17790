"""What a transaction has done on its participants, and what holds the stable offsets of a topic."""

from __future__ import annotations

from functools import partial

from msgspec import UNSET

from redis_ledger.app.http.authorization import DESCRIBE_TOPIC, OWN_OR_DESCRIBE
from redis_ledger.app.http.operations import Routes
from redis_ledger.app.http.request import HttpRequest
from redis_ledger.app.http.schemas import examples_transaction_views as examples
from redis_ledger.app.http.schemas import transaction_views as bodies
from redis_ledger.auth.acl import Op, Resource
from redis_ledger.broker.security import transaction_owners
from redis_ledger.broker.transactions.held_offsets import HeldPartition, advice
from redis_ledger.broker.transactions.participant_details import PartitionDetails, SubscriptionDetails
from redis_ledger.broker.transactions.service import STATUS
from redis_ledger.errors import CoordinatorNotFound, TransactionNotFound, UnknownTopic
from redis_ledger.ids import TxnId

routes = Routes("transactions")


@routes.get(
    "/v1/transactions/{id}/participants",
    requires=(OWN_OR_DESCRIBE,),
    errors=(TransactionNotFound, CoordinatorNotFound),
    examples=examples.PARTICIPANTS,
)
async def get_participants(request: HttpRequest, id: str, query: bodies.ParticipantsQuery) -> bodies.Participants:
    """Show what a transaction has done: its records on each partition, its acknowledgements on each subscription.

    This is read from the logs of the partitions, so it costs more than `GET /v1/transactions/{id}`; what is too much to
    read is marked as cut.
    """
    found = await request.broker.participant_details.of(TxnId.parse(id), query.first, query.limit)
    sees_topic = partial(request.allows, Op.DESCRIBE, Resource.TOPIC)
    sees_group = partial(request.allows, Op.DESCRIBE, Resource.GROUP)
    return bodies.Participants(
        id=str(found.record.txn),
        status=STATUS[found.record.state],
        partitions=[_partition(each) for each in found.partitions if sees_topic(each.topic)],
        subscriptions=[
            _subscription(each)
            for each in found.subscriptions
            if sees_topic(each.topic) and sees_group(each.subscription)
        ],
        next=found.following,
    )


@routes.get("/v1/topics/{topic}/why", requires=(DESCRIBE_TOPIC,), errors=(UnknownTopic,), examples=examples.WHY)
async def why(request: HttpRequest, topic: str) -> bodies.Held:
    """Show why readers of committed records do not advance.

    For each partition whose stable offset is below its end: the transaction that holds it, how many records are behind
    it, which readers wait, and what to do.
    """
    found = await request.broker.held_offsets.of(topic)
    return bodies.Held(
        topic=topic, partitions=[_held(request, each, found.now_ms) for each in found.partitions], cut=found.is_cut
    )


def _partition(found: PartitionDetails) -> bodies.ParticipantPartition:
    return bodies.ParticipantPartition(
        topic=found.topic, partition=found.partition, cut=found.is_cut, gone=found.is_gone, **found.written._asdict()
    )


def _subscription(found: SubscriptionDetails) -> bodies.ParticipantSubscription:
    return bodies.ParticipantSubscription(
        topic=found.topic, partition=found.partition, subscription=found.subscription, pending=found.pending,
        ranges=[bodies.OffsetRange(first=first, last=last) for first, last in found.ranges], cut=found.is_cut,
        cumulative_offset=UNSET if found.upto is None else found.upto,
        group_offset=UNSET if found.group_offset is None else found.group_offset,
    )  # fmt: skip


def _held(request: HttpRequest, held: HeldPartition, now_ms: int) -> bodies.HeldPartition:
    waiting = [
        bodies.WaitingReader(name=name, kind=kind)
        for name, kind in held.waiting
        if request.allows(Op.DESCRIBE, Resource.GROUP, name)
    ]
    return bodies.HeldPartition(
        partition=held.partition, stable_offset=held.stable_offset, end_offset=held.end_offset,
        held_records=held.held_records, transaction=_holding(request, held, now_ms), waiting=waiting,
        waiting_cut=held.waiting_is_cut, advice=advice(held.transaction, held.record, now_ms),
    )  # fmt: skip


def _holding(request: HttpRequest, held: HeldPartition, now_ms: int) -> bodies.HoldingTransaction:
    id, record = str(held.transaction), held.record
    if record is None:
        return bodies.HoldingTransaction(id=id, status="unknown")
    found = bodies.HoldingTransaction(
        id=id, status=STATUS[record.state], age_ms=max(now_ms - record.started_ms, 0), timeout_ms=record.timeout_ms,
        left_ms=record.deadline_ms - now_ms,
    )  # fmt: skip
    if request.broker.transaction_owners.sees(request.caller, record):
        principal, owner = transaction_owners.read(record.owner)
        found.owner, found.principal = owner or UNSET, principal or UNSET
        found.transactional_id = UNSET if record.producer is None else record.producer.transactional_id
    return found
