"""DeleteGroups 0-3: deletes groups without members, with all their offsets.

1   throttle time     2   flexible     3   a message with each error
"""

from __future__ import annotations

from redis_ledger.auth.acl import Op, Resource
from redis_ledger.broker.groups.service import Groups
from redis_ledger.errors import LedgerError
from redis_ledger.kafka.bounded_gather import gather_bounded
from redis_ledger.kafka.group_errors import group_code
from redis_ledger.kafka.protocol.messages.delete_groups_request import DeleteGroupsRequest
from redis_ledger.kafka.protocol.messages.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse
from redis_ledger.kafka.request_context import RequestContext, message_of
from redis_ledger.kafka.security.api_authorization import note

VERSIONS = (0, 3)


async def handle(request: DeleteGroupsRequest, call: RequestContext) -> DeleteGroupsResponse:
    groups: Groups = call.broker.groups

    async def one(group: str) -> DeletableGroupResult:
        try:
            call.check(Op.DELETE, Resource.GROUP, group)
            await groups.delete(group)
        except LedgerError as error:
            await note(call, "group.delete", group, error)
            return DeletableGroupResult(group, group_code(error), message_of(error))
        await note(call, "group.delete", group)
        return DeletableGroupResult(group)

    return DeleteGroupsResponse(results=await gather_bounded(one, dict.fromkeys(request.groups_names)))
