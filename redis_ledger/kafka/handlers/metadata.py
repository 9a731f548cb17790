"""Metadata 0-13: brokers, and for each topic its partitions with their leaders.

0     an empty list of topics means all; from 1 on null      4   whether topics may be created
5     offline replicas     7   leader epochs      8-10   authorized operations, of the cluster as well
10    topic ids in responses, 12 in requests       13   a top-level error
Topics that the caller may not describe are treated as absent.  Creating a topic requires CREATE on it or on the
cluster; one request creates at most MADE_MAX topics.

Any broker serves any partition; the leaders distribute clients over the live brokers.  The only replica of a partition
is its leader, because Redis replicates.
"""

from __future__ import annotations

from redis_ledger.auth.acl import Op, Resource
from redis_ledger.errors import LedgerError, TopicForbidden, UnknownTopic
from redis_ledger.kafka.bounded_gather import gather_bounded
from redis_ledger.kafka.partition_lookup import PartitionLookup
from redis_ledger.kafka.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from redis_ledger.kafka.protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from redis_ledger.kafka.protocol.primitives import NO_UUID
from redis_ledger.kafka.request_context import NONE, UNKNOWN_TOPIC_ID, RequestContext, code_of
from redis_ledger.kafka.security.api_authorization import NOT_REQUESTED, cluster_operations, operations
from redis_ledger.ledger.topic_checks import OFFSETS_TOPIC
from redis_ledger.ledger.topic_entry import TopicEntry

VERSIONS = (0, 13)
NULL_NAMES_FROM = 12
MADE_MAX = 100  # topics that one request creates; clients repeat the request for the others


async def handle(request: MetadataRequest, call: RequestContext) -> MetadataResponse:
    members = call.broker.live_brokers
    if request.topics is None or (call.version == 0 and not request.topics):
        entries = await call.broker.catalog.list()
        topics = [
            _to_result(each, request, call) for each in entries if call.allows(Op.DESCRIBE, Resource.TOPIC, each.name)
        ]
    else:
        selected = {(each.topic_id, each.name): each for each in request.topics}  # a duplicate topic is returned once
        names = [name for id, name in selected if id == NO_UUID and name is not None]
        places = await PartitionLookup(call.broker.catalog).expect(names, (id for id, _ in selected if id != NO_UUID))
        makes = _Makes(request, call)
        topics = await gather_bounded(lambda each: _topic(each, request, places, makes, call), selected.values())
    nodes = members.nodes(call.peer.listener)
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(node.id, node.kafka_host, node.kafka_port)
            for node in members.advertised(call.peer.listener)
        ],
        cluster_id=members.cluster_id,
        controller_id=nodes[0].id if nodes else -1,
        topics=topics,
        cluster_authorized_operations=(
            cluster_operations(call) if request.include_cluster_authorized_operations else NOT_REQUESTED
        ),
    )


class _Makes:
    """Limits the topics that one request creates to MADE_MAX."""

    def __init__(self, request: MetadataRequest, call: RequestContext) -> None:
        self._left = MADE_MAX if request.allow_auto_topic_creation and call.broker.config.auto_create_topics else 0

    def one_more(self) -> bool:
        """Whether another topic may be created; counts it."""
        self._left -= 1
        return self._left >= 0


async def _topic(
    requested: MetadataRequestTopic,
    request: MetadataRequest,
    places: PartitionLookup,
    makes: _Makes,
    call: RequestContext,
) -> MetadataResponseTopic:
    catalog = call.broker.catalog
    try:
        if requested.topic_id != NO_UUID:
            entry = await catalog.get(await places.name(requested.topic_id))
            if not call.allows(Op.DESCRIBE, Resource.TOPIC, entry.name):
                name_told = None if call.version >= NULL_NAMES_FROM else ""
                return MetadataResponseTopic(TopicForbidden.kafka_code, name_told, requested.topic_id)
            return _to_result(entry, request, call)
        name = requested.name or ""
        call.check_topic(Op.DESCRIBE, name)
        try:
            places.check(name)
            return _to_result(await catalog.get(name), request, call)
        except UnknownTopic:
            if not request.allow_auto_topic_creation or not call.broker.config.auto_create_topics:
                raise
            if not call.allows_cluster(Op.CREATE):
                call.check_topic(Op.CREATE, name)
            if not makes.one_more():
                raise
        return _to_result(await catalog.ensure(name), request, call)
    except LedgerError as error:
        code = UNKNOWN_TOPIC_ID if requested.topic_id != NO_UUID else code_of(error)
        return MetadataResponseTopic(
            code, requested.name if call.version >= NULL_NAMES_FROM else requested.name or "", requested.topic_id
        )


def _to_result(entry: TopicEntry, request: MetadataRequest, call: RequestContext) -> MetadataResponseTopic:
    leader, epoch_of = call.broker.live_brokers.leader, call.broker.leader_epochs.of
    partitions = []
    for number in range(entry.partitions):
        node = leader(entry.name, number, call.peer.listener)
        epoch = epoch_of(entry.id, number)
        partitions.append(MetadataResponsePartition(NONE, number, node, epoch, [node], [node], []))
    requested = request.include_topic_authorized_operations
    return MetadataResponseTopic(
        NONE, entry.name, bytes.fromhex(entry.id), entry.name == OFFSETS_TOPIC, partitions,
        operations(call, Resource.TOPIC, entry.name) if requested else NOT_REQUESTED,
    )  # fmt: skip
