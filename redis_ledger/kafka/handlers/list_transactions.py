"""ListTransactions 0-2: transactional ids and the states of their transactions; transactions of REST and the SDK have
their own id.

Each broker returns those of which FindCoordinator names it as coordinator, so that each is listed by one broker.
1   filter: open for at least a duration      2   filter: ids that match a pattern
"""

from __future__ import annotations

from redis_ledger.auth.acl import Op, Resource
from redis_ledger.errors import InvalidRegex
from redis_ledger.groups.patterns import Pattern
from redis_ledger.kafka.protocol.messages.list_transactions_request import ListTransactionsRequest
from redis_ledger.kafka.protocol.messages.list_transactions_response import ListTransactionsResponse, TransactionState
from redis_ledger.kafka.request_context import NONE, RequestContext

VERSIONS = (0, 2)
STATES = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead")
IS_READ = True


async def handle(request: ListTransactionsRequest, call: RequestContext) -> ListTransactionsResponse:
    pattern = None
    if request.transactional_id_pattern:
        try:
            pattern = Pattern(request.transactional_id_pattern)
        except InvalidRegex as error:
            return ListTransactionsResponse(0, error.kafka_code)
    unknown = [state for state in request.state_filters if state not in STATES]
    members, now = call.broker.live_brokers, call.broker.clock.now_ms()
    found = []
    for transaction in await call.broker.producers.list_transactions():
        name = transaction.transactional_id
        here = members.assigned(name)
        if here is not None and here.id != members.node_id:
            continue
        if request.state_filters and transaction.state not in request.state_filters:
            continue
        if request.producer_id_filters and transaction.producer_id not in request.producer_id_filters:
            continue
        if request.duration_filter >= 0 and not 0 < transaction.started_ms <= now - request.duration_filter:
            continue
        if pattern is not None and not pattern.matches(name):
            continue
        if not call.allows(Op.DESCRIBE, Resource.TRANSACTIONAL_ID, name):
            continue
        found.append(TransactionState(name, transaction.producer_id, transaction.state))
    return ListTransactionsResponse(0, NONE, unknown, found)
