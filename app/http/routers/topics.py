"""/v1/topics: create, list, describe, alter, delete."""

from __future__ import annotations

import msgspec

from redis_ledger.app.http.authorization import CHANGE_TOPIC, CREATE_TOPIC, DELETE_TOPIC, DESCRIBE_TOPIC, may_create
from redis_ledger.app.http.operations import Routes
from redis_ledger.app.http.request import HttpRequest
from redis_ledger.app.http.schemas import core, examples, inspection
from redis_ledger.auth.acl import Op, Resource
from redis_ledger.broker.types import PartitionState, Topic
from redis_ledger.errors import InvalidTopicName, TopicBusy, TopicExists, UnknownTopic
from redis_ledger.ledger import settings as topic_settings

routes = Routes("topics")


@routes.post(
    "/v1/topics",
    requires=(CREATE_TOPIC,),
    act="topic.create",
    status=201,
    keyed=True,
    errors=(InvalidTopicName, TopicExists, TopicBusy),
    examples=examples.CREATE_TOPIC,
)
async def create_topic(request: HttpRequest, body: core.CreateTopic) -> core.Topic:
    """Create a topic.

    The name of a topic is fixed; its number of partitions can only grow. Records are ordered within a partition.
    """
    request.target, request.facts = body.name, {"partitions": body.partitions}
    if not may_create(request, body.name):
        request.check(Op.CREATE, Resource.TOPIC, body.name)
    return to_body(await request.broker.topics.create(body.name, body.partitions, settings(body.settings)))


@routes.get("/v1/topics", requires=(), examples=examples.LIST_TOPICS)
async def list_topics(request: HttpRequest, query: inspection.TopicsQuery) -> core.Topics:
    """List all topics that the caller may describe."""
    found = await request.broker.topics.list(internal=query.internal)
    found = [each for each in found if request.allows(Op.DESCRIBE, Resource.TOPIC, each.name)]
    return core.Topics(topics=[to_body(each) for each in found])


@routes.get("/v1/topics/{topic}", requires=(DESCRIBE_TOPIC,), errors=(UnknownTopic,), examples=examples.DESCRIBE_TOPIC)
async def describe_topic(request: HttpRequest, topic: str, query: inspection.TopicQuery) -> inspection.TopicDetail:
    """Describe a topic and the state of its partitions.

    With `subscriptions` also its subscriptions and their unacknowledged records; those that the caller may describe.
    """
    found, states = await request.broker.topics.describe(topic)
    detail = inspection.TopicDetail(
        name=found.name, id=found.id, partitions=found.partitions, settings=topic_settings.to_body(found.settings),
        created_ms=found.created_ms, partition_states=[partition_state(state) for state in states],
    )  # fmt: skip
    if query.subscriptions:
        named = [
            each
            for each in await request.broker.subscriptions.list(topic)
            if request.allows(Op.DESCRIBE, Resource.GROUP, each[0])
        ]
        unacked = await request.broker.unacked.of_topic(topic, named)
        detail.subscriptions = [inspection.SubscriptionUnacked(**each._asdict()) for each in unacked]
        detail.subscriptions_complete = len(unacked) == len(named)
    return detail


@routes.patch(
    "/v1/topics/{topic}",
    requires=(CHANGE_TOPIC,),
    act="topic.change",
    errors=(UnknownTopic, InvalidTopicName, TopicBusy),
    examples=examples.CHANGE_TOPIC,
)
async def change_topic(request: HttpRequest, topic: str, body: core.ChangeTopic) -> core.Topic:
    """Add partitions to a topic, or change its settings.

    Omitted settings stay unchanged; `null` removes the topic's own value. After adding partitions, keys may map to
    other partitions.
    """
    if body.partitions is not None or body.settings is None:
        request.check(Op.ALTER, Resource.TOPIC, topic)
    if body.settings is not None:
        request.check(Op.ALTER_CONFIGS, Resource.TOPIC, topic)
    request.facts = {name: value for name, value in msgspec.to_builtins(body).items() if value is not None}
    return to_body(await request.broker.topics.grow(topic, body.partitions, settings(body.settings)))


@routes.delete(
    "/v1/topics/{topic}",
    requires=(DELETE_TOPIC,),
    act="topic.delete",
    status=204,
    errors=(UnknownTopic, InvalidTopicName, TopicBusy),
)
async def delete_topic(request: HttpRequest, topic: str) -> None:
    """Delete a topic with all its records and subscriptions."""
    await request.broker.topics.delete(topic)


def settings(given: core.Settings | None) -> dict[str, int | None] | None:
    return None if given is None else topic_settings.parse(msgspec.to_builtins(given))


def to_body(found: Topic) -> core.Topic:
    return core.Topic(
        name=found.name,
        id=found.id,
        partitions=found.partitions,
        settings=topic_settings.to_body(found.settings),
        created_ms=found.created_ms,
    )


def partition_state(state: PartitionState) -> core.PartitionState:
    return core.PartitionState(**{name: getattr(state, name) for name in core.PartitionState.__struct_fields__})
