"""DescribeLogDirs 1-5: sizes of partitions, in the single directory "redis".

1-2   the same     3   a top-level error     4   size of the volume: unknown, -1     5   cordoned: never
A broker returns the partitions that it leads according to Metadata, so that a tool that queries all brokers counts each
once.
"""

from __future__ import annotations

from redis_ledger.errors import LedgerError, UnknownPartition, UnknownTopic
from redis_ledger.kafka.bounded_gather import gather_bounded
from redis_ledger.kafka.protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from redis_ledger.kafka.protocol.messages.describe_log_dirs_response import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from redis_ledger.kafka.request_context import NONE, RequestContext, code_of

VERSIONS = (1, 5)
IS_READ = True
DIRECTORY = "redis"


async def handle(request: DescribeLogDirsRequest, call: RequestContext) -> DescribeLogDirsResponse:
    try:
        requested = await _wanted(request, call)
        sizes = await gather_bounded(lambda each: _size(*each, call), requested)
    except LedgerError as error:
        return DescribeLogDirsResponse(0, code_of(error), [DescribeLogDirsResult(code_of(error), DIRECTORY)])
    topics: dict[str, list[DescribeLogDirsPartition]] = {}
    for (topic, number), size in zip(requested, sizes, strict=True):
        if size is not None:
            topics.setdefault(topic, []).append(DescribeLogDirsPartition(number, size, 0, False))
    shown = [DescribeLogDirsTopic(topic, partitions) for topic, partitions in topics.items()]
    return DescribeLogDirsResponse(results=[DescribeLogDirsResult(NONE, DIRECTORY, shown)])


async def _wanted(request: DescribeLogDirsRequest, call: RequestContext) -> list[tuple[str, int]]:
    members = call.broker.live_brokers
    if request.topics is None:
        entries = await call.broker.catalog.list()
        every = ((entry.name, number) for entry in entries for number in range(entry.partitions))
    else:
        every = ((topic.topic, number) for topic in request.topics for number in topic.partitions)
    return [place for place in dict.fromkeys(every) if members.leader(*place) == members.node_id]


async def _size(topic: str, number: int, call: RequestContext) -> int | None:
    try:
        return (await call.broker.topics.head(topic, number)).bytes
    except (UnknownTopic, UnknownPartition):
        return None  # omit partitions that do not exist
