"""InitProducerId 0-5: the producer id and epoch of a producer.

Without a transactional id: a new producer id.  With one: the same producer id with the next epoch, which fences the
previous producer.  Its open transaction is aborted and completed before the response, so that clients do not see
CONCURRENT_TRANSACTIONS.
3   the request may contain the producer's identity (KIP-360).  For a known transactional id it must be the current one,
    or the previous one if the request is a repetition; any other identity is fenced.  For a new transactional id, or
    without one, it is ignored and a new producer id is returned.
4   PRODUCER_FENCED instead of INVALID_PRODUCER_EPOCH
5   transaction.version 2 (KIP-890); two-phase commit of version 6 is not supported
"""

from __future__ import annotations

from redis_ledger.auth.acl import Op, Resource
from redis_ledger.errors import LedgerError
from redis_ledger.kafka.group_offsets import coordinator_code
from redis_ledger.kafka.protocol.messages.init_producer_id_request import InitProducerIdRequest
from redis_ledger.kafka.protocol.messages.init_producer_id_response import InitProducerIdResponse
from redis_ledger.kafka.request_context import NONE, RequestContext, fenced_code

VERSIONS = (0, 5)
PRODUCER_FENCED_FROM = 4


async def handle(request: InitProducerIdRequest, call: RequestContext) -> InitProducerIdResponse:
    held = (request.producer_id, request.producer_epoch)
    try:
        _check(request.transactional_id, call)
        producer_id, epoch = await call.broker.producers.init(
            request.transactional_id, request.transaction_timeout_ms, *held
        )
    except LedgerError as error:
        return InitProducerIdResponse(0, _code(error, request, call.version), -1, -1)
    return InitProducerIdResponse(0, NONE, producer_id, epoch)


def _code(error: LedgerError, request: InitProducerIdRequest, version: int) -> int:
    """Maps errors.  Without a transactional id there is no coordinator: at COORDINATOR_NOT_AVAILABLE Java would send a
    FindCoordinator with a null key, which it cannot encode."""
    if request.transactional_id is None:
        return coordinator_code(error)
    return fenced_code(error, version >= PRODUCER_FENCED_FROM)


def _check(transactional_id: str | None, call: RequestContext) -> None:
    """Without a transactional id, WRITE on any topic is sufficient (KIP-679).  Raises TransactionForbidden,
    ClusterForbidden."""
    if transactional_id is not None:
        call.check(Op.WRITE, Resource.TRANSACTIONAL_ID, transactional_id)
    elif not call.allows_cluster(Op.IDEMPOTENT_WRITE):
        try:
            call.broker.security.check_some(call.peer.caller, Op.WRITE, Resource.TOPIC)
        except LedgerError:
            call.broker.security.check_cluster(call.peer.caller, Op.IDEMPOTENT_WRITE)
