"""AlterConfigs 0-2: replaces all configurations of a topic; omitted ones fall back to the broker's.

1, 2: no changes.  IncrementalAlterConfigs changes single ones.  Brokers and groups are configured at start-up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from redis_ledger.auth.acl import Op
from redis_ledger.broker.topics.configs import parse_replacement
from redis_ledger.errors import InvalidRequest, LedgerError
from redis_ledger.kafka.bounded_gather import gather_bounded
from redis_ledger.kafka.handlers.describe_configs import BROKER, GROUP, TOPIC, check, kind_name
from redis_ledger.kafka.protocol.messages.alter_configs_request import AlterConfigsRequest, AlterConfigsResource
from redis_ledger.kafka.protocol.messages.alter_configs_response import (
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from redis_ledger.kafka.request_context import NONE, RequestContext, code_of, message_of
from redis_ledger.kafka.security.api_authorization import note

VERSIONS = (0, 2)


async def handle(request: AlterConfigsRequest, call: RequestContext) -> AlterConfigsResponse:
    times = Counter((entry.resource_type, entry.resource_name) for entry in request.resources)
    last = {(entry.resource_type, entry.resource_name): entry for entry in request.resources}

    async def replace(entry: AlterConfigsResource) -> AlterConfigsResourceResponse:
        kind, name = entry.resource_type, entry.resource_name
        code, message = await change(
            kind, name, times[kind, name],
            lambda: parse_replacement([(each.name, each.value) for each in entry.configs]),
            request.validate_only, call,
        )  # fmt: skip
        return AlterConfigsResourceResponse(code, message, kind, name)

    return AlterConfigsResponse(responses=await gather_bounded(replace, last.values()))


async def change(
    kind: int,
    name: str,
    times: int,
    decide: Callable[[], Mapping[str, int | None]],
    validate_only: bool,
    call: RequestContext,
) -> tuple[int, str | None]:
    """Changes one resource with the result of `decide`; returns error code and message.  times: its occurrences."""
    try:
        if times > 1:
            raise InvalidRequest("The resource is named twice.")
        check(Op.ALTER_CONFIGS, kind, name, call)
        if kind != TOPIC:
            how = "; use `serve --set`" if kind in (BROKER, GROUP) else ""
            raise InvalidRequest(f"The configuration of {kind_name(kind)} cannot be changed by a request{how}.")
        requested = decide()
        await call.broker.configs.change(name, requested, validate_only=validate_only)
    except LedgerError as error:
        await note(call, "topic.change", name, error)
        return code_of(error), message_of(error)
    if not validate_only:
        await note(call, "topic.change", name, settings=requested)
    return NONE, None
