"""CreateTopics 2-7: topics with partitions and settings.

2   errors have messages     4   partitions and replicas may be left to the broker (-1); taken in every version here
5   the answer tells partitions, replicas and configurations, to who may describe these
6   may be throttled (never)     7   topic ids
Replicas are Redis's business: any factor from 1 is taken, and told as 1.  Assignments to brokers are checked for their
form and counted, for any broker serves any partition.  A topic named twice is made by neither.  The timeout has no use:
a topic is whole when it is answered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from redis_ledger.auth.acl import Op, Resource
from redis_ledger.broker.configs import Described, settings_of
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
from redis_ledger.kafka.authority import note
from redis_ledger.kafka.call import NONE, Call, code_of, message_of
from redis_ledger.kafka.few import few_at_once
from redis_ledger.kafka.wire.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from redis_ledger.kafka.wire.messages.create_topics_response import (
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsResponse,
)
from redis_ledger.kafka.wire.primitives import NO_UUID

VERSIONS = (2, 7)
NAMED_TWICE = InvalidRequest("The topic is named twice.")
TOPICS_MAX = 5_000  # of one request, for each is answered with all its configurations
POLICY_VIOLATION = 44


class Wanted(NamedTuple):
    partitions: int
    settings: dict[str, int]


def decide(asked: CreatableTopic, config: Config) -> Wanted:
    """What to make.  Raises LedgerError with Kafka's code for what is wrong with it."""
    check_topic_name(asked.name)
    if asked.assignments:
        if asked.num_partitions != -1 or asked.replication_factor != -1:
            raise InvalidRequest("Where brokers are assigned, partitions and replication factor must be -1.")
        count = _assigned(asked.assignments)
    else:
        if asked.replication_factor == 0 or asked.replication_factor < -1:
            raise InvalidReplicationFactor(f"The replication factor is {asked.replication_factor}; use 1 or more.")
        if asked.num_partitions == 0 or asked.num_partitions < -1:
            raise InvalidPartitions(f"A topic has 1 partition or more, not {asked.num_partitions}; -1 is the default.")
        count = config.num_partitions if asked.num_partitions == -1 else asked.num_partitions
    if count > config.partitions_max:
        raise InvalidPartitions(f"A topic has at most {config.partitions_max} partitions here, not {count}.")
    return Wanted(count, settings_of((given.name, given.value) for given in asked.configs))


def _assigned(assignments: Sequence[CreatableReplicaAssignment]) -> int:
    if sorted(each.partition_index for each in assignments) != list(range(len(assignments))):
        raise InvalidReplicaAssignment("Partitions are assigned by consecutive numbers from 0, each once.")
    for each in assignments:
        if not each.broker_ids or len(set(each.broker_ids)) < len(each.broker_ids):
            raise InvalidReplicaAssignment(f"Partition {each.partition_index} needs brokers, and each of them once.")
    if len({len(each.broker_ids) for each in assignments}) > 1:
        raise InvalidReplicaAssignment("All partitions must have equally many brokers.")
    return len(assignments)


async def handle(request: CreateTopicsRequest, call: Call) -> CreateTopicsResponse:
    if len(request.topics) > TOPICS_MAX:
        told = f"At most {TOPICS_MAX} topics can be created by one request."
        return CreateTopicsResponse(
            topics=[CreatableTopicResult(asked.name, NO_UUID, POLICY_VIOLATION, told) for asked in request.topics]
        )
    times = Counter(asked.name for asked in request.topics)
    twice = [name for name, count in times.items() if count > 1]
    made = await few_at_once(
        lambda asked: _create(asked, request.validate_only, call),
        [asked for asked in request.topics if times[asked.name] == 1],
    )
    return CreateTopicsResponse(topics=made + [_refused(name, NAMED_TWICE) for name in twice])


async def _create(asked: CreatableTopic, validate_only: bool, call: Call) -> CreatableTopicResult:
    broker = call.broker
    try:
        if not call.allows_cluster(Op.CREATE):
            call.check_topic(Op.CREATE, asked.name)
        wanted, topic_id = decide(asked, broker.config), NO_UUID
        if validate_only:
            await _check_absent(asked.name, call)
        else:
            made = await broker.topics.create(asked.name, wanted.partitions, wanted.settings)
            topic_id = bytes.fromhex(made.id)
    except LedgerError as error:
        await note(call, "topic.create", asked.name, error)
        return _refused(asked.name, error)
    if not validate_only:
        await note(call, "topic.create", asked.name, partitions=wanted.partitions, settings=wanted.settings)
    if not call.allows(Op.DESCRIBE_CONFIGS, Resource.TOPIC, asked.name):
        return CreatableTopicResult(asked.name, topic_id, NONE, None, TopicForbidden.kafka_code)
    return CreatableTopicResult(
        asked.name, topic_id, NONE, None, NONE, wanted.partitions, 1,
        [_shown(each) for each in broker.configs.of_settings(wanted.settings)],
    )  # fmt: skip


async def _check_absent(name: str, call: Call) -> None:
    try:
        await call.broker.catalog.get(name, fresh=True)
    except UnknownTopic:
        return
    raise TopicExists(f"Topic {name!r} exists.")


def _refused(name: str, error: LedgerError) -> CreatableTopicResult:
    return CreatableTopicResult(name, NO_UUID, code_of(error), message_of(error))


def _shown(found: Described) -> CreatableTopicConfigs:
    return CreatableTopicConfigs(found.name, found.value, found.read_only, found.source, False)
