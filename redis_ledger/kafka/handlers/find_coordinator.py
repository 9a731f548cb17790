"""FindCoordinator 0-6: the coordinator of a group or a transactional id.

1   key type: 0 group, 1 transactional id; throttle time, a message     3   flexible     4   many keys (KIP-699)
5   TRANSACTION_ABORTABLE exists (KIP-890)     6   key type 2, share groups, not supported: INVALID_REQUEST
The coordinator of a group is its live owner, else the broker that its name hashes to; a request for a group creates the
internal topic that Kafka's tools expect.  Any broker can coordinate any transaction; an id hashes to one broker, so
that its requests share one cache.  While transactions are disabled, the response for a transactional id has the error
and its reason, which clients show.  COORDINATOR_NOT_AVAILABLE: no live broker has a Kafka listener, or Redis is
unavailable.
"""

from __future__ import annotations

from redis_ledger.auth.acl import Op, Resource
from redis_ledger.broker.cluster.live_brokers import LiveBrokers, Node
from redis_ledger.broker.groups.service import check_group
from redis_ledger.errors import CoordinatorNotFound, InvalidRequest, LedgerError
from redis_ledger.kafka.bounded_gather import gather_bounded
from redis_ledger.kafka.group_errors import group_code
from redis_ledger.kafka.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from redis_ledger.kafka.protocol.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from redis_ledger.kafka.request_context import NONE, RequestContext, message_of

VERSIONS = (0, 6)
MANY_FROM = 4
GROUP, TRANSACTION = 0, 1
KINDS = {GROUP: Resource.GROUP, TRANSACTION: Resource.TRANSACTIONAL_ID}


async def handle(request: FindCoordinatorRequest, call: RequestContext) -> FindCoordinatorResponse:
    members: LiveBrokers = call.broker.live_brokers

    async def one(key: str) -> Coordinator:
        try:
            if request.key_type in KINDS:
                call.check(Op.DESCRIBE, KINDS[request.key_type], key)
            if request.key_type == TRANSACTION:
                call.broker.transactions.check_enabled()
            if request.key_type == GROUP:
                await call.broker.catalog.ensure_internal()
            node = await find(members, request.key_type, key, call.peer.listener)
        except LedgerError as error:
            return Coordinator(key, -1, "", -1, group_code(error), message_of(error))
        return Coordinator(key, node.id, node.kafka_host, node.kafka_port, NONE, None)

    if call.version >= MANY_FROM:
        return FindCoordinatorResponse(coordinators=await gather_bounded(one, dict.fromkeys(request.coordinator_keys)))
    found = await one(request.key)
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=found.error_message,
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


async def find(members: LiveBrokers, key_type: int, key: str, listener: str) -> Node:
    """Raises InvalidRequest, InvalidGroup, CoordinatorNotFound."""
    if key_type not in (GROUP, TRANSACTION):
        raise InvalidRequest(f"Coordinators of type {key_type} are not supported.")
    node = members.assigned(key) if key_type == TRANSACTION else await members.coordinator(check_group(key))
    if node is None:
        raise CoordinatorNotFound("No live broker has a Kafka listener.")
    advertised = next((each for each in members.nodes(listener) if each.id == node.id), None)
    if advertised is None:
        raise CoordinatorNotFound(f"The coordinator, broker {node.id}, has no listener {listener}.")
    return advertised
