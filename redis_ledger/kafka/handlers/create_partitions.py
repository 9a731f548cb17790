"""CreatePartitions 0-3: adds partitions to topics.

1   errors are sent before a throttle (there is none)     3   may be throttled (never)
Assignments must contain known brokers; otherwise they are only counted.  Keys may map to other partitions afterwards,
as in Kafka.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from redis_ledger.auth.acl import Op
from redis_ledger.errors import InvalidPartitions, InvalidReplicaAssignment, InvalidRequest, LedgerError
from redis_ledger.kafka.bounded_gather import few_at_once
from redis_ledger.kafka.handlers.create_topics import check_assignment, node_ids
from redis_ledger.kafka.protocol.messages.create_partitions_request import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from redis_ledger.kafka.protocol.messages.create_partitions_response import (
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from redis_ledger.kafka.request_context import NONE, RequestContext, controller_code, message_of, repeated_whole
from redis_ledger.kafka.security.api_authorization import note

VERSIONS = (0, 3)


def check(asked: CreatePartitionsTopic, partitions: int, partitions_max: int, brokers: Collection[int]) -> None:
    """partitions: the current number.  brokers: node ids.  Raises InvalidPartitions, InvalidReplicaAssignment."""
    if asked.count <= partitions:
        raise InvalidPartitions(f"Topic {asked.name!r} has {partitions} partitions; the number can only grow.")
    if asked.count > partitions_max:
        raise InvalidPartitions(
            f"A topic has at most {partitions_max} partitions (setting partitions_max), not {asked.count}."
        )
    if asked.assignments is not None:
        if len(asked.assignments) != asked.count - partitions:
            raise InvalidReplicaAssignment(
                f"{asked.count - partitions} partitions are added, but {len(asked.assignments)} are assigned."
            )
        for each in asked.assignments:
            check_assignment(each.broker_ids, brokers)


async def handle(request: CreatePartitionsRequest, call: RequestContext) -> CreatePartitionsResponse:
    times = Counter(asked.name for asked in request.topics)
    asked_once = {asked.name: asked for asked in request.topics}

    async def grow(asked: CreatePartitionsTopic) -> CreatePartitionsTopicResult:
        catalog = call.broker.catalog
        try:
            if times[asked.name] > 1:
                raise InvalidRequest("The topic is named twice.")
            call.check_topic(Op.ALTER, asked.name)
            partitions = (await catalog.get(asked.name, fresh=True)).partitions
            check(asked, partitions, call.broker.config.partitions_max, node_ids(call))
            await catalog.change(asked.name, asked.count, None, validate_only=request.validate_only)
        except LedgerError as error:
            await note(call, "topic.change", asked.name, error)
            return CreatePartitionsTopicResult(asked.name, controller_code(error), message_of(error))
        if not request.validate_only:
            await note(call, "topic.change", asked.name, partitions=asked.count)
        return CreatePartitionsTopicResult(asked.name, NONE)

    return CreatePartitionsResponse(results=repeated_whole(await few_at_once(grow, asked_once.values())))
