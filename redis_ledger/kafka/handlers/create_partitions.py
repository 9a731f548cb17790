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
from redis_ledger.kafka.bounded_gather import gather_bounded
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
from redis_ledger.ledger.topic_checks import refuse_internal

VERSIONS = (0, 3)


def check(entry: CreatePartitionsTopic, partitions: int, partitions_max: int, brokers: Collection[int]) -> None:
    """partitions: the current number.  brokers: node ids.  Raises InvalidPartitions, InvalidReplicaAssignment."""
    if entry.count <= partitions:
        raise InvalidPartitions(f"Topic {entry.name!r} has {partitions} partitions; the number can only grow.")
    if entry.count > partitions_max:
        raise InvalidPartitions(
            f"A topic has at most {partitions_max} partitions (setting partitions_max), not {entry.count}."
        )
    if entry.assignments is not None:
        if len(entry.assignments) != entry.count - partitions:
            raise InvalidReplicaAssignment(
                f"{entry.count - partitions} partitions are added, but {len(entry.assignments)} are assigned."
            )
        for each in entry.assignments:
            check_assignment(each.broker_ids, brokers)


async def handle(request: CreatePartitionsRequest, call: RequestContext) -> CreatePartitionsResponse:
    times = Counter(entry.name for entry in request.topics)
    asked_once = {entry.name: entry for entry in request.topics}

    async def grow(entry: CreatePartitionsTopic) -> CreatePartitionsTopicResult:
        catalog = call.broker.catalog
        try:
            if times[entry.name] > 1:
                raise InvalidRequest("The topic is named twice.")
            call.check_topic(Op.ALTER, entry.name)
            refuse_internal(entry.name, "changed")
            partitions = (await catalog.get(entry.name, fresh=True)).partitions
            check(entry, partitions, call.broker.config.partitions_max, node_ids(call))
            await catalog.change(entry.name, entry.count, None, validate_only=request.validate_only)
        except LedgerError as error:
            await note(call, "topic.change", entry.name, error)
            return CreatePartitionsTopicResult(entry.name, controller_code(error), message_of(error))
        if not request.validate_only:
            await note(call, "topic.change", entry.name, partitions=entry.count)
        return CreatePartitionsTopicResult(entry.name, NONE)

    return CreatePartitionsResponse(results=repeated_whole(await gather_bounded(grow, asked_once.values())))
