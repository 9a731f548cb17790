"""DescribeTransactions 0: the state and partitions of the transaction of a transactional id.

A transaction of REST or the SDK is found by its own id, such as 3-17.  Offset commits of a group are returned as the
partitions of the offsets.
"""

from __future__ import annotations

from redis_ledger.auth.acl import Op, Resource
from redis_ledger.errors import LedgerError
from redis_ledger.kafka.bounded_gather import gather_bounded
from redis_ledger.kafka.protocol.messages.describe_transactions_request import DescribeTransactionsRequest
from redis_ledger.kafka.protocol.messages.describe_transactions_response import (
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)
from redis_ledger.kafka.request_context import NONE, RequestContext, code_of

VERSIONS = (0, 0)
IS_READ = True


async def handle(request: DescribeTransactionsRequest, call: RequestContext) -> DescribeTransactionsResponse:
    # A duplicate id is returned once.
    names = dict.fromkeys(request.transactional_ids)
    return DescribeTransactionsResponse(0, await gather_bounded(lambda name: _one(name, call), names))


async def _one(transactional_id: str, call: RequestContext) -> TransactionState:
    try:
        call.check(Op.DESCRIBE, Resource.TRANSACTIONAL_ID, transactional_id)
        found = await call.broker.producers.describe_transaction(transactional_id)
    except LedgerError as error:
        return TransactionState(code_of(error), transactional_id)
    topics: dict[str, set[int]] = {}
    for topic, number in found.partitions:
        if call.allows(Op.DESCRIBE, Resource.TOPIC, topic):
            topics.setdefault(topic, set()).add(number)
    return TransactionState(
        NONE, transactional_id, found.state, found.timeout_ms, found.started_ms or -1,
        found.producer_id, found.epoch, [TopicData(topic, sorted(numbers)) for topic, numbers in topics.items()],
    )  # fmt: skip
