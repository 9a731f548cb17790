"""OffsetForLeaderEpoch 2-4: the end offset of a leader epoch.

2   the current epoch known to the client     3   replica id (unused)     4   flexible

The current epoch ends at the end of the log, an earlier one where the log ended when the next epoch began. An epoch
that has not begun is undefined (-1).
"""

from __future__ import annotations

from redis_ledger.auth.acl import Op
from redis_ledger.errors import LedgerError
from redis_ledger.kafka.bounded_gather import gather_bounded
from redis_ledger.kafka.partition_lookup import PartitionLookup
from redis_ledger.kafka.protocol.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
)
from redis_ledger.kafka.protocol.messages.offset_for_leader_epoch_response import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from redis_ledger.kafka.request_context import NONE, RequestContext, code_of, epoch_code
from redis_ledger.ledger.leader_epochs import end_of_epoch

VERSIONS = (2, 4)
IS_READ = True


async def handle(request: OffsetForLeaderEpochRequest, call: RequestContext) -> OffsetForLeaderEpochResponse:
    topics, places = [], await PartitionLookup(call.broker.catalog).expect(topic.topic for topic in request.topics)
    for topic in request.topics:

        async def end_of(entry: OffsetForLeaderPartition, name: str = topic.topic) -> EpochEndOffset:
            try:
                call.check_topic(Op.DESCRIBE, name)
                await places.get(name, entry.partition)
                head = await call.broker.topics.head(name, entry.partition)
            except LedgerError as error:
                return EpochEndOffset(code_of(error), entry.partition)
            if refused := epoch_code(entry.current_leader_epoch, head.leader_epoch):
                return EpochEndOffset(refused, entry.partition)
            end = end_of_epoch(head.epoch_starts, entry.leader_epoch, head.current)
            return EpochEndOffset(NONE, entry.partition, end.epoch, end.end_offset)

        once = {each.partition: each for each in topic.partitions}  # a duplicate partition is returned once
        topics.append(OffsetForLeaderTopicResult(topic.topic, await gather_bounded(end_of, once.values())))
    return OffsetForLeaderEpochResponse(topics=topics)
