"""EndTxn 0-5: commits or aborts the producer's transaction.

The response is sent when every participant is done, so the next transaction never waits for this one.  A repeated
request gets the same response.  A request that is carried out late never ends the next transaction.
2: PRODUCER_FENCED; 5: transaction.version 2, the response has the epoch, which rises with every end (KIP-890).
"""

from __future__ import annotations

from redis_ledger.errors import LedgerError
from redis_ledger.kafka.protocol.messages.end_txn_request import EndTxnRequest
from redis_ledger.kafka.protocol.messages.end_txn_response import EndTxnResponse
from redis_ledger.kafka.request_context import NONE, RequestContext, fenced_code

VERSIONS = (0, 5)
PRODUCER_FENCED_FROM, BUMPS_FROM = 2, 5


async def handle(request: EndTxnRequest, call: RequestContext) -> EndTxnResponse:
    bump = call.version >= BUMPS_FROM
    who = (request.transactional_id, request.producer_id, request.producer_epoch)
    try:
        producer_id, epoch = await call.broker.producers.end(*who, request.committed, bump, call.peer.waits)
    except LedgerError as error:
        return EndTxnResponse(0, fenced_code(error, call.version >= PRODUCER_FENCED_FROM))
    return EndTxnResponse(0, NONE, producer_id, epoch) if bump else EndTxnResponse(0, NONE)
