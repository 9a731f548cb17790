"""/v1/topics: create, list, describe, grow, delete."""

from __future__ import annotations

import msgspec

from redis_ledger.app.http.authorization import CHANGE_TOPIC, CREATE_TOPIC, DELETE_TOPIC, DESCRIBE_TOPIC, may_create
from redis_ledger.app.http.operations import Routes
from redis_ledger.app.http.request import HttpRequest
from redis_ledger.app.http.schemas import core, examples
from redis_ledger.auth.acl import Op, Resource
from redis_ledger.broker.types import PartitionState, Topic
from redis_ledger.errors import InvalidTopicName, TopicBusy, TopicExists, UnknownTopic
from redis_ledger.ledger import settings as topic_settings

routes = Routes("topics")


@routes.post(
    "/v1/topics",
    needs=(CREATE_TOPIC,),
    act="topic.create",
    status=201,
    keyed=True,
    errors=(InvalidTopicName, TopicExists, TopicBusy),
    examples=examples.CREATE_TOPIC,
)
async def create_topic(call: HttpRequest, body: core.CreateTopic) -> core.Topic:
    """Create a topic.

    A topic has a fixed name and a number of partitions that can only grow. Order is kept within a partition.
    """
    call.target, call.facts = body.name, {"partitions": body.partitions}
    if not may_create(call, body.name):
        call.check(Op.CREATE, Resource.TOPIC, body.name)
    return shown(await call.broker.topics.create(body.name, body.partitions, settings(body.settings)))


@routes.get("/v1/topics", needs=(), examples=examples.LIST_TOPICS)
async def list_topics(call: HttpRequest) -> core.Topics:
    """List all topics that the caller may describe."""
    found = [each for each in await call.broker.topics.list() if call.may(Op.DESCRIBE, Resource.TOPIC, each.name)]
    return core.Topics(topics=[shown(each) for each in found])


@routes.get("/v1/topics/{topic}", needs=(DESCRIBE_TOPIC,), errors=(UnknownTopic,), examples=examples.DESCRIBE_TOPIC)
async def describe_topic(call: HttpRequest, topic: str) -> core.TopicDetail:
    """Describe a topic and the state of its partitions."""
    found, states = await call.broker.topics.describe(topic)
    return core.TopicDetail(
        name=found.name, id=found.id, partitions=found.partitions, settings=topic_settings.shown(found.settings),
        created_ms=found.created_ms, partition_states=[partition_state(state) for state in states],
    )  # fmt: skip


@routes.patch(
    "/v1/topics/{topic}",
    needs=(CHANGE_TOPIC,),
    act="topic.change",
    errors=(UnknownTopic, TopicBusy),
    examples=examples.CHANGE_TOPIC,
)
async def change_topic(call: HttpRequest, topic: str, body: core.ChangeTopic) -> core.Topic:
    """Add partitions to a topic, or change its settings.

    Settings that are not named stay as they are; `null` takes the topic's own value away. Keys may go to other
    partitions once there are more of them.
    """
    if body.partitions is not None or body.settings is None:
        call.check(Op.ALTER, Resource.TOPIC, topic)
    if body.settings is not None:
        call.check(Op.ALTER_CONFIGS, Resource.TOPIC, topic)
    call.facts = {name: value for name, value in msgspec.to_builtins(body).items() if value is not None}
    return shown(await call.broker.topics.grow(topic, body.partitions, settings(body.settings)))


@routes.delete(
    "/v1/topics/{topic}", needs=(DELETE_TOPIC,), act="topic.delete", status=204, errors=(UnknownTopic, TopicBusy)
)
async def delete_topic(call: HttpRequest, topic: str) -> None:
    """Delete a topic with all its records and subscriptions."""
    await call.broker.topics.delete(topic)


def settings(given: core.Settings | None) -> dict[str, int | None] | None:
    return None if given is None else topic_settings.stored(msgspec.to_builtins(given))


def shown(found: Topic) -> core.Topic:
    return core.Topic(
        name=found.name,
        id=found.id,
        partitions=found.partitions,
        settings=topic_settings.shown(found.settings),
        created_ms=found.created_ms,
    )


def partition_state(state: PartitionState) -> core.PartitionState:
    return core.PartitionState(**{name: getattr(state, name) for name in core.PartitionState.__struct_fields__})
