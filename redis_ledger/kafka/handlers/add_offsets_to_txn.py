"""AddOffsetsToTxn 0-4: adds a group to the producer's transaction, whose offsets will be committed.

It begins the transaction if none is open.  TxnOffsetCommit registers the partitions: offsets are stored with their
partition, because there is no offsets topic.  2: PRODUCER_FENCED; 4: KIP-890.
"""

from __future__ import annotations

from redis_ledger.errors import LedgerError
from redis_ledger.kafka.protocol.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from redis_ledger.kafka.protocol.messages.add_offsets_to_txn_response import AddOffsetsToTxnResponse
from redis_ledger.kafka.request_context import NONE, RequestContext, fenced_code

VERSIONS = (0, 4)
PRODUCER_FENCED_FROM = 2
INVALID_GROUP_ID = 24


async def handle(request: AddOffsetsToTxnRequest, call: RequestContext) -> AddOffsetsToTxnResponse:
    if not request.group_id:
        return AddOffsetsToTxnResponse(0, INVALID_GROUP_ID)
    try:
        producer = (request.transactional_id, request.producer_id, request.producer_epoch)
        await call.broker.producers.add(*producer, [], principal=call.peer.principal)
    except LedgerError as error:
        return AddOffsetsToTxnResponse(0, fenced_code(error, call.version >= PRODUCER_FENCED_FROM))
    return AddOffsetsToTxnResponse(0, NONE)
