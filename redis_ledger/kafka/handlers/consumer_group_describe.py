"""ConsumerGroupDescribe 0-1: groups of the consumer protocol (KIP-848), with assignments and target assignments.

Classic groups are not found; DescribeGroups describes them.  Deleted topics are omitted.
1   the type of each member: always the consumer protocol, because groups are not mixed
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from redis_ledger.auth.acl import Op, Resource
from redis_ledger.errors import LedgerError, TopicForbidden
from redis_ledger.groups.assignors import Slice
from redis_ledger.groups.consumer_member import DescribedConsumer
from redis_ledger.groups.subscribed_topics import Topics
from redis_ledger.kafka.bounded_gather import gather_bounded
from redis_ledger.kafka.group_errors import group_code
from redis_ledger.kafka.protocol.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from redis_ledger.kafka.protocol.messages.consumer_group_describe_response import (
    Assignment,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    Member,
    TopicPartitions,
)
from redis_ledger.kafka.request_context import RequestContext, message_of
from redis_ledger.kafka.security.api_authorization import NOT_REQUESTED, operations

VERSIONS = (0, 1)
CONSUMER_MEMBER = 1


async def handle(request: ConsumerGroupDescribeRequest, call: RequestContext) -> ConsumerGroupDescribeResponse:
    consumers = call.broker.consumer_groups

    async def one(group: str) -> DescribedGroup:
        try:
            call.check(Op.DESCRIBE, Resource.GROUP, group)
            topics = await consumers.topics()
            found = await consumers.describe(group)
            ids = {one[0] for member in found.members for one in (*member.assigned, *member.target)}
            names = {topics.names[each] for each in ids & {*topics.names}}
            names.update(name for member in found.members for name in member.names)
            if not all(call.allows(Op.DESCRIBE, Resource.TOPIC, name) for name in names):
                raise TopicForbidden("The group is subscribed to topics that the caller may not describe.")
        except LedgerError as error:
            return DescribedGroup(group_code(error), message_of(error), group)
        return DescribedGroup(
            group_id=group,
            group_state=found.state,
            group_epoch=found.epoch,
            assignment_epoch=found.epoch,
            assignor_name=found.assignor,
            members=[_to_result(member, topics) for member in found.members],
            authorized_operations=(
                operations(call, Resource.GROUP, group) if request.include_authorized_operations else NOT_REQUESTED
            ),
        )

    return ConsumerGroupDescribeResponse(groups=await gather_bounded(one, dict.fromkeys(request.group_ids)))


def _to_result(member: DescribedConsumer, topics: Topics) -> Member:
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.names),
        subscribed_topic_regex=member.regex or None,
        assignment=_assignment(member.assigned, topics),
        target_assignment=_assignment(member.target, topics),
        member_type=CONSUMER_MEMBER,
    )


def _assignment(slices: Iterable[Slice], topics: Topics) -> Assignment:
    by_topic = groupby(sorted(one for one in slices if one[0] in topics.names), lambda one: one[0])
    return Assignment(
        [
            TopicPartitions(topic_id, topics.names[topic_id], [number for _, number in some])
            for topic_id, some in by_topic
        ]
    )
