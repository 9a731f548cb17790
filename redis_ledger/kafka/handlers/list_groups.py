"""ListGroups 0-5: the groups that this broker coordinates; a client sends it to every broker.

1   throttle time     3   flexible     4   states, and a filter (KIP-518)     5   types, and a filter (KIP-848)
A group without a coordinator is listed by the broker that its name hashes to.  Filters ignore case.
Without DESCRIBE on the cluster, only groups that the caller may describe are listed.
"""

from __future__ import annotations

from redis_ledger.auth.acl import Op, Resource
from redis_ledger.errors import LedgerError
from redis_ledger.kafka.group_errors import group_code
from redis_ledger.kafka.protocol.messages.list_groups_request import ListGroupsRequest
from redis_ledger.kafka.protocol.messages.list_groups_response import ListedGroup, ListGroupsResponse
from redis_ledger.kafka.request_context import RequestContext

VERSIONS = (0, 5)


async def handle(request: ListGroupsRequest, call: RequestContext) -> ListGroupsResponse:
    try:
        found = await call.broker.groups.list(request.states_filter, request.types_filter)
    except LedgerError as error:
        return ListGroupsResponse(error_code=group_code(error))
    if not call.allows_cluster(Op.DESCRIBE):
        found = [group for group in found if call.allows(Op.DESCRIBE, Resource.GROUP, group.name)]
    return ListGroupsResponse(groups=[ListedGroup(g.name, g.protocol_type, g.state, g.kind) for g in found])
