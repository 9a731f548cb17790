"""DescribeGroups 0-6: classic groups with their members and assignments.

1   throttle time     3   authorized operations     4   group.instance.id     5   flexible
A group that occurs twice is returned once.
6   an unknown group is GROUP_ID_NOT_FOUND (KIP-1043); before, it is Dead, without an error

Groups of the consumer protocol are not found; ConsumerGroupDescribe describes them.
A member that reads a topic which the caller may not describe has no metadata and no assignment, as while its group
rebalances.  Kafka returns both.
"""

from __future__ import annotations

from redis_ledger.auth.acl import Op, Resource
from redis_ledger.broker.groups.service import Groups
from redis_ledger.errors import GroupNotFound, LedgerError
from redis_ledger.groups.member import DescribedMember, GroupState
from redis_ledger.kafka.bounded_gather import gather_bounded
from redis_ledger.kafka.group_errors import group_code
from redis_ledger.kafka.protocol.consumer_protocol import CONSUMERS, topics_of
from redis_ledger.kafka.protocol.messages.describe_groups_request import DescribeGroupsRequest
from redis_ledger.kafka.protocol.messages.describe_groups_response import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsResponse,
)
from redis_ledger.kafka.protocol.primitives import BadFrame
from redis_ledger.kafka.request_context import RequestContext, message_of
from redis_ledger.kafka.security.api_authorization import NOT_REQUESTED, operations

VERSIONS = (0, 6)
NOT_FOUND_FROM = 6


async def handle(request: DescribeGroupsRequest, call: RequestContext) -> DescribeGroupsResponse:
    groups: Groups = call.broker.groups

    async def one(group: str) -> DescribedGroup:
        try:
            call.check(Op.DESCRIBE, Resource.GROUP, group)
            found = await groups.describe(group)
        except LedgerError as error:
            if isinstance(error, GroupNotFound) and call.version < NOT_FOUND_FROM:
                return DescribedGroup(group_id=group, group_state=GroupState.DEAD.value)
            return DescribedGroup(group_code(error), message_of(error), group, GroupState.DEAD.value)
        members = [
            DescribedGroupMember(
                m.member_id, m.instance_id, m.client_id, m.client_host,
                *((m.metadata, m.assignment) if is_visible(found.protocol_type, m, call) else (b"", b"")),
            )
            for m in found.members
        ]  # fmt: skip
        return DescribedGroup(
            group_id=group,
            group_state=found.state,
            protocol_type=found.protocol_type,
            protocol_data=found.protocol,
            members=members,
            authorized_operations=(
                operations(call, Resource.GROUP, group) if request.include_authorized_operations else NOT_REQUESTED
            ),
        )

    return DescribeGroupsResponse(groups=await gather_bounded(one, dict.fromkeys(request.groups)))


def is_visible(protocol_type: str, member: DescribedMember, call: RequestContext) -> bool:
    """Whether the caller may describe all topics that a consumer reads; not if they cannot be decoded."""
    if protocol_type != CONSUMERS or not call.broker.security.is_on:
        return True
    try:
        topics = topics_of(member.metadata, member.assignment)
    except BadFrame:
        return False
    return all(call.allows(Op.DESCRIBE, Resource.TOPIC, topic) for topic in topics)
