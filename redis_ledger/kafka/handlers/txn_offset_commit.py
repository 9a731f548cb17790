"""TxnOffsetCommit 0-6: commits a group's offsets in the producer's transaction.

It registers the partitions with the transaction under the group's name; the end of the transaction applies or drops the
offsets.
0-2   any owner of the transaction may commit    2   leader epoch    3   member and generation are checked (KIP-447)
4     TRANSACTION_ABORTABLE exists    5   no AddOffsetsToTxn before it: this begins the transaction (KIP-890)
6     topics by id
"""

from __future__ import annotations

from redis_ledger.broker.transactions.producers import Producers
from redis_ledger.errors import (
    IllegalGeneration,
    InvalidTxnStatus,
    LedgerError,
    StaleMember,
    TransactionEnded,
    Unavailable,
)
from redis_ledger.ids import TxnId
from redis_ledger.kafka.group_offsets import coordinator_code, read_commits, refused_commits
from redis_ledger.kafka.protocol.messages.txn_offset_commit_request import TxnOffsetCommitRequest
from redis_ledger.kafka.protocol.messages.txn_offset_commit_response import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from redis_ledger.kafka.request_context import COORDINATOR_NOT_AVAILABLE, RequestContext, fenced_code
from redis_ledger.ledger.partition import Partition
from redis_ledger.txn.coordinator import Participant

VERSIONS = (0, 6)
LOADING_FROM, ABORTABLE_FROM, BEGINS_FROM, IDS_FROM = 2, 4, 5, 6
TRANSACTION_ABORTABLE = 120


async def handle(request: TxnOffsetCommitRequest, call: RequestContext) -> TxnOffsetCommitResponse:
    offsets, group, by_id = call.broker.offsets, request.group_id, call.version >= IDS_FROM
    commits = await read_commits(
        request.topics, call, by_id, TxnOffsetCommitResponseTopic, TxnOffsetCommitResponsePartition
    )  # fmt: skip

    def code(error: LedgerError) -> int:
        return code_for(error, call.version)

    places = await offsets.locate((entry.topic, entry.partition) for entry in commits.entries)
    found = [Participant(p.topic, p.topic_id, p.number, group) for p in places if isinstance(p, Partition)]
    try:
        fence = await call.broker.groups.check_commit(
            group, request.member_id, request.group_instance_id, request.generation_id_or_member_epoch,
            transactional=True,
        )  # fmt: skip
        txn = await register(request, call, list(dict.fromkeys(found)))
    except LedgerError as error:
        await commits.refuse(error, code)
    else:
        outcomes = await offsets.commit(group, commits.entries, fence=fence, transaction=txn, places=places)
        await commits.settle(outcomes, code)
    return TxnOffsetCommitResponse(topics=commits.topics)


def refused(request: TxnOffsetCommitRequest, call: RequestContext, error: LedgerError) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        topics=refused_commits(request.topics, error, TxnOffsetCommitResponseTopic, TxnOffsetCommitResponsePartition)
    )


async def register(request: TxnOffsetCommitRequest, call: RequestContext, participants: list[Participant]) -> TxnId:
    """Registers participants with the producer's transaction.  Before version 5 AddOffsetsToTxn begins it, so a late
    request must not begin another one."""
    producers: Producers = call.broker.producers
    producer = (request.transactional_id, request.producer_id, request.producer_epoch)
    if call.version < BEGINS_FROM:
        return await producers.join(*producer, participants, call.peer.waits)
    return await producers.add(*producer, participants, principal=call.peer.principal)


def code_for(error: LedgerError, version: int) -> int:
    """The error code of a version."""
    if isinstance(error, TransactionEnded | InvalidTxnStatus) and version >= ABORTABLE_FROM:
        return TRANSACTION_ABORTABLE
    if isinstance(error, StaleMember):
        return IllegalGeneration.kafka_code  # producers abort at this code
    if isinstance(error, Unavailable) and version < LOADING_FROM:
        return COORDINATOR_NOT_AVAILABLE
    return coordinator_code(error) if isinstance(error, Unavailable) else fenced_code(error, False)
