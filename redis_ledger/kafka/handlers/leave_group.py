"""LeaveGroup 0-5: removes members; the others rebalance immediately.

0-2   one member, with a top-level error     1   throttle time
3     several members, each with its own error; administrators identify static members by instance id (KIP-345)
4     flexible     5   a reason, which is ignored (KIP-800)
"""

from __future__ import annotations

from redis_ledger.errors import LedgerError
from redis_ledger.kafka.group_errors import group_code
from redis_ledger.kafka.protocol.messages.leave_group_request import LeaveGroupRequest
from redis_ledger.kafka.protocol.messages.leave_group_response import LeaveGroupResponse, MemberResponse
from redis_ledger.kafka.request_context import NONE, RequestContext

VERSIONS = (0, 5)
MANY_FROM = 3


async def handle(request: LeaveGroupRequest, call: RequestContext) -> LeaveGroupResponse:
    is_many = call.version >= MANY_FROM
    leaving: list[tuple[str, str | None]] = [(request.member_id, None)]
    if is_many:
        leaving = [(member.member_id, member.group_instance_id) for member in request.members]
    try:
        outcomes = await call.broker.groups.leave(request.group_id, leaving)
    except LedgerError as error:
        return LeaveGroupResponse(error_code=group_code(error))
    codes = [NONE if outcome is None else group_code(outcome) for outcome in outcomes]
    if not is_many:
        return LeaveGroupResponse(error_code=codes[0])
    return LeaveGroupResponse(members=[MemberResponse(*who, code) for who, code in zip(leaving, codes, strict=True)])
