"""DescribeTopicPartitions 0: topics ordered by name, a limited number of partitions per response (KIP-966).

The response ends at the limit of the client or the broker; its cursor is the next position.  Topics before the cursor
are skipped.  An empty list means all topics.  Replicas are as in Metadata.
"""

from __future__ import annotations

from redis_ledger.auth.acl import Op, Resource
from redis_ledger.errors import InvalidRequest, LedgerError
from redis_ledger.kafka.partition_lookup import PartitionLookup
from redis_ledger.kafka.protocol.messages.describe_topic_partitions_request import DescribeTopicPartitionsRequest
from redis_ledger.kafka.protocol.messages.describe_topic_partitions_response import (
    Cursor,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from redis_ledger.kafka.request_context import NONE, RequestContext, code_of
from redis_ledger.kafka.security.api_authorization import operations
from redis_ledger.ledger.topic_checks import OFFSETS_TOPIC
from redis_ledger.ledger.topic_entry import TopicEntry

VERSIONS = (0, 0)
IS_READ = True
PARTITIONS_MAX = 2_000  # Kafka: max.request.partition.size.limit


async def handle(request: DescribeTopicPartitionsRequest, call: RequestContext) -> DescribeTopicPartitionsResponse:
    cursor = request.cursor
    first, at = ("", 0) if cursor is None else (cursor.topic_name, cursor.partition_index)
    named = {topic.name for topic in request.topics}
    if cursor is not None and (at < 0 or (named and first not in named)):
        code = InvalidRequest.kafka_code
        return DescribeTopicPartitionsResponse(
            topics=[DescribeTopicPartitionsResponseTopic(code, name) for name in sorted(named or {first})]
        )
    entries: dict[str, TopicEntry | None] = dict.fromkeys(named)
    if not named:
        every = await call.broker.catalog.list()
        entries = {entry.name: entry for entry in every if call.allows(Op.DESCRIBE, Resource.TOPIC, entry.name)}
    places = await PartitionLookup(call.broker.catalog).expect(named)
    left = max(1, min(request.response_partition_limit, PARTITIONS_MAX))
    topics: list[DescribeTopicPartitionsResponseTopic] = []
    for name in sorted(name for name in entries if name >= first):
        begin = at if name == first else 0
        if not left:
            return DescribeTopicPartitionsResponse(topics=topics, next_cursor=Cursor(name, begin))
        try:
            call.check_topic(Op.DESCRIBE, name)
            places.check(name)
            entry = entries[name] or await call.broker.catalog.get(name)
        except LedgerError as error:
            topics.append(DescribeTopicPartitionsResponseTopic(code_of(error), name))
            continue
        end = min(entry.partitions, begin + left)
        left -= max(0, end - begin)
        topics.append(_to_result(entry, range(begin, end), call))
        if end < entry.partitions:
            return DescribeTopicPartitionsResponse(topics=topics, next_cursor=Cursor(name, end))
    return DescribeTopicPartitionsResponse(topics=topics)


def _to_result(entry: TopicEntry, numbers: range, call: RequestContext) -> DescribeTopicPartitionsResponseTopic:
    partitions = []
    for number in numbers:
        node = call.broker.live_brokers.leader(entry.name, number, call.peer.listener)
        partitions.append(DescribeTopicPartitionsResponsePartition(NONE, number, node, 0, [node], [node], [], [], []))
    may = operations(call, Resource.TOPIC, entry.name)
    return DescribeTopicPartitionsResponseTopic(
        NONE, entry.name, bytes.fromhex(entry.id), entry.name == OFFSETS_TOPIC, partitions, may
    )
