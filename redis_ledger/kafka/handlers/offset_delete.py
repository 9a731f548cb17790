"""OffsetDelete 0: deletes committed and pending transactional offsets of a group for some partitions.

Topics with subscribed members are rejected with GROUP_SUBSCRIBED_TO_TOPIC; a subscription that cannot be decoded counts
as all topics.  A group whose members are not consumers is rejected as a whole.  A partition without an offset is not an
error, an unknown partition is.
"""

from __future__ import annotations

from contextlib import suppress

from redis_ledger.auth.acl import Op, Resource
from redis_ledger.errors import (
    GroupNotEmpty,
    GroupNotFound,
    GroupSubscribed,
    LedgerError,
    TopicForbidden,
    UnknownTopic,
)
from redis_ledger.kafka.group_offsets import coordinator_code
from redis_ledger.kafka.protocol.consumer_protocol import CONSUMERS, read_subscription
from redis_ledger.kafka.protocol.messages.offset_delete_request import OffsetDeleteRequest
from redis_ledger.kafka.protocol.messages.offset_delete_response import (
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from redis_ledger.kafka.protocol.primitives import BadFrame
from redis_ledger.kafka.request_context import NONE, RequestContext
from redis_ledger.kafka.security.api_authorization import note

VERSIONS = (0, 0)


async def handle(request: OffsetDeleteRequest, call: RequestContext) -> OffsetDeleteResponse:
    try:
        taken = await subscribed_by(request.group_id, call)
    except LedgerError as error:
        return OffsetDeleteResponse(coordinator_code(error))
    requested, slots, topics = [], [], []
    for topic in request.topics:
        answer = OffsetDeleteResponseTopic(topic.name, [])
        topics.append(answer)
        for entry in topic.partitions:
            slot = OffsetDeleteResponsePartition(entry.partition_index, NONE)
            answer.partitions.append(slot)
            if not call.allows(Op.READ, Resource.TOPIC, topic.name):
                slot.error_code = TopicForbidden.kafka_code
            elif taken is None or topic.name in taken:
                slot.error_code = GroupSubscribed.kafka_code
            else:
                slots.append(slot)
                requested.append((topic.name, entry.partition_index))
    outcomes = await call.broker.offsets.delete(request.group_id, requested)
    for slot, outcome in zip(slots, outcomes, strict=True):
        slot.error_code = NONE if outcome is None else coordinator_code(outcome)
    for name in dict.fromkeys(name for (name, _), outcome in zip(requested, outcomes, strict=True) if outcome is None):
        await note(call, "subscription.delete", f"{name} {request.group_id}")
    return OffsetDeleteResponse(NONE, 0, topics)


async def subscribed_by(group: str, call: RequestContext) -> set[str] | None:
    """The topics to which members of the group are subscribed; None if that is unknown: then any topic may be."""
    try:
        found = await call.broker.groups.describe(group)
    except GroupNotFound:
        return await subscribed_by_consumers(group, call)
    if found.members and found.protocol_type != CONSUMERS:
        raise GroupNotEmpty(f"Group {group!r} has members; stop them first.")
    try:
        return {topic for member in found.members for topic in read_subscription(member.metadata).topics}
    except BadFrame:
        return None


async def subscribed_by_consumers(group: str, call: RequestContext) -> set[str]:
    """The same for the consumer protocol (KIP-848), including topics that match a regular expression."""
    found = await call.broker.consumer_groups.describe(group)
    names = {name for member in found.members for name in member.names}
    for topic_id in {topic_id for member in found.members for topic_id, _ in member.target}:
        with suppress(UnknownTopic):
            names.add((await call.broker.catalog.by_id(topic_id)).name)
    return names
