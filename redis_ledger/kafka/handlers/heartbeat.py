"""Heartbeat 0-4: extends the session of a member; at REBALANCE_IN_PROGRESS it must rejoin.

1   throttle time     3   group.instance.id: a new member with the same one fences this one (KIP-345)     4   flexible
"""

from __future__ import annotations

from redis_ledger.errors import LedgerError
from redis_ledger.kafka.group_errors import group_code
from redis_ledger.kafka.protocol.messages.heartbeat_request import HeartbeatRequest
from redis_ledger.kafka.protocol.messages.heartbeat_response import HeartbeatResponse
from redis_ledger.kafka.request_context import RequestContext

VERSIONS = (0, 4)


async def handle(request: HeartbeatRequest, call: RequestContext) -> HeartbeatResponse:
    who = (request.member_id, request.group_instance_id, request.generation_id)
    try:
        await call.broker.groups.heartbeat(request.group_id, *who)
    except LedgerError as error:
        return HeartbeatResponse(error_code=group_code(error))
    return HeartbeatResponse()
