"""ListOffsets 1-10: the offset for a timestamp, or a named offset.

-1  end: with read_committed the last stable offset (isolation from 2 on)
-2  log start                               -4  the first offset that is not in Parquet, or the log start (8)
-3  the record with the newest timestamp (7)   -5  the last offset that is in Parquet, if there is any (9)
A timestamp finds the first record, in offset order, with an equal or later timestamp: a binary search of the log, then
one batch is decoded and charged as bytes read.  A partition that occurs twice is rejected, as in Kafka.  4: leader
epochs; 10: a timeout for tiered reads, which is ignored.
"""

from __future__ import annotations

from collections import Counter

from redis_ledger.auth.acl import Op
from redis_ledger.broker.fetch import offsets_for_times
from redis_ledger.errors import LedgerError
from redis_ledger.kafka.bounded_gather import gather_bounded
from redis_ledger.kafka.partition_lookup import PartitionLookup
from redis_ledger.kafka.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest
from redis_ledger.kafka.protocol.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from redis_ledger.kafka.request_context import INVALID_REQUEST, NONE, RequestContext, code_of, epoch_code
from redis_ledger.ledger.leader_epochs import epoch_at
from redis_ledger.ledger.partition import Partition

VERSIONS = (1, 10)
LATEST, EARLIEST, NEWEST, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -3, -4, -5
READ_COMMITTED = 1
UNSUPPORTED_VERSION = 35
NEWEST_FROM, LOCAL_FROM, TIERED_FROM = 7, 8, 9
IS_READ = True
AT_ONCE = 4  # concurrent lookups of one request; a lookup by time decodes a batch


async def handle(request: ListOffsetsRequest, call: RequestContext) -> ListOffsetsResponse:
    committed = request.isolation_level == READ_COMMITTED
    topics = []
    named = Counter((topic.name, entry.partition_index) for topic in request.topics for entry in topic.partitions)
    places = await PartitionLookup(call.broker.catalog).expect(topic.name for topic in request.topics)
    for topic in request.topics:

        async def one(entry: ListOffsetsPartition, name: str = topic.name) -> ListOffsetsPartitionResponse:
            if named[name, entry.partition_index] > 1:
                return ListOffsetsPartitionResponse(entry.partition_index, INVALID_REQUEST)
            return await _one(name, entry, committed, places, call)

        once = {entry.partition_index: entry for entry in topic.partitions}
        topics.append(ListOffsetsTopicResponse(topic.name, await gather_bounded(one, once.values(), AT_ONCE)))
    return ListOffsetsResponse(topics=topics)


async def _one(
    topic: str, entry: ListOffsetsPartition, committed: bool, places: PartitionLookup, call: RequestContext
) -> ListOffsetsPartitionResponse:
    number, requested = entry.partition_index, entry.timestamp
    least = {NEWEST: NEWEST_FROM, EARLIEST_LOCAL: LOCAL_FROM, LATEST_TIERED: TIERED_FROM}.get(requested, 0)
    if requested < LATEST_TIERED or call.version < least:
        return ListOffsetsPartitionResponse(number, UNSUPPORTED_VERSION)
    try:
        call.check_topic(Op.DESCRIBE, topic)
        partition = await places.get(topic, number)
        head = await partition.offsets.head()
        if refused := epoch_code(entry.current_leader_epoch, head.leader_epoch):
            return ListOffsetsPartitionResponse(number, refused)
        timestamp, offset = -1, -1
        if requested == LATEST:
            offset = head.stable_offset if committed else head.end_offset
        elif requested == EARLIEST:
            offset = head.start_offset
        elif requested == EARLIEST_LOCAL:
            offset = max(head.start_offset, head.offloaded_offset)
        elif requested == LATEST_TIERED:
            offset = head.offloaded_offset - 1 if head.offloaded_offset > head.start_offset else -1
        else:
            found = await _by_time(partition, None if requested == NEWEST else requested, committed, call)
            if found is not None:
                offset, timestamp = found
    except LedgerError as error:
        if error.kafka_code == 3:
            call.broker.catalog.forget(topic)
        return ListOffsetsPartitionResponse(number, code_of(error))
    epoch = epoch_at(head.epoch_starts, offset) if head.epochs else head.leader_epoch
    return ListOffsetsPartitionResponse(number, NONE, timestamp, offset, epoch)


async def _by_time(
    partition: Partition, timestamp_ms: int | None, committed: bool, call: RequestContext
) -> offsets_for_times.TimestampOffset | None:
    """Looks up an offset as offsets_for_times.find does.  Decoded bytes are charged to the caller's quota."""
    with call.broker.partition_fetch.budget(call.broker.quotas.payer(call.peer.principal)) as budget:
        return await offsets_for_times.find(partition, timestamp_ms, committed, budget)
