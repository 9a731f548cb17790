"""ConsumerGroupHeartbeat 0-1: a member joins, stays in, or leaves a group (KIP-848).

Epoch 0 joins, -1 leaves, -2: a static member leaves temporarily; otherwise it is the member's current epoch.  The
response contains the assigned partitions if they have changed or the request was a full one.
0   a member without an id gets one
1   the client generates the id (KIP-1082) and may subscribe with a regular expression
"""

from __future__ import annotations

import uuid
from itertools import groupby

from redis_ledger.auth.acl import Op
from redis_ledger.errors import LedgerError
from redis_ledger.groups.consumer_member import JOIN, Heartbeat
from redis_ledger.kafka.group_errors import group_code
from redis_ledger.kafka.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from redis_ledger.kafka.protocol.messages.consumer_group_heartbeat_response import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from redis_ledger.kafka.request_context import RequestContext, message_of

VERSIONS = (0, 1)
CLIENT_MAKES_ID_FROM = 1


async def handle(request: ConsumerGroupHeartbeatRequest, call: RequestContext) -> ConsumerGroupHeartbeatResponse:
    member_id, owned = request.member_id, None
    if not member_id and request.member_epoch == JOIN and call.version < CLIENT_MAKES_ID_FROM:
        member_id = str(uuid.uuid4())
    if request.topic_partitions is not None:
        owned = frozenset((topic.topic_id, number) for topic in request.topic_partitions for number in topic.partitions)
    beat = Heartbeat(
        member_id=member_id,
        epoch=request.member_epoch,
        instance_id=request.instance_id,
        rack_id=request.rack_id,
        rebalance_ms=request.rebalance_timeout_ms,
        names=request.subscribed_topic_names,
        regex=request.subscribed_topic_regex,
        assignor=request.server_assignor,
        owned=owned,
        client_id=call.client_id,
        client_host=f"/{call.peer.host}",
        who=call.peer.caller,
    )
    try:
        for topic in request.subscribed_topic_names or ():
            call.check_topic(Op.DESCRIBE, topic)
        beaten = await call.broker.consumer_groups.heartbeat(request.group_id, beat)
    except LedgerError as error:
        return ConsumerGroupHeartbeatResponse(error_code=group_code(error), error_message=message_of(error))
    answer = ConsumerGroupHeartbeatResponse(
        member_id=beaten.member_id,
        member_epoch=beaten.epoch,
        heartbeat_interval_ms=call.broker.config.group_heartbeat_ms,
    )
    if beaten.assigned is not None:
        by_topic = groupby(sorted(beaten.assigned), lambda one: one[0])
        answer.assignment = Assignment(
            [TopicPartitions(topic_id, [number for _, number in slices]) for topic_id, slices in by_topic]
        )
    return answer
