"""DeleteRecords 0-2: advances the log start of partitions and trims the records below it.

-1 is the end of the log.  Records of an open transaction are never trimmed, so the returned low watermark may be below
the requested offset.  It may be inside a batch: consumers get the batch and skip the records below.  1, 2: no changes.
"""

from __future__ import annotations

from redis_ledger.auth.acl import Op
from redis_ledger.errors import LedgerError
from redis_ledger.kafka.bounded_gather import gather_bounded
from redis_ledger.kafka.partition_lookup import PartitionLookup
from redis_ledger.kafka.protocol.messages.delete_records_request import DeleteRecordsPartition, DeleteRecordsRequest
from redis_ledger.kafka.protocol.messages.delete_records_response import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from redis_ledger.kafka.request_context import NONE, RequestContext, code_of
from redis_ledger.kafka.security.api_authorization import note

VERSIONS = (0, 2)
TO_THE_END = -1


async def handle(request: DeleteRecordsRequest, call: RequestContext) -> DeleteRecordsResponse:
    topics, places = [], await PartitionLookup(call.broker.catalog).expect(topic.name for topic in request.topics)
    for topic in request.topics:

        async def trim(entry: DeleteRecordsPartition, name: str = topic.name) -> DeleteRecordsPartitionResult:
            below = None if entry.offset == TO_THE_END else entry.offset
            try:
                call.check_topic(Op.DELETE, name)
                await places.get(name, entry.partition_index)
                start = await call.broker.topics.delete_records(name, entry.partition_index, below)
            except LedgerError as error:
                await note(call, "records.delete", f"{name}-{entry.partition_index}", error)
                return DeleteRecordsPartitionResult(entry.partition_index, -1, code_of(error))
            await note(call, "records.delete", f"{name}-{entry.partition_index}", start_offset=start)
            return DeleteRecordsPartitionResult(entry.partition_index, start, NONE)

        once = {
            each.partition_index: each for each in topic.partitions
        }  # if a partition occurs twice, the last entry counts
        topics.append(DeleteRecordsTopicResult(topic.name, await gather_bounded(trim, once.values())))
    return DeleteRecordsResponse(topics=topics)
