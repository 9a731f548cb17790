"""DescribeProducers 0: producers of partitions, and the first offsets of their open transactions (KIP-664).

Includes all producers, also transactions of REST clients.  Coordinators have no epoch: always 0.
"""

from __future__ import annotations

from redis_ledger.auth.acl import Op
from redis_ledger.broker.types import PartitionProducer
from redis_ledger.errors import LedgerError
from redis_ledger.kafka.bounded_gather import gather_bounded
from redis_ledger.kafka.partition_lookup import PartitionLookup
from redis_ledger.kafka.protocol.messages.describe_producers_request import DescribeProducersRequest
from redis_ledger.kafka.protocol.messages.describe_producers_response import (
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from redis_ledger.kafka.request_context import NONE, RequestContext, code_of, message_of

VERSIONS = (0, 0)
IS_READ = True


async def handle(request: DescribeProducersRequest, call: RequestContext) -> DescribeProducersResponse:
    topics = []
    # Duplicates are answered once: a small request must not cause a huge response.
    entry: dict[str, dict[int, None]] = {}
    for topic in request.topics:
        entry.setdefault(topic.name, {}).update(dict.fromkeys(topic.partition_indexes))
    places = await PartitionLookup(call.broker.catalog).expect(entry)
    for name, numbers in entry.items():

        async def describe(number: int, name: str = name) -> PartitionResponse:
            try:
                call.check_topic(Op.READ, name)
                await places.get(name, number)
                found = await call.broker.topics.producers(name, number)
            except LedgerError as error:
                return PartitionResponse(number, code_of(error), message_of(error))
            return PartitionResponse(number, NONE, None, [_to_result(each) for each in found])

        topics.append(TopicResponse(name, await gather_bounded(describe, numbers)))
    return DescribeProducersResponse(topics=topics)


def _to_result(found: PartitionProducer) -> ProducerState:
    first = -1 if found.first_offset is None else found.first_offset
    return ProducerState(found.producer_id, found.epoch, found.sequence, found.last_ms, 0, first)
