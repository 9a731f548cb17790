"""AlterConfigs 0-2: replaces all configurations of a topic; omitted ones fall back to the broker's.

1, 2: no changes.  IncrementalAlterConfigs changes single ones.  Brokers and groups are configured at start-up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from redis_ledger.auth.acl import Op
from redis_ledger.broker.topics.configs import parse_replacement
from redis_ledger.errors import InvalidRequest, LedgerError
from redis_ledger.kafka.bounded_gather import few_at_once
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
    times = Counter((asked.resource_type, asked.resource_name) for asked in request.resources)
    last = {(asked.resource_type, asked.resource_name): asked for asked in request.resources}

    async def replace(asked: AlterConfigsResource) -> AlterConfigsResourceResponse:
        kind, name = asked.resource_type, asked.resource_name
        code, message = await change(
            kind, name, times[kind, name],
            lambda: parse_replacement([(each.name, each.value) for each in asked.configs]),
            request.validate_only, call,
        )  # fmt: skip
        return AlterConfigsResourceResponse(code, message, kind, name)

    return AlterConfigsResponse(responses=await few_at_once(replace, last.values()))


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
        wanted = decide()
        await call.broker.configs.change(name, wanted, validate_only=validate_only)
    except LedgerError as error:
        await note(call, "topic.change", name, error)
        return code_of(error), message_of(error)
    if not validate_only:
        await note(call, "topic.change", name, settings=wanted)
    return NONE, None
