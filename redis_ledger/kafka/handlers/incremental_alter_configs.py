"""IncrementalAlterConfigs 0-1: changes single configurations of a topic: set, delete, append, subtract.

1   flexible.  The changes of a topic are applied all or none.  The only list settings are constants, so append and
subtract are accepted if they change nothing.
"""

from __future__ import annotations

from collections import Counter

from redis_ledger.broker.topics.configs import Change, parse_changes
from redis_ledger.kafka.bounded_gather import gather_bounded
from redis_ledger.kafka.handlers.alter_configs import change
from redis_ledger.kafka.protocol.messages.incremental_alter_configs_request import (
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from redis_ledger.kafka.protocol.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from redis_ledger.kafka.request_context import RequestContext

VERSIONS = (0, 1)


async def handle(request: IncrementalAlterConfigsRequest, call: RequestContext) -> IncrementalAlterConfigsResponse:
    times = Counter((entry.resource_type, entry.resource_name) for entry in request.resources)
    last = {(entry.resource_type, entry.resource_name): entry for entry in request.resources}

    async def alter(entry: AlterConfigsResource) -> AlterConfigsResourceResponse:
        kind, name = entry.resource_type, entry.resource_name
        requested = [Change(each.name, each.config_operation, each.value) for each in entry.configs]
        code, message = await change(
            kind, name, times[kind, name], lambda: parse_changes(requested), request.validate_only, call
        )  # fmt: skip
        return AlterConfigsResourceResponse(code, message, kind, name)

    return IncrementalAlterConfigsResponse(responses=await gather_bounded(alter, last.values()))
