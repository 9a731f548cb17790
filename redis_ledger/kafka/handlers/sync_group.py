"""SyncGroup 0-5: the leader sends all assignments; the other members wait for theirs.

1   throttle time     3   group.instance.id (KIP-345)     4   flexible
5   protocol type and protocol, which must be those of the group (KIP-559)
"""

from __future__ import annotations

from redis_ledger.errors import InconsistentProtocol, LedgerError
from redis_ledger.groups.member import Sync
from redis_ledger.kafka.group_errors import group_code
from redis_ledger.kafka.protocol.messages.sync_group_request import SyncGroupRequest
from redis_ledger.kafka.protocol.messages.sync_group_response import SyncGroupResponse
from redis_ledger.kafka.request_context import RequestContext

VERSIONS = (0, 5)
PROTOCOL_FROM = 5


async def handle(request: SyncGroupRequest, call: RequestContext) -> SyncGroupResponse:
    if call.version >= PROTOCOL_FROM and (request.protocol_type is None or request.protocol_name is None):
        return SyncGroupResponse(error_code=InconsistentProtocol.kafka_code)
    sync = Sync(
        request.member_id,
        request.group_instance_id,
        request.generation_id,
        request.protocol_type,
        request.protocol_name,
        {one.member_id: one.assignment for one in request.assignments},
    )
    try:
        synced = await call.broker.groups.sync(request.group_id, sync, call.peer.closing)
    except LedgerError as error:
        return SyncGroupResponse(error_code=group_code(error))
    return SyncGroupResponse(
        protocol_type=synced.protocol_type, protocol_name=synced.protocol, assignment=synced.assignment
    )
