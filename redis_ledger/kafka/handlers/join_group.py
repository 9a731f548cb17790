"""JoinGroup 0-9: a client joins a classic group; the response is sent when its generation begins.

0     the session timeout is the rebalance timeout too     1   a rebalance timeout     2   throttle time
4     a member without an id gets one and must join again with it (MEMBER_ID_REQUIRED, KIP-394)
5     group.instance.id: a static member rejoins with its assignment (KIP-345)     6   flexible
7     protocol type, and null for a protocol that was not chosen     8   a reason, which is ignored (KIP-800)
9     a static leader that rejoins skips the assignment (KIP-814); before, the response names another leader
"""

from __future__ import annotations

from redis_ledger.errors import LedgerError
from redis_ledger.groups.member import Join
from redis_ledger.kafka.group_errors import group_code
from redis_ledger.kafka.protocol.messages.join_group_request import JoinGroupRequest
from redis_ledger.kafka.protocol.messages.join_group_response import JoinGroupResponse, JoinGroupResponseMember
from redis_ledger.kafka.request_context import RequestContext

VERSIONS = (0, 9)
REBALANCE_TIMEOUT_FROM, CALLED_FROM, NULL_PROTOCOL_FROM, SKIPS_FROM = 1, 4, 7, 9


async def handle(request: JoinGroupRequest, call: RequestContext) -> JoinGroupResponse:
    protocols: dict[str, bytes] = {}
    for protocol in request.protocols:
        protocols.setdefault(protocol.name, protocol.metadata)
    has_timeout = call.version >= REBALANCE_TIMEOUT_FROM and request.rebalance_timeout_ms >= 0
    join = Join(
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        client_id=call.client_id,
        client_host=f"/{call.peer.host}",
        session_ms=request.session_timeout_ms,
        rebalance_ms=request.rebalance_timeout_ms if has_timeout else request.session_timeout_ms,
        protocol_type=request.protocol_type,
        protocols=protocols,
        is_called=call.version >= CALLED_FROM,
        can_skip=call.version >= SKIPS_FROM,
    )
    try:
        joined = await call.broker.groups.join(request.group_id, join, call.peer.closing)
    except LedgerError as error:
        return refused(request, call, error)
    return JoinGroupResponse(
        generation_id=joined.generation,
        protocol_type=joined.protocol_type,
        protocol_name=joined.protocol,
        leader=joined.leader,
        skip_assignment=joined.skip_assignment,
        member_id=joined.member_id,
        members=[JoinGroupResponseMember(m.member_id, m.instance_id, m.metadata) for m in joined.members],
    )


def refused(request: JoinGroupRequest, call: RequestContext, error: LedgerError) -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=group_code(error),
        protocol_name=None if call.version >= NULL_PROTOCOL_FROM else "",
        member_id=error.facts.get("member_id", request.member_id),
    )
