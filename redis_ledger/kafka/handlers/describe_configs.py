"""DescribeConfigs 1-4: configurations of topics, brokers and groups under Kafka's names.

1   sources and synonyms     3   types and documentation     4   flexible
Topics have their own settings, those of the broker, and constants that admin tools expect.  A broker describes only its
own settings, which are read-only; without an id the dynamic defaults of all brokers are described, which are empty.
Groups have the times of the consumer protocol.  Unknown names are omitted.
"""

from __future__ import annotations

from redis_ledger.auth.acl import CLUSTER_NAME, Op, Resource
from redis_ledger.broker.topics.configs import Described
from redis_ledger.errors import InvalidRequest, LedgerError
from redis_ledger.kafka.bounded_gather import gather_bounded
from redis_ledger.kafka.protocol.messages.describe_configs_request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from redis_ledger.kafka.protocol.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from redis_ledger.kafka.request_context import NONE, RequestContext, code_of, message_of

VERSIONS = (1, 4)
IS_READ = True
TOPIC, BROKER, GROUP = 2, 4, 32
KINDS = {2: "topics", 4: "brokers", 8: "broker loggers", 16: "client metrics", 32: "groups"}
RESOURCES_MAX = 10_000  # of one request


async def handle(request: DescribeConfigsRequest, call: RequestContext) -> DescribeConfigsResponse:
    async def describe(entry: DescribeConfigsResource) -> DescribeConfigsResult:
        try:
            if len(resources) > RESOURCES_MAX:
                raise InvalidRequest(f"At most {RESOURCES_MAX} resources can be described by one request.")
            check(Op.DESCRIBE_CONFIGS, entry.resource_type, entry.resource_name, call)
            found = await _of(entry, call)
        except LedgerError as error:
            code, message = code_of(error), message_of(error)
            return DescribeConfigsResult(code, message, entry.resource_type, entry.resource_name)
        if entry.configuration_keys:  # an empty list means all, like null
            keys = set(entry.configuration_keys)
            found = [each for each in found if each.name in keys]
        shown = [_to_result(each, request) for each in found]
        return DescribeConfigsResult(NONE, None, entry.resource_type, entry.resource_name, shown)

    # Duplicates are answered once: a small request must not cause a huge response.
    resources = {(entry.resource_type, entry.resource_name): entry for entry in request.resources}
    return DescribeConfigsResponse(results=await gather_bounded(describe, resources.values()))


def check(operation: Op, kind: int, name: str, call: RequestContext) -> None:
    """Raises Forbidden.  Broker configs need permission on the cluster; an unknown resource type is not checked."""
    if kind == TOPIC:
        call.check_topic(operation, name)
    elif kind == GROUP:
        call.check(operation, Resource.GROUP, name)
    elif kind == BROKER:
        call.check(operation, Resource.CLUSTER, CLUSTER_NAME)


async def _of(entry: DescribeConfigsResource, call: RequestContext) -> list[Described]:
    configs, name = call.broker.configs, entry.resource_name
    if entry.resource_type == TOPIC:
        return await configs.of_topic(name)
    if entry.resource_type == BROKER:
        if not name:
            return []
        if name != str(call.broker.live_brokers.node_id):
            raise InvalidRequest(
                f"This is broker {call.broker.live_brokers.node_id}; send the request to broker {name[:20]!r}."
            )
        return configs.of_broker()
    if entry.resource_type == GROUP:
        if not name:
            raise InvalidRequest("The group has no name.")
        return configs.of_group()
    raise InvalidRequest(f"Configurations of {kind_name(entry.resource_type)} are not supported.")


def kind_name(kind: int) -> str:
    return KINDS.get(kind, f"resources of type {kind}")


def _to_result(found: Described, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    synonyms = [DescribeConfigsSynonym(*each) for each in found.synonyms] if request.include_synonyms else []
    documentation = found.documentation if request.include_documentation else None
    return DescribeConfigsResourceResult(
        found.name, found.value, found.read_only, found.source, False, synonyms, found.type, documentation
    )
