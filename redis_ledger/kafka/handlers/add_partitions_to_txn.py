"""AddPartitionsToTxn 0-5: registers partitions with the producer's transaction; the first one begins it.

0-3   one transaction, from a client     2   PRODUCER_FENCED     4, 5   many transactions, from a broker: needs
CLUSTER_ACTION; verify_only changes nothing.  Producers of transaction.version 2 do not send it: their Produce adds
partitions.  If a partition is unknown or forbidden, the whole request is rejected: the others get
OPERATION_NOT_ATTEMPTED, as in Kafka.
"""

from __future__ import annotations

from collections.abc import Mapping

from redis_ledger.auth.acl import Op, Resource
from redis_ledger.decoding.budget import Pace
from redis_ledger.errors import ClusterForbidden, LedgerError, TransactionForbidden, Unavailable
from redis_ledger.kafka.bounded_gather import gather_bounded
from redis_ledger.kafka.partition_lookup import PartitionLookup
from redis_ledger.kafka.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTransaction,
)
from redis_ledger.kafka.protocol.messages.add_partitions_to_txn_response import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from redis_ledger.kafka.request_context import NONE, RequestContext, code_of, fenced_code
from redis_ledger.txn.coordinator import Participant

VERSIONS = (0, 5)
PRODUCER_FENCED_FROM, MANY_FROM = 2, 4
OPERATION_NOT_ATTEMPTED = 55


async def handle(request: AddPartitionsToTxnRequest, call: RequestContext) -> AddPartitionsToTxnResponse:
    if call.version < MANY_FROM:
        name, topics = request.v3_and_below_transactional_id, request.v3_and_below_topics
        held = (request.v3_and_below_producer_id, request.v3_and_below_producer_epoch)
        done = await _one(AddPartitionsToTxnTransaction(name, *held, False, topics), call)
        return AddPartitionsToTxnResponse(0, NONE, [], done.topic_results)
    if not call.allows_cluster(Op.CLUSTER_ACTION):
        return AddPartitionsToTxnResponse(0, ClusterForbidden.kafka_code)
    return AddPartitionsToTxnResponse(0, NONE, await gather_bounded(lambda txn: _one(txn, call), request.transactions))


async def _one(txn: AddPartitionsToTxnTransaction, call: RequestContext) -> AddPartitionsToTxnResult:
    participants: list[Participant] = []
    unknown: dict[tuple[str, int], int] = {}
    from_client, knows_fenced = call.version < MANY_FROM, call.version >= PRODUCER_FENCED_FROM
    if from_client and not call.allows(Op.WRITE, Resource.TRANSACTIONAL_ID, txn.transactional_id):
        return _answered(txn, {}, TransactionForbidden.kafka_code)
    places, pace = await PartitionLookup(call.broker.catalog).expect(topic.name for topic in txn.topics), Pace()
    for topic in txn.topics:
        for number in dict.fromkeys(topic.partitions):
            if pace.is_over:
                await pace.rest()
            try:
                if from_client:
                    call.check_topic(Op.WRITE, topic.name)
                partition = await places.get(topic.name, number)
                participants.append(Participant(topic.name, partition.topic_id, number))
            except Unavailable as error:
                return _answered(txn, {}, fenced_code(error, knows_fenced))
            except LedgerError as error:
                unknown[topic.name, number] = code_of(error)
    code = OPERATION_NOT_ATTEMPTED if unknown else NONE
    if not unknown:
        producers, producer = call.broker.producers, (txn.transactional_id, txn.producer_id, txn.producer_epoch)
        try:
            if txn.verify_only:
                await producers.verify(*producer, participants)
            elif from_client:
                await producers.add_early(*producer, participants, principal=call.peer.principal)
            else:
                await producers.add(*producer, participants, principal=call.peer.principal)
        except LedgerError as error:
            code = fenced_code(error, knows_fenced)
    return _answered(txn, unknown, code)


def _answered(
    txn: AddPartitionsToTxnTransaction, unknown: Mapping[tuple[str, int], int], code: int
) -> AddPartitionsToTxnResult:
    """unknown: partitions with their own error code."""
    topics = [
        AddPartitionsToTxnTopicResult(
            topic.name,
            [AddPartitionsToTxnPartitionResult(n, unknown.get((topic.name, n), code)) for n in topic.partitions],
        )
        for topic in txn.topics
    ]
    return AddPartitionsToTxnResult(txn.transactional_id, topics)
