"""DescribeCluster 0-2: the live brokers.

1   endpoint type: brokers only, controllers are a mismatch     2   fenced brokers (none)

The reported controller is the live broker with the lowest id; it has no special role.
"""

from __future__ import annotations

from redis_ledger.kafka.protocol.messages.describe_cluster_request import DescribeClusterRequest
from redis_ledger.kafka.protocol.messages.describe_cluster_response import (
    DescribeClusterBroker,
    DescribeClusterResponse,
)
from redis_ledger.kafka.request_context import RequestContext
from redis_ledger.kafka.security.api_authorization import NOT_REQUESTED, cluster_operations

VERSIONS = (0, 2)
IS_READ = True
BROKERS, CONTROLLERS = 1, 2
MISMATCHED_ENDPOINT_TYPE, UNSUPPORTED_ENDPOINT_TYPE = 114, 115


async def handle(request: DescribeClusterRequest, call: RequestContext) -> DescribeClusterResponse:
    members = call.broker.live_brokers
    if request.endpoint_type != BROKERS:
        code = MISMATCHED_ENDPOINT_TYPE if request.endpoint_type == CONTROLLERS else UNSUPPORTED_ENDPOINT_TYPE
        return DescribeClusterResponse(0, code, "This cluster has brokers only, no controllers.", request.endpoint_type)
    nodes = members.nodes(call.peer.listener)
    return DescribeClusterResponse(
        cluster_id=members.cluster_id,
        controller_id=nodes[0].id if nodes else -1,
        cluster_authorized_operations=(
            cluster_operations(call) if request.include_cluster_authorized_operations else NOT_REQUESTED
        ),
        brokers=[
            DescribeClusterBroker(node.id, node.kafka_host, node.kafka_port)
            for node in members.advertised(call.peer.listener)
        ],
    )
