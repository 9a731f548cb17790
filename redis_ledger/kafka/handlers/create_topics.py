"""CreateTopics 2-7: creates topics with partitions and settings.

2   errors have messages     4   partitions and replicas default to the broker's (-1); accepted in all versions
5   the response has partitions, replicas and configurations, with permission to describe these
6   may be throttled (never)     7   topic ids
Redis replicates: any replication factor is accepted and reported as 1.  Assignments must contain known brokers;
otherwise they are only counted, because every broker serves every partition.  A topic that occurs twice is not created.
The timeout is ignored: a topic is complete when the response is sent.

The response has the first error of a topic, in Kafka's order: authorization, name, existence, configuration,
partitions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from redis_ledger.auth.acl import Op, Resource
from redis_ledger.broker.topics.configs import Described, parse_settings
from redis_ledger.config import Config
from redis_ledger.errors import (
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    InvalidRequest,
    LedgerError,
    TopicExists,
    TopicForbidden,
    UnknownTopic,
)
from redis_ledger.ids import check_topic_name
from redis_ledger.kafka.bounded_gather import gather_bounded
from redis_ledger.kafka.protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from redis_ledger.kafka.protocol.messages.create_topics_response import (
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsResponse,
)
from redis_ledger.kafka.protocol.primitives import NO_UUID
from redis_ledger.kafka.request_context import NONE, RequestContext, controller_code, message_of, repeated_whole
from redis_ledger.kafka.security.api_authorization import note
from redis_ledger.ledger.topic_checks import refuse_internal

VERSIONS = (2, 7)
NAMED_TWICE = InvalidRequest("The topic is named twice.")
TOPICS_MAX = 5_000  # of one request, because the response has all configurations of each
POLICY_VIOLATION = 44


class RequestedTopic(NamedTuple):
    partitions: int
    settings: dict[str, int]


def decide(entry: CreatableTopic, config: Config, brokers: Collection[int]) -> RequestedTopic:
    """The partitions and settings of a new topic.  brokers: node ids.  Raises LedgerError with Kafka's code."""
    settings = parse_settings((given.name, given.value) for given in entry.configs)
    if entry.assignments:
        if entry.num_partitions != -1 or entry.replication_factor != -1:
            raise InvalidRequest("With assigned brokers, partitions and replication factor must be -1.")
        count = _assigned(entry.assignments, brokers)
    else:
        if entry.replication_factor == 0 or entry.replication_factor < -1:
            raise InvalidReplicationFactor(f"The replication factor is {entry.replication_factor}; use 1 or more.")
        if entry.num_partitions == 0 or entry.num_partitions < -1:
            raise InvalidPartitions(
                f"A topic has 1 partition or more, not {entry.num_partitions}; use -1 for the default."
            )
        count = config.num_partitions if entry.num_partitions == -1 else entry.num_partitions
    if count > config.partitions_max:
        raise InvalidPartitions(
            f"A topic has at most {config.partitions_max} partitions (setting partitions_max), not {count}."
        )
    return RequestedTopic(count, settings)


def _assigned(assignments: Sequence[CreatableReplicaAssignment], brokers: Collection[int]) -> int:
    if sorted(each.partition_index for each in assignments) != list(range(len(assignments))):
        raise InvalidReplicaAssignment("Assigned partitions must have consecutive numbers from 0, each once.")
    for each in assignments:
        check_assignment(each.broker_ids, brokers)
    if len({len(each.broker_ids) for each in assignments}) > 1:
        raise InvalidReplicaAssignment("All partitions must have the same number of brokers.")
    return len(assignments)


def check_assignment(assigned: Sequence[int], brokers: Collection[int]) -> None:
    """assigned: the brokers of one partition.  Raises InvalidReplicaAssignment."""
    if not assigned or len(set(assigned)) < len(assigned):
        raise InvalidReplicaAssignment("Every partition needs brokers, each of them once.")
    if unknown := sorted(set(assigned) - set(brokers)):
        there = ", ".join(map(str, sorted(brokers)))
        raise InvalidReplicaAssignment(f"There is no broker {unknown[0]}; the brokers are {there}.")


async def handle(request: CreateTopicsRequest, call: RequestContext) -> CreateTopicsResponse:
    if len(request.topics) > TOPICS_MAX:
        message = f"At most {TOPICS_MAX} topics can be created by one request."
        return CreateTopicsResponse(
            topics=[CreatableTopicResult(entry.name, NO_UUID, POLICY_VIOLATION, message) for entry in request.topics]
        )
    times = Counter(entry.name for entry in request.topics)
    twice = [name for name, count in times.items() if count > 1]
    made = await gather_bounded(
        lambda entry: _create(entry, request.validate_only, call),
        [entry for entry in request.topics if times[entry.name] == 1],
    )
    return CreateTopicsResponse(topics=repeated_whole(made + [_refused(name, NAMED_TWICE) for name in twice]))


async def _create(entry: CreatableTopic, validate_only: bool, call: RequestContext) -> CreatableTopicResult:
    broker = call.broker
    try:
        if not call.allows_cluster(Op.CREATE):
            call.check_topic(Op.CREATE, entry.name)
        check_topic_name(entry.name)
        refuse_internal(entry.name, "created")  # also if it is only validated
        await _check_absent(entry.name, call)
        requested, topic_id = decide(entry, broker.config, node_ids(call)), NO_UUID
        if not validate_only:
            made = await broker.topics.create(entry.name, requested.partitions, requested.settings)
            topic_id = bytes.fromhex(made.id)
    except LedgerError as error:
        await note(call, "topic.create", entry.name, error)
        return _refused(entry.name, error)
    if not validate_only:
        await note(call, "topic.create", entry.name, partitions=requested.partitions, settings=requested.settings)
    if not call.allows(Op.DESCRIBE_CONFIGS, Resource.TOPIC, entry.name):
        return CreatableTopicResult(entry.name, topic_id, NONE, None, TopicForbidden.kafka_code)
    return CreatableTopicResult(
        entry.name, topic_id, NONE, None, NONE, requested.partitions, 1,
        [_to_result(each) for each in broker.configs.of_settings(requested.settings)],
    )  # fmt: skip


def node_ids(call: RequestContext) -> list[int]:
    return [node.id for node in call.broker.live_brokers.advertised()]


async def _check_absent(name: str, call: RequestContext) -> None:
    try:
        await call.broker.catalog.get(name, fresh=True)
    except UnknownTopic:
        return
    raise TopicExists(f"Topic {name!r} exists.")


def _refused(name: str, error: LedgerError) -> CreatableTopicResult:
    return CreatableTopicResult(name, NO_UUID, controller_code(error), message_of(error))


def _to_result(found: Described) -> CreatableTopicConfigs:
    return CreatableTopicConfigs(found.name, found.value, found.read_only, found.source, False)
